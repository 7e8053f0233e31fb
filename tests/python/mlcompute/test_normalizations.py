# SPDX-License-Identifier: MIT
"""ML Compute's instance, group and layer normalization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, floats, value_of

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

L = tg.layers

EPSILON = 0.125
IMAGES = (np.cos(7 * floats(2, 6, 3, 4)) + floats(1, 6, 1, 1)).astype(np.float32)
BETA, GAMMA = floats(6), 2 - floats(6)


def normalized(x: Array, axes: tuple[int, ...]) -> Array:
    wide = x.astype(np.float64)
    variance = wide.var(axes, keepdims=True)
    return (wide - wide.mean(axes, keepdims=True)) / np.sqrt(variance + EPSILON)


def per_channel(array: Array) -> Array:
    return array.reshape(-1, 1, 1)


def check_parameters(
    layer: tg.layers.NormalizationLayer, beta: Array, gamma: Array
) -> None:
    for tensor, handle, values in (
        (layer.beta, layer.beta_parameter, beta),
        (layer.gamma, layer.gamma_parameter, gamma),
    ):
        assert tensor is not None
        assert handle is not None
        assert handle.tensor == tensor
        np.testing.assert_array_equal(tensor.numpy(), values)


def check_absence(layer: tg.layers.NormalizationLayer) -> None:
    assert layer.beta is None
    assert layer.gamma is None
    assert layer.beta_parameter is None
    assert layer.gamma_parameter is None


@pytest.mark.parametrize("shape", [(6,), (1, 6, 1, 1)])
def test_instance_normalization(shape: tuple[int, ...]) -> None:
    beta, gamma = BETA.reshape(shape), GAMMA.reshape(shape)
    layer = L.InstanceNormalization(
        6, beta=beta, gamma=gamma, variance_epsilon=EPSILON, momentum=0.75
    )
    assert layer.feature_channel_count == 6
    assert layer.variance_epsilon == EPSILON
    assert layer.momentum == 0.75
    assert layer.mean is None
    assert layer.variance is None
    check_parameters(layer, beta, gamma)
    expected = normalized(IMAGES, (2, 3)) * per_channel(GAMMA) + per_channel(BETA)
    np.testing.assert_allclose(value_of(layer, IMAGES), expected, **CLOSE)


def test_instance_normalization_of_some_parameters() -> None:
    expected = normalized(IMAGES, (2, 3))
    scaled = L.InstanceNormalization(6, gamma=GAMMA, variance_epsilon=EPSILON)
    assert scaled.beta is None
    assert scaled.momentum == pytest.approx(0.99)
    np.testing.assert_allclose(
        value_of(scaled, IMAGES), expected * per_channel(GAMMA), **CLOSE
    )
    bare = L.InstanceNormalization(6, variance_epsilon=EPSILON, uses_parameters=False)
    check_absence(bare)
    np.testing.assert_allclose(value_of(bare, IMAGES), expected, **CLOSE)


def test_running_statistics_of_instances() -> None:
    mean, variance = floats(6), floats(6) ** 2 + 0.5

    def make() -> tg.layers.InstanceNormalization:
        return L.InstanceNormalization(
            6,
            mean=mean,
            variance=variance,
            beta=BETA,
            gamma=GAMMA,
            variance_epsilon=EPSILON,
            momentum=0.75,
        )

    layer = make()
    assert layer.mean is not None
    assert layer.variance is not None
    np.testing.assert_array_equal(layer.mean.numpy(), mean)
    np.testing.assert_array_equal(layer.variance.numpy(), variance)
    check_parameters(layer, BETA, GAMMA)
    # Inference normalizes with them.
    scaled = (IMAGES - per_channel(mean)) / np.sqrt(per_channel(variance) + EPSILON)
    expected = scaled * per_channel(GAMMA) + per_channel(BETA)
    np.testing.assert_allclose(value_of(layer, IMAGES), expected, **CLOSE)

    trained = make()
    graph = tg.Graph()
    x = tg.Tensor(IMAGES.shape, name="x")
    y = graph.node(trained, x)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": x})
    training.add_outputs({"y": y})
    training.compile("cpu")
    got = training.execute_forward({"x": IMAGES}).result().output("y")
    expected = normalized(IMAGES, (2, 3)) * per_channel(GAMMA) + per_channel(BETA)
    np.testing.assert_allclose(got, expected, **CLOSE)
    training.synchronize_updates()
    assert trained.mean is not None
    assert trained.variance is not None
    means = IMAGES.mean((2, 3)).mean(0)
    variances = IMAGES.var((2, 3), ddof=1).mean(0)
    np.testing.assert_allclose(trained.mean.data, 0.75 * mean + 0.25 * means, **CLOSE)
    np.testing.assert_allclose(
        trained.variance.data, 0.75 * variance + 0.25 * variances, **CLOSE
    )


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_group_normalization(count: int) -> None:
    layer = L.GroupNormalization(
        6, count, beta=BETA, gamma=GAMMA, variance_epsilon=EPSILON
    )
    assert (layer.feature_channel_count, layer.group_count) == (6, count)
    assert layer.variance_epsilon == EPSILON
    check_parameters(layer, BETA, GAMMA)
    groups = IMAGES.reshape(2, count, 6 // count, 3, 4)
    plain = normalized(groups, (2, 3, 4)).reshape(IMAGES.shape)
    np.testing.assert_allclose(
        value_of(layer, IMAGES), plain * per_channel(GAMMA) + per_channel(BETA), **CLOSE
    )
    bare = L.GroupNormalization(
        6, count, variance_epsilon=EPSILON, uses_parameters=False
    )
    check_absence(bare)
    np.testing.assert_allclose(value_of(bare, IMAGES), plain, **CLOSE)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (6, 3, 4)])
def test_layer_normalization(shape: tuple[int, ...]) -> None:
    beta, gamma = floats(*shape), 2 - floats(*shape)
    layer = L.LayerNormalization(
        shape, beta=beta, gamma=gamma, variance_epsilon=EPSILON
    )
    assert layer.normalized_shape == shape
    assert layer.variance_epsilon == EPSILON
    check_parameters(layer, beta, gamma)
    plain = normalized(IMAGES, (1, 2, 3)[-len(shape) :])
    np.testing.assert_allclose(value_of(layer, IMAGES), plain * gamma + beta, **CLOSE)
    bare = L.LayerNormalization(shape, variance_epsilon=EPSILON, uses_parameters=False)
    check_absence(bare)
    np.testing.assert_allclose(value_of(bare, IMAGES), plain, **CLOSE)
