# SPDX-License-Identifier: MIT
"""Values whose squares float32 cannot hold, from 1e19 on: normalizations and
clipping by norm compute what the formula says, not the zeros of 1 / infinity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

Array = np.ndarray[Any, Any]

SHAPE = (6, 4, 9, 9)
# Axes over which each is normalized, of (N, groups, C / groups, H, W).
NORMALIZATIONS: dict[str, Any] = {
    "layer": (lambda: tg.layers.LayerNormalization(list(SHAPE[1:])), 1, (1, 2, 3, 4)),
    "group": (lambda: tg.layers.GroupNormalization(4, 2), 2, (2, 3, 4)),
    "instance": (lambda: tg.layers.InstanceNormalization(4), 4, (2, 3, 4)),
    "batch": (lambda: tg.layers.BatchNormalization(4), 4, (0, 2, 3, 4)),
}


@pytest.mark.parametrize("largest", [1e15, 1e19, 1e25, 1e30, 1e37])
@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_normalizations(name: str, largest: float) -> None:
    make, groups, axes = NORMALIZATIONS[name]
    rng = np.random.default_rng(3)
    # At 1e37 the largest of 1,944 values is a tenth of what float32 holds.
    x = (rng.standard_normal(SHAPE) * largest).astype(np.float32)
    g = rng.standard_normal(SHAPE).astype(np.float32)
    graph, source = tg.Graph(), tg.Tensor(SHAPE, name="x")
    layer = make()
    y = graph.node(layer, source)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": source})
    training.add_outputs({"y": y})
    incoming = training.allocate_user_gradient(y)
    training.compile("cpu", compute_all_gradients=True)
    got = training.execute_forward({"x": x}).result().output("y")
    training.bind_and_write_data({"g": g}, {"g": incoming})
    training.execute_gradient().wait()

    def grouped(values: Array) -> Array:
        shape = (SHAPE[0], groups, SHAPE[1] // groups, *SHAPE[2:])
        return np.asarray(values, np.float64).reshape(shape)

    def mean(values: Array) -> Array:
        return values.mean(axes, keepdims=True)

    wide, passed = grouped(x), grouped(g)
    apart = wide - mean(wide)
    inverse = 1 / np.sqrt(mean(apart**2))
    normalized = apart * inverse
    np.testing.assert_allclose(grouped(got), normalized, atol=1e-5)
    gradient = passed - mean(passed) - normalized * mean(passed * normalized)
    of_source = training.gradient_tensor(source)
    assert of_source is not None
    # In multiples of 1 / deviation, which is below float32's least at 1e37 squared.
    dx = grouped(of_source.numpy()) / inverse
    np.testing.assert_allclose(dx, gradient, atol=2e-5)
    of_gamma = (passed * normalized).reshape(SHAPE)
    gamma = training.gradient(layer.gamma)
    summed = (0,) if gamma.ndim == 3 else (0, 2, 3)
    expected = of_gamma.sum(summed).reshape(gamma.shape)
    np.testing.assert_allclose(gamma, expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("largest", [1e18, 1e20, 1e30])
@pytest.mark.parametrize("kind", ["by_norm", "by_global_norm"])
def test_clipping(kind: str, largest: float) -> None:
    x, y = tg.Tensor((1, 2), name="x"), tg.Tensor((1, 1), name="y")
    graph = tg.Graph()
    zeros = np.zeros((1, 2), np.float32)
    dense = tg.layers.FullyConnected(weights=zeros, uses_biases=False)
    graph.node(dense, x)
    optimizer = tg.optimizers.SGD(
        1.0,
        applies_gradient_clipping=True,
        gradient_clipping_type=kind,
        maximum_clipping_norm=1.0,
    )
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError(), optimizer)
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    # The gradient is (0.6, 0.8) times the largest.
    label = np.array([[-largest / 2]], np.float32)
    training.execute({"x": np.float32([[0.6, 0.8]])}, {"y": label}).wait()
    np.testing.assert_allclose(dense.weights.numpy(), [[-0.6, -0.8]], rtol=1e-6)
