# SPDX-License-Identifier: MIT
"""ML Compute's graphs and training graphs: each call, and what it does."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, Regression, floats

RATE = 0.125


def test_graphs_know_their_layers() -> None:
    graph = tg.Graph()
    relu, add = tg.layers.ReLU(name="squash"), tg.layers.Arithmetic("add")
    x, y = tg.Tensor((2, 3), name="left"), tg.Tensor((2, 3), name="right")
    h = graph.node(relu, x)
    z = graph.node(add, [h, y])
    assert graph.layers == [relu, add]
    assert graph.source_tensors(relu) == [x]
    assert graph.source_tensors(add) == [h, y]
    assert graph.result_tensors(add) == [z]
    assert graph.device is None
    text = graph.summarized_dot_description
    assert text.startswith("digraph")
    for name in ("squash", "left", "right"):
        assert name in text


def test_a_compiled_graph_knows_its_device() -> None:
    r = Regression().compile()
    assert r.training.device == tg.Device.cpu()


def test_nodes_that_are_not_updated() -> None:
    x, t = tg.Tensor((4, 3), name="x"), tg.Tensor((4, 3), name="t")
    graph = tg.Graph()
    fixed, trained = (tg.layers.FullyConnected(3, 3) for _ in range(2))
    h = graph.node(fixed, [x], disable_update=True)
    graph.node(trained, h)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(RATE)
    )
    training.add_inputs({"x": x}, {"t": t})
    training.compile("cpu")
    before = fixed.weights.numpy().copy(), trained.weights.numpy().copy()
    training.execute({"x": floats(4, 3)}, {"t": np.zeros((4, 3), np.float32)}).wait()
    np.testing.assert_array_equal(fixed.weights.numpy(), before[0])
    assert not np.array_equal(trained.weights.numpy(), before[1])


def test_label_weights() -> None:
    r = Regression()
    w = tg.Tensor((4, 1), name="w")
    training = tg.TrainingGraph([r.graph], tg.losses.MeanSquaredError("sum"))
    training.add_inputs({"x": r.x}, {"t": r.t}, {"w": w})
    training.compile("cpu")
    weights = np.array([[1], [0], [2], [0.5]], np.float32)
    loss = training.execute({"x": r.data}, {"t": r.labels}, {"w": weights})
    errors = (r.data.sum(1, keepdims=True) / 2 - r.labels) ** 2
    assert loss.result().loss == pytest.approx((errors * weights).sum(), rel=1e-5)
    with pytest.raises(tg.InvalidArgument, match='"w"'):
        training.execute({"x": r.data}, {"t": r.labels})


def test_a_whole_step() -> None:
    r = Regression(tg.optimizers.SGD(RATE)).compile()
    before = r.layer.weights.numpy().astype(np.float64)
    out = np.zeros((4, 1), np.float32)
    seen: list[tg.Execution] = []
    run = r.step(
        outputs_data={"y": out}, synchronous=True, completion_handler=seen.append
    )
    prediction = r.data @ before.T
    assert run.loss == pytest.approx(((prediction - r.labels) ** 2).mean(), rel=1e-5)
    np.testing.assert_allclose(out, prediction, **CLOSE)
    expected = before - RATE * r.gradients(before)
    np.testing.assert_allclose(r.layer.weights.numpy(), expected, **CLOSE)
    assert seen[0].result().loss == run.loss


def test_a_step_by_phases() -> None:
    r = Regression(tg.optimizers.SGD(RATE)).compile()
    before = r.layer.weights.numpy().astype(np.float64)
    r.training.bind_and_write_data({"x": r.data, "t": r.labels})
    out = np.zeros((4, 1), np.float32)
    calls: list[str] = []
    forward = r.training.execute_forward(
        outputs_data={"y": out},
        completion_handler=lambda _: calls.append("forward"),
        synchronous=True,
    )
    np.testing.assert_allclose(out, r.data @ before.T, **CLOSE)
    np.testing.assert_array_equal(forward.result().output("y"), out)
    r.training.execute_gradient(
        completion_handler=lambda _: calls.append("gradient"),
        synchronous=True,
    )
    np.testing.assert_array_equal(r.layer.weights.numpy(), before)
    gradient = r.training.gradient_data(r.layer.weights, r.layer)
    np.testing.assert_allclose(gradient, r.gradients(before), **CLOSE)
    r.training.execute_optimizer_update(
        completion_handler=lambda _: calls.append("update"), synchronous=True
    )
    expected = before - RATE * r.gradients(before)
    np.testing.assert_allclose(r.layer.weights.numpy(), expected, **CLOSE)
    assert calls == ["forward", "gradient", "update"]


def test_outputs_of_layers_come_with_the_forward_pass() -> None:
    r = Regression().compile()
    r.training.execute_forward({"x": r.data}, {"t": r.labels})
    out = np.zeros((4, 1), np.float32)
    with pytest.raises(tg.InvalidArgument, match="no such output") as raised:
        r.training.execute_gradient(outputs_data={"y": out})
    assert "expected no names" in str(raised.value)
    assert "to the forward pass" in str(raised.value)


def test_outputs_of_gradient_ops_come_with_the_gradient_pass() -> None:
    x, dy = tg.Tensor((2, 3), name="x"), tg.Tensor((2, 3), name="dy")
    graph = tg.Graph()
    y = graph.ops.activation(x, type="tanh", a=1, b=1)
    dx = graph.ops.activation_gradient(dy, x, type="tanh", a=1, b=1, phase="gradient")
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": x, "dy": dy})
    training.add_outputs({"y": y, "dx": dx})
    training.compile("cpu")
    training.execute_forward({"x": floats(2, 3), "dy": floats(2, 3)[::-1].copy()})
    out = np.zeros((2, 3), np.float32)
    run = training.execute_gradient(outputs_data={"dx": out}, synchronous=True)
    expected = floats(2, 3)[::-1] * (1 - np.tanh(floats(2, 3)) ** 2)
    np.testing.assert_allclose(out, expected, **CLOSE)
    np.testing.assert_array_equal(run.result().output("dx"), out)
    graph = tg.Graph()
    with pytest.raises(tg.InvalidArgument, match="no such phase"):
        graph.ops.activation(x, type="relu", phase="backward")
    late = graph.ops.activation(x, type="relu", phase="gradient")
    with pytest.raises(tg.InvalidArgument, match="later phase"):
        graph.ops.activation(late, type="relu")


def test_phases_of_some_samples() -> None:
    r = Regression(tg.optimizers.SGD(RATE)).compile()
    data = {"x": r.data[:2]}, {"t": r.labels[:2]}
    r.data, r.labels = r.data[:2], r.labels[:2]
    before = r.layer.weights.numpy().astype(np.float64)
    r.training.execute_forward(*data, batch_size=2)
    r.training.execute_gradient(batch_size=2)
    r.training.execute_optimizer_update().wait()
    expected = before - RATE * r.gradients(before)
    np.testing.assert_allclose(r.layer.weights.numpy(), expected, **CLOSE)


def test_bound_data() -> None:
    r = Regression().compile()
    r.training.bind_and_write_data(
        {"image": r.data[:2], "label": r.labels[:2]},
        {"image": r.x, "label": r.t},
        batch_size=2,
        synchronous=True,
    )
    y = r.training.execute_forward(batch_size=2).result().output("y")
    np.testing.assert_allclose(y, r.data[:2].sum(1, keepdims=True) / 2, **CLOSE)
    r.training.bind_and_write_data({"x": r.data, "t": r.labels})
    run = r.training.execute(skip_writing_input_data_to_device=True).result()
    np.testing.assert_allclose(
        run.output("y"), r.data.sum(1, keepdims=True) / 2, **CLOSE
    )


def test_data_that_is_skipped_is_not_looked_at() -> None:
    r = Regression().compile()
    r.training.bind_and_write_data({"x": r.data, "t": r.labels})
    ignored: dict[str, Any] = {"x": np.zeros(2), "no such name": "no array"}
    run = r.training.execute(ignored, ignored, skip_writing_input_data_to_device=True)
    np.testing.assert_allclose(
        run.result().output("y"), r.data.sum(1, keepdims=True) / 2, **CLOSE
    )


def test_constants_of_a_training_graph() -> None:
    x, t, scale = (tg.Tensor((2, 2), name=name) for name in ("x", "t", "scale"))
    graph = tg.Graph()
    graph.node(tg.layers.Arithmetic("multiply"), [x, scale])
    training = tg.TrainingGraph([graph], tg.losses.MeanAbsoluteError("sum"))
    training.add_inputs({"x": x}, {"t": t})
    training.compile(
        "cpu",
        input_tensors={"scale": scale},
        input_tensors_data={"scale": np.full((2, 2), 3, np.float32)},
    )
    ones = np.ones((2, 2), np.float32)
    assert training.execute({"x": ones}, {"t": ones}).result().loss == 8


def test_an_optimizer_after_compile() -> None:
    r = Regression().compile()
    assert r.training.optimizer is None
    optimizer = tg.optimizers.SGD(RATE)
    r.training.compile_optimizer(optimizer)
    assert r.training.optimizer is optimizer
    before = r.layer.weights.numpy().astype(np.float64)
    r.step()
    expected = before - RATE * r.gradients(before)
    np.testing.assert_allclose(r.layer.weights.numpy(), expected, **CLOSE)


def test_gradients_of_layers_and_inputs() -> None:
    r = Regression(compute_all_gradients=True, debug_layers=True)
    r.layer.is_debugging_enabled = True
    r.compile()
    r.training.execute_forward({"x": r.data}, {"t": r.labels})
    r.training.execute_gradient().wait()
    (of_result,) = r.training.source_gradient_tensors(r.layer)
    (of_source,) = r.training.result_gradient_tensors(r.layer)
    error = 2 * (r.data.sum(1, keepdims=True) / 2 - r.labels) / 4
    np.testing.assert_allclose(of_result.numpy(), error, **CLOSE)
    np.testing.assert_allclose(of_source.numpy(), error * np.full((1, 3), 0.5), **CLOSE)
    of_input = r.training.gradient_tensor(r.x)
    assert of_input is not None
    np.testing.assert_array_equal(of_input.numpy(), of_source.numpy())
    assert r.training.gradient_tensor(r.t) is None
    # What the layer computed is there as well.
    np.testing.assert_allclose(r.y.numpy(), r.data.sum(1, keepdims=True) / 2, **CLOSE)


def test_gradients_are_computed_when_asked_for() -> None:
    r = Regression().compile()
    r.step()
    assert r.training.gradient_tensor(r.x) is None


def test_trained_inputs() -> None:
    r = Regression(tg.optimizers.SGD(RATE))
    r.x.set_data(r.data)
    training = tg.TrainingGraph(
        [r.graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(RATE)
    )
    training.add_inputs({"x": r.x}, {"t": r.t})
    training.set_training_tensor_parameters([tg.mlcompute.TensorParameter(r.x)])
    training.compile("cpu")
    training.execute(None, {"t": r.labels}).wait()
    error = 2 * (r.data.sum(1, keepdims=True) / 2 - r.labels) / 4
    np.testing.assert_allclose(r.x.numpy(), r.data - RATE * error * 0.5, **CLOSE)


def test_optimizer_state_of_a_graph() -> None:
    r = Regression(tg.optimizers.SGD(RATE, 0.5)).compile()
    start = np.full((1, 3), 0.25, np.float32)
    r.training.bind_optimizer_data([start], r.layer.weights)
    before = r.layer.weights.numpy().astype(np.float64)
    r.step()
    expected = before - (0.5 * start + RATE * r.gradients(before))
    np.testing.assert_allclose(r.layer.weights.numpy(), expected, **CLOSE)


def test_device_memory_size() -> None:
    r = Regression(tg.optimizers.SGD(RATE)).compile()
    r.step()
    step = r.training.device_memory_size
    assert step == r.training.memory.step.arena_bytes > 0
    r.training.execute_forward({"x": r.data}, {"t": r.labels}).wait()
    # The arena of the phases is there beside it.
    assert r.training.device_memory_size > step


def test_execution_options() -> None:
    r = Regression(tg.optimizers.SGD(RATE)).compile()
    plain = r.step()
    assert plain.execution_time == 0
    timed = r.step(profiling=True, per_layer_profiling=True)
    assert timed.execution_time > 0
    assert r.layer.name in [time.layer for time in timed.layer_times]
    before = r.layer.weights.numpy().copy()
    r.step(forward_for_inference=True)
    np.testing.assert_array_equal(r.layer.weights.numpy(), before)


@pytest.mark.parametrize(
    "options",
    [{}, {"disable_layer_fusion": True}, {"debug_layers": True}],
    ids=["none", "disable_layer_fusion", "debug_layers"],
)
def test_compilation_options_keep_the_numbers(options: dict[str, Any]) -> None:
    x = tg.Tensor((4, 3), name="x")
    graph = tg.Graph()
    weights = floats(5, 3)
    dense = tg.layers.FullyConnected(3, 5, weights=weights, uses_biases=False)
    y = graph.node(tg.layers.ReLU(), graph.node(dense, x))
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile("cpu", **options)
    # Product and activation are one unit, unless they are asked to be two.
    assert len(inference.report().units) == (2 if options else 1)
    run = inference.execute({"x": floats(4, 3)}).result()
    expected = np.maximum(floats(4, 3).astype(np.float64) @ weights.T, 0)
    np.testing.assert_allclose(run.output("y"), expected, **CLOSE)


def test_awaited_phases() -> None:
    r = Regression(tg.optimizers.SGD(RATE)).compile()
    before = r.layer.weights.numpy().astype(np.float64)
    data = {"x": r.data}, {"t": r.labels}

    async def main() -> tuple[float, float, float, float]:
        forward = await r.training.execute_forward(*data, profiling=True)
        gradient = await r.training.execute_gradient(profiling=True)
        update = await r.training.execute_optimizer_update(profiling=True)
        times = (run.execution_time for run in (forward, gradient, update))
        return (forward.loss, *times)  # type: ignore[return-value]

    loss, *times = asyncio.run(main())
    expected = ((r.data @ before.T - r.labels) ** 2).mean()
    assert loss == pytest.approx(expected, rel=1e-5)
    assert min(times) > 0
    np.testing.assert_allclose(
        r.layer.weights.numpy(), before - RATE * r.gradients(before), **CLOSE
    )


def test_completion_handlers_get_results_and_errors(patience: float) -> None:
    r = Regression().compile()
    came = threading.Event()
    seen: list[tuple[Any, BaseException | None, float]] = []

    def handler(run: tg.Execution) -> None:
        result = run.result()
        seen.append((result.result, run.exception(), result.execution_time))
        came.set()

    r.training.execute(
        {"x": r.data}, {"t": r.labels}, profiling=True, completion_handler=handler
    )
    assert came.wait(patience)
    ((result, error, seconds),) = seen
    assert result.shape == (1,)
    assert error is None
    assert seconds > 0
