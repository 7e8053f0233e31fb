# SPDX-License-Identifier: MIT
"""Data sources written in Python: who asks them what, and when."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import nodes

if TYPE_CHECKING:
    from ..conftest import Unraisable

Array = np.ndarray[Any, Any]

N, SIZE = 4, (3, 5, 5)


class Source:
    """Weights of a 3x3 convolution, and a diary."""

    def __init__(self, out: int = 2, channels: int = 3) -> None:
        rng = np.random.default_rng(5)
        self.w = rng.standard_normal((out, 3, 3, channels), np.float32)
        self.b = rng.standard_normal(out, np.float32)
        self.calls: list[str] = []
        self.threads: set[int] = set()
        self.gradients: list[tuple[Array, Array]] = []

    name = "source"

    def descriptor(self) -> nodes.ConvolutionDescriptor:
        out, height, width, channels = self.w.shape
        return nodes.ConvolutionDescriptor((height, width), channels, out)

    def load(self) -> None:
        self.calls.append("load")

    def purge(self) -> None:
        self.calls.append("purge")

    def weights(self) -> Array:
        self.calls.append("weights")
        return self.w.copy()  # nobody else holds it: the library must

    @property
    def bias_terms(self) -> Array:
        self.calls.append("bias_terms")
        return self.b.copy()

    def update(self, weights: Array, biases: Array) -> bool | None:
        self.calls.append("update")
        self.threads.add(threading.get_ident())
        self.gradients.append((weights, biases))
        self.w -= 0.1 * weights
        self.b -= 0.1 * biases
        return None


def make(source: Any, style: str | None = "cpu") -> nodes.Graph:
    """Convolution, mean squared error, walked backward."""
    image = nodes.ImageNode("x", SIZE)
    conv = nodes.ConvolutionNode(image, source)
    if style:
        conv.training_style = style
    labels = nodes.ImageNode("t", conv.result_image.size)
    loss = nodes.LossNode(
        conv.result_image, labels, nodes.LossDescriptor("mean_squared_error", "sum")
    )
    loss.loss_image.handle = "loss"
    leaves = loss.training_graph()
    return nodes.Graph("cpu", [leaves[0].result_image], batch_size=N)


@pytest.fixture
def data(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "x": rng.standard_normal((N, *SIZE), np.float32),
        "t": rng.standard_normal((N, 2, 5, 5), np.float32),
    }


def convolved(source: Source, x: Array) -> Array:
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    y = np.einsum("ncijuv,ouvc->noij", views, source.w.astype(np.float64))
    return y + source.b[:, None, None]


def gradients(source: Source, x: Array, t: Array) -> tuple[Array, Array]:
    """Of the sum of (y - t)^2."""
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    g = 2 * (convolved(source, x) - t)
    return np.einsum("ncijuv,noij->ouvc", views, g), g.sum(axis=(0, 2, 3))


def test_it_is_read_once(data: dict[str, Array]) -> None:
    source = Source()
    graph = make(source, "none")
    assert source.calls == ["load", "weights", "bias_terms", "purge"]
    for _ in range(3):
        graph.execute(data).wait()
    assert len(source.calls) == 4
    before = graph.weights(source)
    np.testing.assert_array_equal(before["weights"], source.w)
    np.testing.assert_array_equal(before["biases"], source.b)

    source.w *= 2
    graph.reload_from_data_sources()
    assert source.calls[4:] == ["load", "weights", "bias_terms", "purge"]
    np.testing.assert_array_equal(graph.weights(source)["weights"], source.w)


def test_the_host_updates(data: dict[str, Array]) -> None:
    source = Source()
    graph = make(source)
    for _ in range(3):
        want = gradients(source, data["x"], data["t"])
        loss = ((convolved(source, data["x"]) - data["t"]) ** 2).sum(axis=(1, 2, 3))
        source.gradients.clear()
        result = graph.execute(data).result()
        np.testing.assert_allclose(result.output("loss").ravel(), loss, rtol=1e-4)
        ((weights, biases),) = source.gradients
        assert weights.shape == (2, 3, 3, 3)
        # Sums of 100 float32 products.
        np.testing.assert_allclose(weights, want[0], rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(biases, want[1], rtol=1e-3, atol=1e-3)
        # Copies: they may be kept and written.
        assert weights.flags.owndata
        assert weights.flags.writeable
        np.testing.assert_array_equal(graph.weights(source)["weights"], source.w)
        source.w *= 0.1  # what nobody loads has no effect before the next update
        graph.reload_from_data_sources()


def test_the_device_updates(data: dict[str, Array]) -> None:
    source = Source()
    source.optimizer = tg.optimizers.SGD(1e-3)  # type: ignore[attr-defined]
    graph = make(source, None)
    want_w, want_b = source.w.copy(), source.b.copy()
    for _ in range(3):
        by_w, by_b = gradients(source, data["x"], data["t"])
        source.w -= (1e-3 * by_w).astype(np.float32)
        source.b -= (1e-3 * by_b).astype(np.float32)
        graph.execute(data)
    got = graph.weights(source)
    assert not np.allclose(got["weights"], want_w)
    # Three steps of float32 sums.
    np.testing.assert_allclose(got["weights"], source.w, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(got["biases"], source.b, rtol=1e-3, atol=1e-4)
    assert "update" not in source.calls
    assert not np.allclose(got["biases"], want_b)


def test_nobody_updates(data: dict[str, Array]) -> None:
    source = Source()
    graph = make(source, "none")
    first = graph.execute(data).result().output("loss").copy()
    second = graph.execute(data).result().output("loss")
    np.testing.assert_array_equal(first, second)
    assert "update" not in source.calls


def test_nodes_with_one_source_share_its_weights(rng: np.random.Generator) -> None:
    source = Source(out=3)
    x = rng.standard_normal((N, *SIZE), np.float32)
    image = nodes.ImageNode("x", SIZE)
    one = nodes.ConvolutionNode(image, source)
    two = nodes.ConvolutionNode(one.result_image, source)
    graph = nodes.Graph("cpu", [two.result_image], batch_size=N)
    assert source.calls.count("weights") == 1
    got = graph.execute({"x": x}).result().output("convolution_2")
    want = convolved(source, convolved(source, x).astype(np.float32))
    # Two convolutions of 27 products in float32.
    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)

    # The gradient of both, in one update.
    labels = nodes.ImageNode("t", SIZE)
    one.training_style = two.training_style = tg.nodes.TrainingStyle.cpu
    descriptor = nodes.LossDescriptor("mean_squared_error", "sum")
    loss = nodes.LossNode(two.result_image, labels, descriptor)
    leaf = loss.training_graph()[0]
    graph = nodes.Graph("cpu", [leaf.result_image], batch_size=N)
    graph.execute({"x": x, "t": np.zeros_like(x)}).wait()
    graph.weights(source)
    assert source.calls.count("update") == 1


def test_two_sources_have_their_own(rng: np.random.Generator) -> None:
    first, second = Source(), Source()
    image = nodes.ImageNode("x", SIZE)
    conv = [nodes.ConvolutionNode(image, s).result_image for s in (first, second)]
    second.w *= 2
    second.b *= 2
    graph = nodes.Graph("cpu", conv)
    x = rng.standard_normal((1, *SIZE), np.float32)
    result = graph.execute({"x": x}).result()
    one, two = (result.output(name) for name in graph.result_handles)
    np.testing.assert_allclose(two, 2 * one, rtol=1e-5, atol=1e-6)


class Broken(Exception):
    """Of the user."""


@pytest.mark.parametrize("name", ["load", "weights", "update", "descriptor"])
def test_what_it_raises_comes_out_as_it_is(
    name: str, data: dict[str, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise Broken(name)

    monkeypatch.setattr(Source, name, fail)
    with pytest.raises(Broken, match=name) as caught:
        make(Source()).execute(data).wait()
    assert caught.traceback[-1].name == "fail"


def test_a_failed_update_leaves_the_graph_usable(
    data: dict[str, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source()
    graph = make(source)
    with monkeypatch.context() as patch:
        patch.setattr(Source, "update", lambda *_: False)
        with pytest.raises(tg.DeviceError, match="source"):
            graph.execute(data).wait()
    graph.reload_from_data_sources()
    graph.execute(data).wait()
    assert source.calls.count("update") == 1


def test_what_purge_raises_is_unraisable(unraisable: Unraisable) -> None:
    class Purges(Source):
        def purge(self) -> None:
            raise Broken

    make(Purges(), "none")
    assert [type(error) for error in unraisable.errors] == [Broken]


def test_loading_nothing(data: dict[str, Array]) -> None:
    class Empty(Source):
        def load(self) -> bool:  # type: ignore[override]
            return False

    with pytest.raises(tg.InvalidArgument, match="source"):
        make(Empty())
    del data


def test_wrong_answers() -> None:
    image = nodes.ImageNode("x", SIZE)
    transposed = nodes.ConvolutionData(
        np.zeros((2, 3, 2, 2), np.float32),
        descriptor=nodes.ConvolutionDescriptor(2, 3, 2),
    )
    node = nodes.ConvolutionNode(image, transposed)
    with pytest.raises(tg.ShapeError, match=r"transpose\(0, 2, 3, 1\)"):
        nodes.Graph("cpu", [node.result_image])

    class Doubles(Source):
        def weights(self) -> Array:
            return self.w.astype(np.float64)

    make(Doubles())  # as all data: rounded to float32

    class Complex(Source):
        def weights(self) -> Array:
            return self.w.astype(np.complex64)

    with pytest.raises(tg.DTypeError):
        make(Complex())

    class Short(Source):
        def weights(self) -> Array:
            return self.w.ravel()[:-1]

    with pytest.raises(tg.ShapeError, match="54"):
        make(Short())

    class Nameless(Source):
        name = 3  # type: ignore[assignment]

    with pytest.raises((tg.InvalidArgument, TypeError)):
        make(Nameless())


def test_not_a_data_source() -> None:
    image = nodes.ImageNode("x", SIZE)
    for wrong in (3, None, nodes.NormalizationData(3)):
        with pytest.raises(TypeError, match="descriptor"):
            nodes.ConvolutionNode(image, wrong)
    with pytest.raises(TypeError, match="feature_channels"):
        nodes.BatchNormalizationNode(image, np.zeros(3))


def test_no_way_to_update(data: dict[str, Array]) -> None:
    weights = np.zeros((2, 3, 3, 3), np.float32)
    with pytest.raises(tg.InvalidArgument, match="optimizer"):
        make(nodes.ConvolutionData(weights, name="plain"), None)
    with pytest.raises(tg.UnsupportedError, match="plain"):
        make(nodes.ConvolutionData(weights, name="plain")).execute(data).wait()


def test_graphs_keep_sources_and_let_go(data: dict[str, Array]) -> None:
    source = Source()
    reference = weakref.ref(source)
    graph = make(source)
    del source
    gc.collect()
    graph.execute(data).wait()
    kept = reference()
    assert kept is not None
    assert "update" in kept.calls
    del kept, graph
    gc.collect()
    tg.Device.cpu().synchronize()
    assert reference() is None


@pytest.mark.parametrize("kind", ["Batch", "Instance", "Group"])
def test_normalization_data(kind: str, rng: np.random.Generator) -> None:
    class Gentle(nodes.NormalizationData):
        def update(self, gamma: Array, beta: Array) -> None:
            assert self.gamma is not None
            assert self.beta is not None
            self.gamma -= 0.01 * gamma
            self.beta -= 0.01 * beta

    source = Gentle(4, [1, 1, 1, 1], [0, 0, 0, 0], groups=2, momentum=0.5)
    image = nodes.ImageNode("x", (4, 3, 3))
    node = getattr(nodes, f"{kind}NormalizationNode")(image, source)
    node.training_style = "cpu"
    labels = nodes.ImageNode("t", (4, 3, 3))
    descriptor = nodes.LossDescriptor("mean_squared_error", "sum")
    loss = nodes.LossNode(node.result_image, labels, descriptor)
    loss.loss_image.handle = "loss"
    leaf = loss.training_graph()[0]
    graph = nodes.Graph("cpu", [leaf.result_image], batch_size=N)
    x = rng.standard_normal((N, 4, 3, 3), np.float32) + 3
    t = rng.standard_normal((N, 4, 3, 3), np.float32)
    losses = [
        float(graph.execute({"x": x, "t": t}).result().output("loss").sum())
        for _ in range(5)
    ]
    assert losses[-1] < losses[0]
    parameters = graph.parameters(source)
    np.testing.assert_array_equal(parameters["gamma"], source.gamma)
    np.testing.assert_array_equal(parameters["beta"], source.beta)
    if kind == "Batch":
        # Half of the way to the statistics of the batch, five times.
        want = (1 - 0.5**5) * x.mean(axis=(0, 2, 3))
        np.testing.assert_allclose(parameters["mean"], want, rtol=1e-4)
    else:
        assert set(parameters) == {"gamma", "beta"}


def test_arrays_are_checked_where_they_are_given() -> None:
    with pytest.raises(tg.InvalidArgument, match=r'ConvolutionData "weights"'):
        nodes.ConvolutionData("a")  # type: ignore[arg-type]
    with pytest.raises(tg.ShapeError) as error:
        nodes.ConvolutionData([1, 2])
    assert error.value.got == "(2,)"
    with pytest.raises(tg.InvalidArgument) as refused:
        nodes.NormalizationData(2, [object()])  # type: ignore[list-item]
    assert (refused.value.op, refused.value.node) == ("NormalizationData", "gamma")
