# SPDX-License-Identifier: MIT
"""``predict``: what execute() gives batch by batch, as whole arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

BATCH = 8


def make_graph() -> tuple[tg.Graph, tg.Tensor, tg.Tensor]:
    tg.set_seed(3)
    x = tg.Tensor((BATCH, 4), name="x")
    graph = tg.Graph()
    h = graph.node(tg.layers.FullyConnected(4, 6, name="fc"), x)
    h = graph.node(tg.layers.Dropout(0.5), h)
    return graph, x, graph.node(tg.layers.BatchNormalization(6), h)


def inference_of(outputs: bool) -> tg.InferenceGraph:
    graph, x, y = make_graph()
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    if outputs:
        inference.add_outputs({"y": y})
    inference.compile("cpu")
    return inference


def training_of(outputs: bool) -> tg.TrainingGraph:
    graph, x, y = make_graph()
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    )
    training.add_inputs({"x": x}, {"t": tg.Tensor((BATCH, 6), name="t")})
    if outputs:
        training.add_outputs({"y": y})
    training.compile("cpu")
    return training


def samples(count: int) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 4), np.float32)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 16, 61])
@pytest.mark.parametrize("outputs", [False, True])
@pytest.mark.parametrize("make", [inference_of, training_of])
def test_any_number_of_samples(
    make: Callable[[bool], Any], outputs: bool, count: int
) -> None:
    graph, x = make(outputs), samples(count)
    before = graph.state_dict()
    one = {} if make is inference_of else {"forward_for_inference": True}
    expected = [
        graph.execute({"x": x[i : i + 1]}, **one).result().result for i in range(count)
    ]
    for given in (x, {"x": x}, x.tolist(), x[::-1][::-1]):
        got = tg.predict(graph, given)
        if outputs:
            assert isinstance(got, dict)
            assert list(got) == ["y"]
            got = got["y"]
        assert isinstance(got, np.ndarray)
        # Products of other sizes add up in another order.
        np.testing.assert_allclose(got, np.concatenate(expected), rtol=1e-5, atol=1e-6)
        assert got.flags.writeable
    for name, value in graph.state_dict().items():
        np.testing.assert_array_equal(value, before[name])


def test_other_batch_axes_and_inputs_without_one() -> None:
    x = tg.Tensor((3, BATCH, 2), name="x", batch_axis=1)  # (time, batch, features)
    rows = tg.Tensor((2 * BATCH, 2), name="rows")  # two for each sample
    bias = tg.Tensor((1, 1, 2), name="bias", batch_axis=None)
    graph = tg.Graph()
    y = graph.node(tg.layers.Arithmetic("add"), [x, bias])
    z = graph.node(tg.layers.Arithmetic("multiply"), [rows, rows])
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x, "rows": rows, "bias": bias})
    inference.add_outputs({"y": y, "z": z})
    inference.compile("cpu")
    rng = np.random.default_rng(0)
    data = rng.standard_normal((3, 21, 2), np.float32)
    pairs = rng.standard_normal((42, 2), np.float32)
    shift = np.float32([[[1, 2]]])
    got: Any = tg.predict(inference, {"x": data, "rows": pairs, "bias": shift})
    np.testing.assert_array_equal(got["y"], data + shift)
    np.testing.assert_array_equal(got["z"], pairs * pairs)
    with pytest.raises(tg.ShapeError, match="each 2 long"):
        tg.predict(inference, {"x": data, "rows": pairs[:41], "bias": shift})
    with pytest.raises(tg.ShapeError, match=r'"rows".*21, as "x" has, got 20'):
        tg.predict(inference, {"x": data, "rows": pairs[:40], "bias": shift})


def test_outputs_that_do_not_follow_the_batch() -> None:
    x = tg.Tensor((BATCH, 4), name="x")
    graph = tg.Graph()
    mean = graph.ops.reduce(x, type="mean", axes=[0])
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"mean": mean})
    inference.compile("cpu")
    few = samples(5)
    got: Any = tg.predict(inference, few)
    np.testing.assert_allclose(got["mean"].ravel(), few.mean(axis=0), atol=1e-6)
    with pytest.raises(tg.UnsupportedError, match=r'"mean".*at most 8 samples'):
        tg.predict(inference, samples(9))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"z": samples(3)}, tg.InvalidArgument, r'one of "x" \(input\), got "z"'),
        (samples(0), tg.ShapeError, "of any number of samples on axis 0"),
        (samples(3)[0], tg.ShapeError, "of any number of samples on axis 0"),
        (samples(3)[:, :3], tg.ShapeError, r"expected \(8, 4\), got \(3, 3\)"),
        (None, tg.CallError, "these are no batches"),
        ({"x": None}, tg.InvalidArgument, "no array of numbers"),
        ([[1, 2], [3]], tg.InvalidArgument, "NumPy makes no array"),
        ({}, tg.InvalidArgument, '"x"'),
    ],
)
def test_wrong_inputs_are_named(
    given: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        tg.predict(inference_of(outputs=True), given)


def test_something_to_return_is_needed() -> None:
    x, y = tg.Tensor((BATCH, 4), name="x"), tg.Tensor((BATCH, 4), name="y")
    graph = tg.Graph()
    prediction = graph.node(tg.layers.FullyConnected(4, 4), x)
    graph.node(tg.losses.MeanSquaredError(), prediction, loss_labels=[y])
    training = tg.TrainingGraph([graph], optimizer=tg.optimizers.SGD(0.1))
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    with pytest.raises(tg.InvalidArgument, match=r"Call add_outputs\(\)"):
        tg.predict(training, samples(3))


def test_a_graph_that_runs_is_needed() -> None:
    graph, x, _ = make_graph()
    with pytest.raises(tg.CallError, match=r"\[predict \"graph\"\].*got a Graph"):
        tg.predict(graph, samples(3))  # type: ignore[arg-type]
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    with pytest.raises(tg.StateError):
        tg.predict(inference, samples(3))
