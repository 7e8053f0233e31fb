# SPDX-License-Identifier: MIT
"""ONNX's cases for what only a training graph does: updates and statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

onnx = pytest.importorskip("onnx", reason="onnx ships the cases")

from .onnx_cases import all_cases, id_of

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

# A few float32 operations on numbers near 1, and one square root.
TOLERANCE = {"rtol": 1e-6, "atol": 1e-6}


def collect(op_type: str, suffix: str = "") -> list[Any]:
    cases = [
        pytest.param(case, id=id_of(case))
        for case in all_cases()
        if case.model.graph.node[0].op_type == op_type and case.name.endswith(suffix)
    ]
    assert len(cases) >= 2
    return cases


def attributes_of(case: Any) -> dict[str, Any]:
    return {
        a.name: onnx.helper.get_attribute_value(a)
        for a in case.model.graph.node[0].attribute
    }


class Update:
    """Parameters whose gradients and optimizer state the test writes itself."""

    def __init__(self, values: list[Array], optimizer: tg.optimizers.Optimizer) -> None:
        graph = tg.Graph()
        x, target = tg.Tensor((1, 1), name="x"), tg.Tensor((1, 1), name="target")
        # A weight column per parameter; what they compute does not matter.
        total = x
        self.weights = []
        for value in values:
            size = value.size
            layer = tg.layers.FullyConnected(
                1, size, weights=value.reshape(size, 1), uses_biases=False
            )
            total = graph.node(layer, total)
            total = graph.ops.reduce(total, type="sum", axes=1)
            self.weights.append(layer.weights)
        self.training = tg.TrainingGraph(
            [graph], loss=tg.losses.MeanSquaredError(), optimizer=optimizer
        )
        self.training.add_inputs({"x": x}, loss_labels={"target": target})
        self.training.compile("cpu")

    def run(
        self, gradients: list[Array], slots: list[list[Array]]
    ) -> tuple[list[Array], list[list[Array]]]:
        """Values and slots after one update."""
        one = np.ones((1, 1), np.float32)
        self.training.execute_forward({"x": one}, {"target": one})
        self.training.execute_gradient()
        for weights, gradient, slot in zip(self.weights, gradients, slots, strict=True):
            self.training.gradient(weights)[:, 0] = gradient
            self.training.bind_optimizer_data([s[:, None] for s in slot], weights)
        self.training.execute_optimizer_update().wait()
        for weights in self.weights:
            weights.synchronize_optimizer_data()
        return (
            [w.numpy()[:, 0] for w in self.weights],
            [[s[:, 0] for s in w.optimizer_data.values()] for w in self.weights],
        )


def parts(case: Any) -> tuple[float, int, list[list[Array]]]:
    """R, T and the arrays by kind (values, gradients, slots), in float32."""
    rate, count, *arrays = case.data_sets[0][0]
    num_kinds = 4 if case.model.graph.node[0].op_type == "Adam" else 3
    size = len(arrays) // num_kinds
    groups = [arrays[i * size : (i + 1) * size] for i in range(num_kinds)]
    return float(rate), int(count), groups


@pytest.mark.parametrize("case", collect("Adam"))
def test_adam(case: Any) -> None:
    rate, count, (values, gradients, first, second) = parts(case)
    a = attributes_of(case)
    assert count == 0
    # At T = 0 ONNX does not correct the rate, and this library's steps start at
    # 1: the rate that the correction of step 1 turns into R.
    learning_rate = rate * (1 - a["alpha"]) / np.sqrt(1 - a["beta"])
    optimizer = tg.optimizers.Adam(
        learning_rate,
        a["alpha"],
        a["beta"],
        a["epsilon"],
        regularization_type="l2",
        regularization_scale=a["norm_coefficient"],
    )
    assert optimizer.corrected_rate == pytest.approx(rate, rel=1e-6)
    slots = [list(pair) for pair in zip(first, second, strict=True)]
    new_values, new_slots = Update(values, optimizer).run(gradients, slots)
    results = [*new_values, *(s[0] for s in new_slots), *(s[1] for s in new_slots)]
    for result, wanted in zip(results, case.data_sets[0][1], strict=True):
        np.testing.assert_allclose(result, wanted, **TOLERANCE)


@pytest.mark.parametrize("case", collect("Momentum"))
def test_momentum(case: Any) -> None:
    rate, count, (values, gradients, velocities) = parts(case)
    a = attributes_of(case)
    # beta scales the new gradient from the second step on; there is no such
    # factor here.
    assert count == 0 or a["beta"] == 1
    is_nesterov = a["mode"] == b"nesterov"
    optimizer = tg.optimizers.SGD(
        rate,
        a["alpha"],
        is_nesterov,
        regularization_type="l2",
        regularization_scale=a["norm_coefficient"],
    )
    # Plain momentum accumulates rate * gradient here, the gradient in ONNX.
    scale = np.float32(1 if is_nesterov else rate)
    slots = [[v * scale] for v in velocities]
    new_values, new_slots = Update(values, optimizer).run(gradients, slots)
    results = [*new_values, *(s[0] / scale for s in new_slots)]
    for result, wanted in zip(results, case.data_sets[0][1], strict=True):
        np.testing.assert_allclose(result, wanted, **TOLERANCE)


@pytest.mark.parametrize("case", collect("BatchNormalization", "training_mode"))
def test_batch_normalization(case: Any) -> None:
    x, gamma, beta, mean, variance = case.data_sets[0][0]
    y, new_mean, new_variance = case.data_sets[0][1]
    a = attributes_of(case)
    momentum = a.get("momentum", 0.9)
    layer = tg.layers.BatchNormalization(
        x.shape[1],
        mean=mean,
        variance=variance,
        gamma=gamma,
        beta=beta,
        variance_epsilon=a.get("epsilon", 1e-5),
        momentum=momentum,
    )
    source = tg.Tensor(x.shape, name="x")
    graph = tg.Graph()
    result = graph.node(layer, source)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": source})
    training.add_outputs({"y": result})
    training.compile("cpu")
    run = training.execute_forward({"x": x}).result()
    # ONNX normalises in float32 as well: sums over 40 numbers differ in order.
    np.testing.assert_allclose(run.output("y"), y, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(layer.mean.numpy(), new_mean, rtol=1e-5, atol=1e-6)
    # ONNX's running variance takes the biased variance of the batch, this
    # library, as PyTorch, the unbiased one.
    count = x.size // x.shape[1]
    of_batch = (new_variance - momentum * variance) * count / (count - 1)
    np.testing.assert_allclose(
        layer.variance.numpy(), momentum * variance + of_batch, rtol=1e-5, atol=1e-6
    )
