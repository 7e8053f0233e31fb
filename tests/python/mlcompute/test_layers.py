# SPDX-License-Identifier: MIT
"""ML Compute's layers of shape, products, normalization and dropout."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, Regression, evaluated, floats, value_of

L = tg.layers


def test_layers_have_identity() -> None:
    first, second = L.ReLU(), L.ReLU(name="named")
    assert first.layer_id != second.layer_id
    assert second.name == "named"
    second.name = "renamed"
    assert second.name == "renamed"
    assert not first.is_debugging_enabled
    r = Regression()
    assert r.layer.device_type is None
    r.compile()
    assert r.layer.device_type is tg.mlcompute.DeviceType.cpu


def test_concatenation() -> None:
    x, y = floats(2, 3, 2), floats(2, 1, 2)
    assert L.Concatenation().axis == 1
    assert L.Concatenation(2).axis == 2
    np.testing.assert_array_equal(
        value_of(L.Concatenation(), x, y), np.concatenate([x, y], 1)
    )
    np.testing.assert_array_equal(
        value_of(L.Concatenation(2), x, x), np.concatenate([x, x], 2)
    )
    by_graph = evaluated(lambda g, a, b: g.ops.concatenate(a, b), x, y)
    np.testing.assert_array_equal(by_graph, np.concatenate([x, y], 1))


def parts_of(x: np.ndarray, layer: tg.layers.Split) -> list[np.ndarray]:  # type: ignore[type-arg]
    """All results of the layer, through its graph."""

    def part(index: int) -> np.ndarray:  # type: ignore[type-arg]
        def build(graph: tg.Graph, source: tg.Tensor) -> tg.Tensor:
            count, lengths = layer.split_count, layer.split_section_lengths
            same = (
                L.Split(list(lengths), layer.axis)
                if lengths
                else L.Split(count, layer.axis)
            )
            first = graph.node(same, source)
            results = graph.result_tensors(same)
            assert results[0] == first
            # Every result is read, for outputs come from nodes.
            return graph.node(L.Affine(1.0), results[index])

        return evaluated(build, x)

    return [part(index) for index in range(layer.split_count)]


def test_split() -> None:
    x = floats(2, 6, 2)
    equal, uneven = L.Split(3, 1), L.Split([1, 5], 1)
    assert (equal.split_count, equal.axis) == (3, 1)
    assert equal.split_section_lengths == ()
    assert (uneven.split_count, uneven.axis) == (2, 1)
    assert uneven.split_section_lengths == (1, 5)
    for part, expected in zip(parts_of(x, equal), np.split(x, 3, 1), strict=True):
        np.testing.assert_array_equal(part, expected)
    for part, expected in zip(parts_of(x, uneven), np.split(x, [1], 1), strict=True):
        np.testing.assert_array_equal(part, expected)


def test_split_of_a_graph() -> None:
    x = floats(2, 6, 2)
    last = evaluated(lambda g, s: g.ops.split(s, 3, 1)[2], x)
    np.testing.assert_array_equal(last, x[:, 4:])
    rest = evaluated(lambda g, s: g.ops.split(s, lengths=(1, 5), axis=1)[1], x)
    np.testing.assert_array_equal(rest, x[:, 1:])


def test_reshape() -> None:
    x = floats(2, 3, 4)
    layer = L.Reshape((2, 12))
    assert layer.shape == (2, 12)
    np.testing.assert_array_equal(value_of(layer, x), x.reshape(2, 12))
    by_graph = evaluated(lambda g, s: g.ops.reshape(s, shape=(2, -1)), x)
    np.testing.assert_array_equal(by_graph, x.reshape(2, 12))


def test_transpose() -> None:
    x = floats(2, 3, 4)
    layer = L.Transpose((0, 2, 1))
    assert layer.axes == (0, 2, 1)
    np.testing.assert_array_equal(value_of(layer, x), x.transpose(0, 2, 1))
    by_graph = evaluated(lambda g, s: g.ops.transpose(s, axes=(0, 2, 1)), x)
    np.testing.assert_array_equal(by_graph, x.transpose(0, 2, 1))


def test_slice() -> None:
    x = floats(3, 5, 6)
    layer = L.Slice((0, 1, 0), (3, 4, 6), (1, 2, 3))
    assert (layer.start, layer.end, layer.stride) == ((0, 1, 0), (3, 4, 6), (1, 2, 3))
    np.testing.assert_array_equal(value_of(layer, x), x[:, 1:4:2, ::3])
    whole = L.Slice((0, 1, 0), (3, 4, 6))
    np.testing.assert_array_equal(value_of(whole, x), x[:, 1:4])


def test_matrix_product() -> None:
    x, y = floats(2, 4, 3), floats(2, 4, 5)
    descriptor = L.MatMulDescriptor(alpha=0.5, transposes_x=True)
    assert (descriptor.alpha, descriptor.transposes_x) == (0.5, True)
    assert not descriptor.transposes_y
    assert copy.copy(descriptor).alpha == 0.5
    layer = L.MatMul(descriptor)
    assert layer.descriptor.transposes_x
    expected = 0.5 * x.swapaxes(1, 2).astype(np.float64) @ y
    np.testing.assert_allclose(value_of(layer, x, y), expected, **CLOSE)
    plain = L.MatMulDescriptor()
    assert (plain.alpha, plain.transposes_x, plain.transposes_y) == (1, False, False)
    np.testing.assert_allclose(
        value_of(L.MatMul(plain), np.ascontiguousarray(x.swapaxes(1, 2)), y),
        2 * expected,
        **CLOSE,
    )
    other = L.MatMul(L.MatMulDescriptor(transposes_y=True))
    np.testing.assert_allclose(
        value_of(other, x, x), x.astype(np.float64) @ x.swapaxes(1, 2), **CLOSE
    )


def test_batch_normalization() -> None:
    mean, variance = np.float32([0.5, -1, 2]), np.float32([1, 4, 0.25])
    beta, gamma = np.float32([0, 1, 2]), np.float32([2, 1, -1])
    layer = L.BatchNormalization(3, mean, variance, beta, gamma, 0.125, 0.75)
    assert layer.feature_channel_count == 3
    assert layer.variance_epsilon == 0.125
    assert layer.momentum == 0.75
    assert layer.beta_parameter.tensor == layer.beta
    assert layer.gamma_parameter.tensor == layer.gamma
    for tensor, values in [
        (layer.mean, mean),
        (layer.variance, variance),
        (layer.beta, beta),
        (layer.gamma, gamma),
    ]:
        np.testing.assert_array_equal(tensor.numpy(), values)
    x = floats(4, 3)
    expected = (x - mean) / np.sqrt(variance + 0.125) * gamma + beta
    np.testing.assert_allclose(value_of(layer, x), expected, **CLOSE)
    plain = L.BatchNormalization(3, mean, variance, variance_epsilon=0.125)
    assert plain.momentum == pytest.approx(0.99)
    assert plain.beta is None
    assert plain.gamma_parameter is None
    np.testing.assert_allclose(
        value_of(plain, x), (x - mean) / np.sqrt(variance + 0.125), **CLOSE
    )


def test_running_statistics_follow_the_momentum() -> None:
    mean, variance = np.zeros(3, np.float32), np.ones(3, np.float32)
    x = tg.Tensor((4, 3), name="x")
    graph = tg.Graph()
    layer = L.BatchNormalization(3, mean, variance, momentum=0.75)
    graph.node(layer, x)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": x})
    training.compile("cpu")
    values = floats(4, 3)
    training.execute_forward({"x": values}).wait()
    training.synchronize_updates()
    np.testing.assert_allclose(layer.mean.data, 0.25 * values.mean(0), **CLOSE)
    expected = 0.75 + 0.25 * values.var(0, ddof=1)
    np.testing.assert_allclose(layer.variance.data, expected, **CLOSE)


def test_dropout() -> None:
    layer = L.Dropout(0.25, seed=9)
    assert (layer.rate, layer.seed) == (0.25, 9)
    assert L.Dropout(0.25).seed == 0
    x = tg.Tensor((1, 4000), name="x")
    graph = tg.Graph()
    y = graph.node(layer, x)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": x})
    training.add_outputs({"y": y})
    training.compile("cpu")
    ones = np.ones((1, 4000), np.float32)
    kept = training.execute_forward({"x": ones}).result().output("y")
    np.testing.assert_allclose(np.unique(kept), [0, 4 / 3], **CLOSE)
    # The share of zeros deviates by 0.0068 (one standard deviation).
    assert (kept == 0).mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize(
    ("layer", "data_type", "expected"),
    [
        (L.Convolution, "float32", True),
        (L.Convolution, "int32", False),
        (L.Comparison, "int64", True),
        (L.Reshape, "int64", True),
        (L.Reshape, "float16", True),
    ],
)
def test_supported_data_types(
    layer: type[tg.layers.Layer], data_type: str, expected: bool
) -> None:
    assert layer.supports_data_type(tg.DataType[data_type], "cpu") is expected
