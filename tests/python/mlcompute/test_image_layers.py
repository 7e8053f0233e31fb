# SPDX-License-Identifier: MIT
"""ML Compute's convolution, dense, pooling and padding layers, by value."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, floats, value_of

L = tg.layers

# Up to 60 products of numbers up to 4 each, in another order.
SUMMED = {"rtol": 1e-5, "atol": 5e-5}


def windows(x: Any, kernel: tuple[int, int], **options: Any) -> Any:
    """(N, C, H', W', kh, kw); options: stride, dilation, padding, filled with."""
    stride = options.get("stride", (1, 1))
    dilation = options.get("dilation", (1, 1))
    py, px = options.get("padding", (0, 0))
    x = np.pad(
        x.astype(np.float64),
        ((0, 0), (0, 0), (py, py), (px, px)),
        constant_values=options.get("fill", 0.0),
    )
    span = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    every = np.lib.stride_tricks.sliding_window_view(x, span, (2, 3))
    return every[:, :, :: stride[0], :: stride[1], :: dilation[0], :: dilation[1]]


def convolved(x: Any, weights: Any, groups: int = 1, **options: Any) -> Any:
    parts = []
    for image, kernel in zip(
        np.split(x, groups, 1), np.split(weights, groups, 0), strict=True
    ):
        view = windows(image, kernel.shape[2:], **options)
        parts.append(np.einsum("nchwij,ocij->nohw", view, kernel.astype(np.float64)))
    return np.concatenate(parts, 1)


def test_convolution_descriptor() -> None:
    d = L.ConvolutionDescriptor(
        (3, 5),
        4,
        6,
        group_count=2,
        strides=(2, 1),
        dilation_rates=(1, 2),
        padding_policy="use_padding_size",
        padding_sizes=(1, 3),
    )
    assert d.convolution_type is tg.mlcompute.ConvolutionType.standard
    assert (d.kernel_height, d.kernel_width) == d.kernel_size == (3, 5)
    assert (d.input_feature_channel_count, d.output_feature_channel_count) == (4, 6)
    assert (d.stride_in_y, d.stride_in_x) == d.strides == (2, 1)
    assert (d.dilation_rate_in_y, d.dilation_rate_in_x) == d.dilation_rates == (1, 2)
    assert d.group_count == 2
    assert d.padding_policy is tg.mlcompute.PaddingPolicy.use_padding_size
    assert (d.padding_size_in_y, d.padding_size_in_x) == d.padding_sizes == (1, 3)
    assert not d.is_convolution_transpose
    assert not d.uses_depthwise_convolution
    assert copy.copy(d) == d
    plain = L.ConvolutionDescriptor(3, 4, 6)
    assert (plain.strides, plain.dilation_rates, plain.group_count) == ((1, 1),) * 2 + (
        1,
    )
    assert plain.padding_policy is tg.mlcompute.PaddingPolicy.same


@pytest.mark.parametrize("groups", [1, 2])
def test_convolution(groups: int) -> None:
    x, weights = floats(2, 4, 9, 8), floats(6, 4 // groups, 3, 5)
    biases = floats(6)
    descriptor = L.ConvolutionDescriptor(
        (3, 5),
        4,
        6,
        group_count=groups,
        strides=(2, 1),
        dilation_rates=(1, 2),
        padding_policy="use_padding_size",
        padding_sizes=(1, 3),
    )
    layer = L.Convolution(descriptor, weights=weights, biases=biases)
    assert layer.descriptor == descriptor
    expected = convolved(
        x, weights, groups, stride=(2, 1), dilation=(1, 2), padding=(1, 3)
    )
    expected += biases[:, None, None]
    np.testing.assert_allclose(value_of(layer, x), expected, **SUMMED)


@pytest.mark.parametrize(
    ("policy", "padding"),
    [("same", (1, 1)), ("valid", (0, 0)), ("use_padding_size", (2, 0))],
)
def test_padding_policies(policy: str, padding: tuple[int, int]) -> None:
    x, weights = floats(1, 2, 5, 6), floats(3, 2, 3, 3)
    sizes = padding if policy == "use_padding_size" else None
    layer = L.Convolution(
        L.ConvolutionDescriptor(3, 2, 3, padding_policy=policy, padding_sizes=sizes),
        weights=weights,
        uses_biases=False,
    )
    assert layer.descriptor.padding_policy is tg.mlcompute.PaddingPolicy[policy]
    short = L.Convolution(
        2, 3, 3, padding=sizes or policy, weights=weights, uses_biases=False
    )
    assert short.descriptor == layer.descriptor
    expected = convolved(x, weights, padding=padding)
    for face in (layer, short):
        np.testing.assert_allclose(value_of(face, x), expected, **SUMMED)


def test_transposed_convolution() -> None:
    x, weights = floats(1, 2, 3, 4), floats(3, 2, 2, 3)
    descriptor = L.ConvolutionDescriptor.transposed(
        (2, 3), 2, 3, strides=(2, 1), padding_policy="valid"
    )
    assert descriptor.is_convolution_transpose
    assert descriptor.convolution_type is tg.mlcompute.ConvolutionType.transposed
    layer = L.Convolution(descriptor, weights=weights, uses_biases=False)
    expected = np.zeros((1, 3, 6, 6))
    # Each sample scatters the kernel.
    for row in range(3):
        for column in range(4):
            patch = np.einsum("c,ochw->ohw", x[0, :, row, column], weights)
            expected[0, :, 2 * row : 2 * row + 2, column : column + 3] += patch
    np.testing.assert_allclose(value_of(layer, x), expected, **SUMMED)


def test_options_of_transposed_convolution() -> None:
    plain = L.ConvolutionDescriptor.transposed(3, 4, 6)
    assert (plain.kernel_size, plain.strides) == ((3, 3), (1, 1))
    d = L.ConvolutionDescriptor.transposed(
        (2, 3),
        4,
        6,
        group_count=2,
        strides=2,
        dilation_rates=(1, 2),
        padding_policy="use_padding_size",
        padding_sizes=(0, 1),
    )
    layer = L.Convolution(d)
    x = floats(1, 4, 5, 5)
    # (in - 1) stride + k' - 2 padding
    assert value_of(layer, x).shape == (1, 6, 4 * 2 + 2, 4 * 2 + 5 - 2)
    weights = np.zeros(layer.weights.shape, np.float32)
    np.testing.assert_array_equal(
        value_of(L.Convolution(d, weights=weights), x), np.zeros((1, 6, 10, 11))
    )


def test_depthwise_convolution() -> None:
    x, weights = floats(2, 3, 6, 7), floats(6, 1, 3, 2)
    descriptor = L.ConvolutionDescriptor.depthwise(
        (3, 2), 3, 2, strides=(1, 2), dilation_rates=(2, 1), padding_policy="valid"
    )
    assert descriptor.uses_depthwise_convolution
    assert descriptor.convolution_type is tg.mlcompute.ConvolutionType.depthwise
    assert descriptor.output_feature_channel_count == 6
    layer = L.Convolution(descriptor, weights=weights, uses_biases=False)
    expected = convolved(x, weights, groups=3, stride=(1, 2), dilation=(2, 1))
    np.testing.assert_allclose(value_of(layer, x), expected, **SUMMED)
    assert L.ConvolutionDescriptor.depthwise(3, 4).output_feature_channel_count == 4


@pytest.mark.parametrize("make", [L.Convolution, L.FullyConnected])
def test_parameters_of_weighted_layers(make: Any) -> None:
    descriptor = L.ConvolutionDescriptor(1, 4, 3)
    weights, biases = floats(1, 12, 1, 1), floats(1, 3, 1, 1)
    layer = make(descriptor, weights=weights, biases=biases)
    assert layer.descriptor == descriptor
    assert layer.weights_parameter.tensor == layer.weights
    assert layer.biases_parameter.tensor == layer.biases
    np.testing.assert_array_equal(layer.weights.numpy().ravel(), weights.ravel())
    np.testing.assert_array_equal(layer.biases.numpy().ravel(), biases.ravel())
    without = make(descriptor, weights=weights, uses_biases=False)
    assert without.biases is None
    assert without.biases_parameter is None


def test_fully_connected() -> None:
    x, weights, biases = floats(5, 4), floats(3, 4), floats(3)
    layer = L.FullyConnected(
        L.ConvolutionDescriptor(1, 4, 3), weights=weights, biases=biases
    )
    expected = x.astype(np.float64) @ weights.T + biases
    np.testing.assert_allclose(value_of(layer, x), expected, **CLOSE)


def test_pooling_descriptor() -> None:
    d = L.PoolingDescriptor(
        "average",
        (3, 5),
        strides=(2, 1),
        dilation_rates=(1, 2),
        padding_policy="use_padding_size",
        padding_sizes=(1, 2),
        count_includes_padding=True,
    )
    assert d.pooling_type is tg.mlcompute.PoolingType.average
    assert (d.kernel_height, d.kernel_width) == d.kernel_size == (3, 5)
    assert (d.stride_in_y, d.stride_in_x) == d.strides == (2, 1)
    assert (d.dilation_rate_in_y, d.dilation_rate_in_x) == d.dilation_rates == (1, 2)
    assert d.padding_policy is tg.mlcompute.PaddingPolicy.use_padding_size
    assert (d.padding_size_in_y, d.padding_size_in_x) == d.padding_sizes == (1, 2)
    assert d.count_includes_padding
    assert copy.copy(d) == d
    square = L.PoolingDescriptor("max", 2, 3)
    assert (square.kernel_size, square.strides) == ((2, 2), (3, 3))
    assert square.padding_policy is tg.mlcompute.PaddingPolicy.same
    assert not square.count_includes_padding


POOLED = {
    "max": (lambda view: view.max((4, 5)), -np.inf),
    "average": (lambda view: np.nanmean(view, (4, 5)), np.nan),
    "average, padding counted": (lambda view: view.mean((4, 5)), 0.0),
    "l2_norm": (lambda view: np.sqrt((view**2).sum((4, 5))), 0.0),
}


@pytest.mark.parametrize("dilation", [(1, 1), (2, 1)])
@pytest.mark.parametrize("name", POOLED)
def test_pooling(name: str, dilation: tuple[int, int]) -> None:
    reduce, fill = POOLED[name]
    kind, *counted = name.split(",")
    make = getattr(L.PoolingDescriptor, kind)
    options = {"count_includes_padding": True} if counted else {}
    descriptor = make((3, 2), (2, 1), dilation, "use_padding_size", (1, 1), **options)
    assert descriptor.pooling_type is tg.mlcompute.PoolingType[kind]
    x = floats(2, 3, 7, 6) * np.array([1, -1, 2, -2, 1, 3], np.float32)
    view = windows(
        x, (3, 2), stride=(2, 1), dilation=dilation, padding=(1, 1), fill=fill
    )
    layer = L.Pooling(descriptor)
    assert layer.descriptor == descriptor
    np.testing.assert_allclose(value_of(layer, x), reduce(view), **CLOSE)


def test_pooling_by_type_and_size() -> None:
    x = floats(1, 1, 6, 6)
    layer = L.Pooling(L.PoolingDescriptor("max", 2, 2))
    expected = windows(x, (2, 2), stride=(2, 2)).max((4, 5))
    np.testing.assert_allclose(value_of(layer, x), expected)
    average = L.Pooling("average", 3, 2, 1, count_includes_padding=True)
    expected = windows(x, (3, 3), stride=(2, 2), padding=(1, 1)).mean((4, 5))
    np.testing.assert_allclose(value_of(average, x), expected, **CLOSE)


# numpy.pad's mode, and the layer of the same padding
PADDINGS: dict[str, tuple[str, tg.layers.Padding]] = {
    "zero": ("constant", L.ZeroPadding((1, 2, 3, 1))),
    "constant": ("constant", L.ConstantPadding((1, 2, 3, 1), 1.5)),
    "reflect": ("reflect", L.ReflectionPadding((1, 2, 3, 1))),
    "symmetric": ("symmetric", L.SymmetricPadding((1, 2, 3, 1))),
    "replicate": ("edge", L.ReplicationPadding((1, 2, 3, 1))),
}


@pytest.mark.parametrize("name", PADDINGS)
def test_padding(name: str) -> None:
    mode, layer = PADDINGS[name]
    assert layer.padding_type is tg.mlcompute.PaddingType[name]
    assert (layer.padding_top, layer.padding_bottom) == (1, 2)
    assert (layer.padding_left, layer.padding_right) == (3, 1)
    constant = 1.5 if name == "constant" else 0
    assert layer.constant_value == constant
    x = floats(2, 2, 4, 5)
    extra = {"constant_values": constant} if mode == "constant" else {}
    expected = np.pad(x, ((0, 0), (0, 0), (1, 2), (3, 1)), mode, **extra)  # type: ignore[call-overload]
    same = L.Padding(layer.padding_type, (1, 2, 3, 1), layer.constant_value)
    np.testing.assert_array_equal(value_of(same, x), expected)
