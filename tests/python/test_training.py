# SPDX-License-Identifier: MIT
"""Training and inference: values against NumPy, memory, gradients, phases."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Classifier


# Sums of up to 8 x 6 products of float32 numbers near 1 differ in their order
# only: a few units of the last place (6e-8) each.
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


def softmax_loss(
    x: np.ndarray[Any, Any],
    y: np.ndarray[Any, Any],
    weights: np.ndarray[Any, Any],
    biases: np.ndarray[Any, Any],
) -> tuple[float, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Loss and the gradients of weights and biases, in float64."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    logits = x @ weights.T.astype(np.float64) + biases.astype(np.float64)
    logits -= logits.max(axis=1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    difference = (np.exp(log_p) - y) / len(x)
    return float(-(y * log_p).sum(1).mean()), difference.T @ x, difference.sum(0)


def parameters_of(c: Classifier) -> tuple[np.ndarray[Any, Any], ...]:
    assert c.dense.biases is not None
    return c.dense.weights.numpy(), c.dense.biases.numpy()


def test_one_step_is_gradient_descent(classifier: Classifier) -> None:
    weights, biases = parameters_of(classifier)
    loss, d_weights, d_biases = softmax_loss(
        classifier.x, classifier.y, weights, biases
    )
    result = classifier.step().result()
    assert result.loss == pytest.approx(loss, rel=1e-5)
    new_weights, new_biases = parameters_of(classifier)
    np.testing.assert_allclose(new_weights, weights - 0.1 * d_weights, **CLOSE)
    np.testing.assert_allclose(new_biases, biases - 0.1 * d_biases, **CLOSE)


def test_training_lowers_the_loss(classifier: Classifier) -> None:
    losses = [classifier.step().result().loss for _ in range(60)]
    assert all(later < earlier for earlier, later in itertools.pairwise(losses))
    assert losses[-1] < 0.8 * losses[0]


def test_phases_do_what_a_step_does(
    make_classifier: Callable[..., Classifier],
) -> None:
    tg.set_seed(1)
    one = make_classifier()
    tg.set_seed(1)
    other = make_classifier()
    other.x, other.y = one.x, one.y
    np.testing.assert_array_equal(parameters_of(one)[0], parameters_of(other)[0])
    for _ in range(3):
        one.step()
        other.forward()
        other.training.execute_gradient()
        other.training.execute_optimizer_update()
    np.testing.assert_allclose(parameters_of(one)[0], parameters_of(other)[0], **CLOSE)


def test_gradients_are_writable_views(classifier: Classifier) -> None:
    weights, biases = parameters_of(classifier)
    _, d_weights, d_biases = softmax_loss(classifier.x, classifier.y, weights, biases)
    classifier.forward()
    classifier.training.execute_gradient()
    gradient = classifier.training.gradient(classifier.dense.weights)
    assert gradient.shape == (3, 6)
    assert gradient.flags.writeable
    assert not gradient.flags.owndata
    np.testing.assert_allclose(gradient, d_weights, **CLOSE)
    everything = classifier.training.gradients
    # Each starts at a multiple of 64 bytes, 16 floats.
    np.testing.assert_array_equal(everything[:18].reshape(3, 6), gradient)
    np.testing.assert_allclose(everything[32:35], d_biases, **CLOSE)
    assert np.shares_memory(gradient, everything)
    copied = classifier.training.gradient_data(
        classifier.dense.weights, classifier.dense
    )
    assert not np.shares_memory(copied, everything)
    np.testing.assert_array_equal(copied, gradient)

    gradient[:] *= 0.5
    classifier.training.execute_optimizer_update().wait()
    new_weights, new_biases = parameters_of(classifier)
    np.testing.assert_allclose(new_weights, weights - 0.05 * d_weights, **CLOSE)
    np.testing.assert_allclose(new_biases, biases - 0.1 * d_biases, **CLOSE)


def test_parameters_are_in_the_order_of_gradients(classifier: Classifier) -> None:
    assert classifier.training.parameters == [
        classifier.dense.weights,
        classifier.dense.biases,
    ]


def test_outputs(classifier: Classifier) -> None:
    weights, biases = parameters_of(classifier)
    out = np.zeros((8, 3), np.float32)
    result = classifier.step(outputs_data={"logits": out}).result()
    expected = classifier.x @ weights.T + biases
    np.testing.assert_allclose(result.outputs["logits"], expected, **CLOSE)
    np.testing.assert_array_equal(out, result.outputs["logits"])
    np.testing.assert_array_equal(result.output("logits"), out)
    assert list(result.outputs) == ["logits"]
    assert not result.output("logits").flags.writeable
    assert result.result is not None
    assert result.result.shape == (1,)


def test_outputs_are_views_that_keep_the_result_alive(classifier: Classifier) -> None:
    result = classifier.step().result()
    logits = result.output("logits")
    values = logits.copy()
    assert not logits.flags.owndata
    del result
    for _ in range(20):
        classifier.step().wait()
    np.testing.assert_array_equal(logits, values)


def test_smaller_batches(classifier: Classifier) -> None:
    weights, biases = parameters_of(classifier)
    x, y = classifier.x[:5], classifier.y[:5]
    expected, *_ = softmax_loss(x, y, weights, biases)
    run = classifier.training.execute({"image": x}, {"label": y}, batch_size=5)
    assert run.result().loss == pytest.approx(expected, rel=1e-5)
    assert run.result().output("logits").shape == (5, 3)
    assert classifier.training.compile_count == 2
    classifier.training.execute({"image": x}, {"label": y}, batch_size=5).wait()
    assert classifier.training.compile_count == 2


def test_bound_data_is_used_by_the_next_forward(classifier: Classifier) -> None:
    expected, *_ = softmax_loss(classifier.x, classifier.y, *parameters_of(classifier))
    classifier.training.bind_and_write_data(
        {"image": classifier.x, "label": classifier.y}
    )
    loss = classifier.training.execute_forward().result().loss
    assert loss == pytest.approx(expected, rel=1e-5)
    other = {"image": np.zeros_like(classifier.x)}
    assert classifier.training.execute_forward(other).result().loss != loss
    skipped = classifier.training.execute(skip_writing_input_data_to_device=True)
    assert skipped.result().loss == pytest.approx(expected, rel=1e-5)


def test_inputs_may_change_after_the_call(classifier: Classifier) -> None:
    expected, *_ = softmax_loss(classifier.x, classifier.y, *parameters_of(classifier))
    run = classifier.forward()
    classifier.x[:] = np.nan
    classifier.y[:] = np.nan
    assert run.result().loss == pytest.approx(expected, rel=1e-5)


def test_forward_for_inference_changes_nothing(classifier: Classifier) -> None:
    before = parameters_of(classifier)[0]
    run = classifier.training.execute(
        {"image": classifier.x}, forward_for_inference=True
    )
    logits = run.result().output("logits")
    np.testing.assert_array_equal(parameters_of(classifier)[0], before)
    inference = tg.InferenceGraph([classifier.graph])
    inference.add_inputs({"image": classifier.image})
    inference.add_outputs({"logits": classifier.logits})
    inference.compile("cpu")
    other = inference.execute({"image": classifier.x}, synchronous=True).result()
    # Both run the same kernels on the same parameters.
    np.testing.assert_array_equal(other.output("logits"), logits)
    assert not other.has_loss
    with pytest.raises(tg.StateError, match="loss"):
        _ = other.loss


def test_inference_sees_what_training_changes(classifier: Classifier) -> None:
    inference = tg.InferenceGraph([classifier.graph])
    inference.add_inputs({"image": classifier.image})
    inference.compile("cpu")
    for _ in range(3):
        classifier.step().wait()
        weights, biases = parameters_of(classifier)
        result = inference.execute({"image": classifier.x}).result().result
        assert result is not None
        np.testing.assert_allclose(result, classifier.x @ weights.T + biases, **CLOSE)


def test_synchronize_updates(classifier: Classifier) -> None:
    before = classifier.dense.weights.data
    assert before is not None
    before = before.copy()
    classifier.step().wait()
    classifier.training.synchronize_updates()
    assert classifier.dense.weights.data is not None
    assert not np.array_equal(classifier.dense.weights.data, before)
    np.testing.assert_array_equal(
        classifier.dense.weights.data, classifier.dense.weights.numpy()
    )
    assert classifier.dense.weights.device == tg.Device.cpu()
    assert classifier.training.device == tg.Device.cpu()


def test_memory_is_known_before_and_equal_after(classifier: Classifier) -> None:
    memory = classifier.training.memory
    assert memory.allocated_bytes == 0
    assert not memory.step.is_allocated
    assert memory.step.live_peak_bytes <= memory.step.arena_bytes
    assert memory.step.arena_bytes <= memory.step.unplanned_bytes
    assert memory.parameter_bytes >= 4 * (18 + 3)
    promised = memory.total_bytes(with_step=True)
    assert "step" in str(memory)
    classifier.step().wait()
    memory = classifier.training.memory
    assert memory.step.is_allocated
    assert not memory.phases.is_allocated
    assert memory.allocated_bytes == memory.predicted_bytes
    assert memory.allocated_bytes <= promised
    assert classifier.training.device_memory_size == memory.step.arena_bytes


def test_compile_options(make_classifier: Callable[..., Classifier]) -> None:
    plain = make_classifier()
    spread = make_classifier(reuse_memory=False)
    memory = spread.training.memory.step
    assert memory.arena_bytes == memory.unplanned_bytes
    poisoned = make_classifier(poison_memory=True)
    assert np.isfinite(poisoned.step().result().loss)
    assert plain.training.is_compiled
    assert plain.training.compile_count == 1
    assert 'matmul "dense"' in plain.training.plan_description()


def test_constants() -> None:
    x, scale = tg.Tensor((2, 2), name="x"), tg.Tensor((2, 2), name="scale")
    graph = tg.Graph()
    graph.node(tg.layers.Arithmetic("multiply"), [x, scale])
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.compile(
        "cpu",
        input_tensors={"scale": scale},
        input_tensors_data={"scale": np.full((2, 2), 3, np.float32)},
    )
    result = inference.execute({"x": np.ones((2, 2), np.float32)}).result().result
    assert result is not None
    np.testing.assert_array_equal(result, np.full((2, 2), 3))


def test_input_gradients_and_training_inputs() -> None:
    x, t = tg.Tensor((2, 2), name="x"), tg.Tensor((2, 2), name="t")
    graph = tg.Graph()
    layer = tg.layers.Affine(2.0, 0.0)
    graph.node(layer, x)
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError("sum"))
    training.add_inputs({"x": x}, {"t": t})
    training.compile("cpu", compute_all_gradients=True)
    values = np.array([[1, 2], [3, 4]], np.float32)
    training.execute_forward({"x": values}, {"t": np.zeros((2, 2), np.float32)})
    training.execute_gradient().wait()
    gradient = training.gradient_tensor(x)
    assert gradient is not None
    # d/dx (2x)^2 = 8x, exact in float32 for these integers.
    np.testing.assert_array_equal(gradient.numpy(), 8 * values)
    assert training.gradient_tensor(t) is None


def test_user_gradients() -> None:
    x = tg.Tensor((2, 3), name="x")
    graph = tg.Graph()
    dense = tg.layers.FullyConnected(3, 2, uses_biases=False)
    y = graph.node(dense, x)
    training = tg.TrainingGraph([graph], optimizer=tg.optimizers.SGD(1.0))
    training.add_inputs({"x": x})
    training.add_outputs({"y": y})
    user = training.allocate_user_gradient(y)
    assert user.shape == y.shape
    training.compile("cpu")
    before = dense.weights.numpy()
    values = np.array([[1, 0, 2], [0, 3, 0]], np.float32)
    incoming = np.array([[1, 0], [0, 1]], np.float32)
    training.execute_forward({"x": values}).wait()
    training.bind_and_write_data({"dy": incoming}, {"dy": user})
    training.execute_gradient()
    training.execute_optimizer_update().wait()
    # Small integers against weights below 2: one rounding of the difference.
    np.testing.assert_allclose(
        dense.weights.numpy(), before - incoming.T @ values, **CLOSE
    )


def test_linked_graphs() -> None:
    x, t = tg.Tensor((2, 3), name="x"), tg.Tensor((2, 3), name="t")
    first, second = tg.Graph(), tg.Graph()
    dense = tg.layers.FullyConnected(3, 3)
    middle = first.node(dense, x)
    second.node(tg.layers.Tanh(), middle)
    optimizer = tg.optimizers.SGD(0.1)
    front = tg.TrainingGraph([first], optimizer=optimizer)
    front.add_inputs({"x": x})
    back = tg.TrainingGraph([second], tg.losses.MeanSquaredError())
    back.add_inputs({"middle": middle}, {"t": t})
    front.compile("cpu", link_graphs=True)
    back.compile("cpu", link_graphs=True, compute_all_gradients=True)
    front.link([back])
    before = dense.weights.numpy()
    front.execute_forward({"x": np.ones((2, 3), np.float32)})
    back.execute_forward(None, {"t": np.ones((2, 3), np.float32)})
    back.execute_gradient()
    front.execute_gradient()
    front.execute_optimizer_update().wait()
    assert not np.array_equal(dense.weights.numpy(), before)


def test_stopped_gradients(make_classifier: Callable[..., Classifier]) -> None:
    x, t = tg.Tensor((4, 3)), tg.Tensor((4, 2))
    graph = tg.Graph()
    first, second = tg.layers.FullyConnected(3, 3), tg.layers.FullyConnected(3, 2)
    middle = graph.node(first, x)
    graph.node(second, middle)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    )
    training.add_inputs({"x": x}, {"t": t})
    training.stop_gradient([middle])
    training.compile("cpu")
    before = first.weights.numpy()
    training.execute(
        {"x": np.ones((4, 3), np.float32)},
        {"t": np.zeros((4, 2), np.float32)},
        synchronous=True,
    )
    np.testing.assert_array_equal(first.weights.numpy(), before)
    assert "dashed" in training.summarized_dot_description
    assert make_classifier().training.summarized_dot_description.startswith("digraph")


def test_dropout_depends_on_the_step() -> None:
    x = tg.Tensor((1, 1000), name="x")
    graph = tg.Graph()
    y = graph.node(tg.layers.Dropout(0.5, seed=4), x)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": x})
    training.add_outputs({"y": y})
    training.compile("cpu")
    data = {"x": np.ones((1, 1000), np.float32)}

    def run(**options: bool) -> np.ndarray[Any, Any]:
        return training.execute_forward(data, **options).result().output("y")

    first, second = run(), run()
    assert set(np.unique(first)) == {0.0, 2.0}
    assert not np.array_equal(first, second)
    assert training.random_step == 2
    training.random_step = 0
    np.testing.assert_array_equal(run(), first)
    np.testing.assert_array_equal(run(forward_for_inference=True), data["x"])


def test_debug_layers(make_classifier: Callable[..., Classifier]) -> None:
    c = make_classifier(is_compiled=False)
    c.dense.is_debugging_enabled = True
    c.training.compile("cpu", debug_layers=True)
    logits = c.step().result().output("logits")
    (result,) = c.graph.result_tensors(c.dense)
    np.testing.assert_array_equal(result.numpy(), logits)
    (incoming,) = c.training.incoming_gradients(c.dense)
    assert c.training.source_gradient_tensors(c.dense) == [incoming]
    assert incoming.shape == (8, 3)
    assert incoming.numpy().any()


def test_seeds_make_runs_identical(make_classifier: Callable[..., Classifier]) -> None:
    def run() -> tuple[list[float], np.ndarray[Any, Any]]:
        tg.set_seed(21)
        c = make_classifier(optimizer=tg.optimizers.Adam(0.01))
        c.x = np.linspace(-1, 1, c.x.size, dtype=np.float32).reshape(c.x.shape)
        c.y = np.eye(3, dtype=np.float32)[np.arange(8) % 3]
        losses = [c.step().result().loss for _ in range(5)]
        return losses, parameters_of(c)[0]

    first, second = run(), run()
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1], second[1])
