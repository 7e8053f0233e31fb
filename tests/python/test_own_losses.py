# SPDX-License-Identifier: MIT
"""Losses of one's own: any result of a graph, by itself or beside others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .test_data_parallel import on_ranks

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLES = 12
RNG = np.random.default_rng(5)
X = RNG.standard_normal((SAMPLES, 4)).astype(np.float32)
Y = RNG.standard_normal((SAMPLES, 1)).astype(np.float32)
W = RNG.standard_normal((1, 4)).astype(np.float32)


class Net:
    """y = W x, and what a test makes of it."""

    def __init__(self) -> None:
        self.x = tg.Tensor((SAMPLES, 4), name="x")
        self.y = tg.Tensor((SAMPLES, 1), name="y")
        self.graph = tg.Graph()
        self.layer = tg.layers.FullyConnected(
            weights=W.copy(), biases=np.zeros(1, np.float32), name="fc"
        )
        self.prediction = self.graph.node(self.layer, self.x)

    def squares(self, scale: float = 1) -> tg.Tensor:
        error = self.graph.ops.binary(self.prediction, self.y, operation="subtract")
        square = self.graph.ops.binary(error, error, operation="multiply")
        return self.graph.ops.activation(square, type="linear", a=scale, b=0)

    def train(
        self, loss: Any = None, device: Any = "cpu", **options: Any
    ) -> tg.TrainingGraph:
        optimizer = tg.optimizers.SGD(0.1)
        training = tg.TrainingGraph([self.graph], loss, optimizer)
        training.add_inputs({"x": self.x}, {"y": self.y})
        training.compile(device, **options)
        return training

    def gradient(self, training: tg.TrainingGraph, rows: slice = slice(None)) -> Any:
        training.execute_forward({"x": X[rows]}, {"y": Y[rows]})
        training.execute_gradient()
        return training.gradient(self.layer.weights).copy()


def own(
    reduction: str = "mean", weight: float = 1, scale: float = 1
) -> tuple[Net, tg.TrainingGraph]:
    net = Net()
    layer = tg.losses.Value(reduction, weight=weight, name="own")
    net.graph.node(layer, net.squares(scale))
    return net, net.train(accumulate_gradients=True)


def known(reduction: str = "mean", weight: float = 1) -> tuple[Net, tg.TrainingGraph]:
    net = Net()
    net.graph.node(
        tg.losses.MeanSquaredError(reduction, weight=weight),
        net.prediction,
        loss_labels=[net.y],
    )
    return net, net.train(accumulate_gradients=True)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weight", [1, -0.5])
def test_value_is_reduced_as_losses_are(reduction: str, weight: float) -> None:
    (net, training), (other, expected) = (
        own(reduction, weight),
        known(reduction, weight),
    )
    for rows in (slice(None), slice(3, 8)):
        np.testing.assert_allclose(
            net.gradient(training, rows), other.gradient(expected, rows), rtol=1e-5
        )
        results = [
            t.execute_forward({"x": X[rows]}, {"y": Y[rows]}).result()
            for t in (training, expected)
        ]
        np.testing.assert_allclose(
            list(results[0].losses.values()),
            list(results[1].losses.values()),
            rtol=1e-5,
        )


def test_a_loss_may_be_negative() -> None:
    net, training = own(scale=-2)
    loss = training.execute({"x": X}, {"y": Y}).result().loss
    assert loss == pytest.approx(-2 * np.mean((X @ W.T - Y) ** 2), rel=1e-5)
    del net


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_accumulation_follows_the_reduction(reduction: str) -> None:
    net, training = own(reduction)
    whole = net.gradient(training)
    for rows in (slice(0, 5), slice(5, 6), slice(6, 12)):
        training.execute_forward({"x": X[rows]}, {"y": Y[rows]})
        training.execute_gradient(accumulate=rows.start > 0)
        if rows.start == 0:
            first = training.gradient(net.layer.weights).copy()
    np.testing.assert_allclose(training.gradient(net.layer.weights), whole, rtol=1e-4)
    assert not np.allclose(first, whole)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_what_is_reduced_already_counts_as_it_was(reduction: str) -> None:
    """The user's reduction leaves no batch axis; the option says what it was."""
    net = Net()
    number = net.graph.ops.reduce(net.squares(), type=reduction)
    net.graph.node(tg.losses.Value(reduction), number)
    training = net.train(accumulate_gradients=True)
    whole = net.gradient(training)
    other, expected = own(reduction)
    np.testing.assert_allclose(whole, other.gradient(expected), rtol=1e-5)
    for rows in (slice(0, 5), slice(5, 12)):
        training.execute_forward({"x": X[rows]}, {"y": Y[rows]})
        training.execute_gradient(accumulate=rows.start > 0)
    np.testing.assert_allclose(training.gradient(net.layer.weights), whole, rtol=1e-4)


def test_what_no_sample_enters_is_a_mean_with_any_reduction() -> None:
    """A penalty on parameters is the same in all parts of a batch."""
    net = Net()
    weights = net.layer.weights
    net.graph.node(
        tg.losses.Value("sum", weight=0.1, name="penalty"),
        net.graph.ops.binary(weights, weights, operation="multiply"),
    )
    net.graph.node(tg.losses.Value(name="fit"), net.squares())
    training = net.train(accumulate_gradients=True)
    whole = net.gradient(training)
    for rows in (slice(0, 5), slice(5, 12)):
        training.execute_forward({"x": X[rows]}, {"y": Y[rows]})
        training.execute_gradient(accumulate=rows.start > 0)
    np.testing.assert_allclose(training.gradient(weights), whole, rtol=1e-4)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_ranks_compute_what_one_process_does(reduction: str) -> None:
    def build(**options: Any) -> tuple[Net, tg.TrainingGraph]:
        net = Net()
        net.graph.node(tg.losses.Value(reduction, weight=0.2), net.squares())
        return net, net.train(**options)

    net, alone = build()
    for _ in range(3):
        alone.execute({"x": X}, {"y": Y})
    expected = net.layer.weights.numpy()

    def run(rank: Any) -> Any:
        net, training = build(
            device=tg.Device.cpu(threads=1), collective=rank, reduce_losses=True
        )
        rows = slice(0, 5) if rank.rank == 0 else slice(5, 12)
        loss = [training.execute({"x": X[rows]}, {"y": Y[rows]}).result().loss]
        for _ in range(2):
            training.execute({"x": X[rows]}, {"y": Y[rows]})
        return net.layer.weights.numpy(), loss[0]

    results = on_ranks(2, run)
    for result in results:
        assert not isinstance(result, Exception), result
        np.testing.assert_allclose(result[0], expected, rtol=1e-4, atol=1e-6)
    first = 0.2 * getattr(np, reduction)((X @ W.T - Y) ** 2)
    assert results[0][1] == pytest.approx(first, rel=1e-4)


@pytest.mark.parametrize(
    ("loss", "names"),
    [
        (lambda both: both[0], ["loss"]),
        (lambda both: both, ["loss", "loss_2"]),
        (tuple, ["loss", "loss_2"]),
        (lambda both: dict(zip(("near", "far"), both, strict=True)), ["far", "near"]),
    ],
)
def test_results_are_losses(loss: Callable[..., Any], names: list[str]) -> None:
    net = Net()
    training = net.train(loss([net.squares(), net.squares(0.5)]))
    result = training.execute({"x": X}, {"y": Y}).result()
    square = np.mean((X @ W.T - Y) ** 2)
    values = {"loss": 1, "loss_2": 0.5, "near": 1, "far": 0.5}
    assert sorted(result.losses) == names
    for name in names:
        assert result.losses[name] == pytest.approx(square * values[name], rel=1e-5)
    assert result.loss == pytest.approx(sum(result.losses.values()), rel=1e-6)


def test_the_result_of_a_loss_is_a_loss_already() -> None:
    net = Net()
    known_loss = net.graph.node(
        tg.losses.MeanSquaredError(name="mse"), net.prediction, loss_labels=[net.y]
    )
    training = net.train([known_loss, net.squares(0.5)])
    result = training.execute({"x": X}, {"y": Y}).result()
    assert sorted(result.losses) == ["loss", "mse"]
    assert result.losses["loss"] == pytest.approx(0.5 * result.losses["mse"], rel=1e-5)


def test_a_layer_may_be_the_loss_of_the_last_result() -> None:
    net = Net()
    net.squares()
    training = net.train(tg.losses.Value("sum"))
    loss = training.execute({"x": X}, {"y": Y}).result().loss
    assert loss == pytest.approx(np.sum((X @ W.T - Y) ** 2), rel=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_an_epoch_has_the_loss_of_its_samples(reduction: str) -> None:
    net, training = own(reduction)
    training.compile_optimizer(tg.optimizers.SGD(0))
    batches = [(X[:5], Y[:5]), (X[5:], Y[5:])]
    history = tg.fit(training, batches, epochs=1, progress=False)
    expected = getattr(np, reduction)((X @ W.T - Y) ** 2)
    assert history.metrics["loss"][0] == pytest.approx(expected, rel=1e-5)
    del net


def test_mixed_precision_reduces_in_float32() -> None:
    net = Net()
    training = net.train(net.squares(), precision="mixed_bfloat16")
    loss = training.execute({"x": X}, {"y": Y}).result().loss
    assert loss == pytest.approx(np.mean((X @ W.T - Y) ** 2), rel=0.05)
    bits = int(np.float32(loss).view(np.uint32))
    assert bits & 0xFFFF, "the mean was rounded to bfloat16"


def test_a_saved_graph_goes_on(tmp_path: Any) -> None:
    net, training = own("sum", 0.3)
    training.execute({"x": X}, {"y": Y})
    training.export_graph(tmp_path / "own")
    loaded = tg.TrainingGraph.load(tmp_path / "own", "cpu")
    for each in (training, loaded):
        each.execute({"x": X}, {"y": Y})
    results = [t.execute({"x": X}, {"y": Y}).result().loss for t in (training, loaded)]
    assert results[0] == results[1]
    del net


NAMED = [
    (lambda net: net.x, tg.InvalidArgument, "x", "the result of a node of a graph"),
    (lambda _: Net().squares(), tg.InvalidArgument, "", "the result of a node"),
    (lambda net: net.layer.weights, tg.InvalidArgument, "fc.weights", "the result"),
    (
        lambda net: {
            "best": net.graph.ops.reduce(net.prediction, type="arg_max", axes=[0])
        },
        tg.DTypeError,
        "best",
        "float32",
    ),
    (
        lambda net: {
            "other": net.graph.node(
                tg.losses.MeanSquaredError(name="mse"),
                net.prediction,
                loss_labels=[net.y],
            )
        },
        tg.InvalidArgument,
        "other",
        "mse",
    ),
]


@pytest.mark.parametrize(("loss", "error", "node", "expected"), NAMED)
def test_what_is_no_loss_is_refused(
    loss: Any, error: Any, node: str, expected: str
) -> None:
    net = Net()
    with pytest.raises(error) as info:
        tg.TrainingGraph([net.graph], loss(net))
    assert info.value.op == "TrainingGraph"
    assert expected in info.value.expected
    assert node in info.value.node
    assert info.value.got


def test_wrong_types_are_type_errors() -> None:
    net = Net()
    for loss in (3, [3], {"a": None}, "mse"):
        with pytest.raises(TypeError):
            tg.TrainingGraph([net.graph], loss)  # type: ignore[arg-type]


def test_nodes_of_values_are_checked() -> None:
    net = Net()
    with pytest.raises(tg.InvalidArgument, match="wrong number of sources"):
        net.graph.node(tg.losses.Value(name="v"), net.prediction, loss_labels=[net.y])
    index = net.graph.ops.reduce(net.prediction, type="arg_max", axes=[0])
    with pytest.raises(tg.DTypeError, match="a loss is a number with a gradient"):
        net.graph.node(tg.losses.Value(), index)
    with pytest.raises(tg.InvalidArgument, match="reduction_type"):
        tg.losses.Value("max")
    with pytest.raises(tg.InvalidArgument, match="weight"):
        tg.losses.Value(weight=float("nan"))
