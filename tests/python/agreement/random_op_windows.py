# SPDX-License-Identifier: MIT
"""Rows of `random_op_rows` over images and sequences: convolutions, pooling,
padding and resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.nn import functional as F

import traingraph as tg

from .random_ops import Row

if TYPE_CHECKING:
    import torch

    from .random_graph import RandomGraph
    from .random_ops import Results

Layers = tg.layers
ALL = ("float32", "mixed_bfloat16", "mixed_float16")


def image(
    net: RandomGraph, channels: int | None = None, least: int = 1
) -> tuple[tg.Tensor, torch.Tensor]:
    if channels is None:
        channels = net.choose.choice((1, 3, 16, 17))
    sizes = [net.choose.choice((1, 2, 5, 9, 14)) + least - 1 for _ in range(2)]
    return net.input((net.choose.choice((1, 2, 5)), channels, *sizes))


def pair(net: RandomGraph, low: int, high: int) -> tuple[int, int]:
    return net.choose.randint(low, high), net.choose.randint(low, high)


def strides(net: RandomGraph) -> tuple[int, int]:
    return pair(net, 1, 3) if net.choose.random() < 0.5 else (1, 1)


def convolution(net: RandomGraph) -> Results:
    """Standard, transposed and depthwise; kernels may be larger than the image."""
    kind = net.choose.choice(("standard", "standard", "transposed", "depthwise"))
    groups = net.choose.choice((1, 1, 2, 4))
    inputs = groups * net.choose.choice((1, 3, 8, 17))
    outputs = groups * net.choose.choice((1, 4, 16))
    if kind == "depthwise":
        groups, outputs = inputs, inputs * net.choose.randint(1, 2)
    kernel, padding = pair(net, 1, 4), pair(net, 0, 2)
    dilation = pair(net, 1, 2) if net.choose.random() < 0.4 else (1, 1)
    stride = strides(net)
    x, there = image(net, inputs)
    sizes = [
        (n - 1) * s + d * (k - 1) + 1 - 2 * p
        if kind == "transposed"
        else (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, p, d, s in zip(
            x.shape[2:], kernel, padding, dilation, stride, strict=True
        )
    ]
    if min(sizes) < 1:  # no window
        padding, stride = (4, 4) if kind != "transposed" else (0, 0), (1, 1)
    weights = net.random(outputs, inputs // groups, *kernel)
    weights /= (inputs // groups * kernel[0] * kernel[1]) ** 0.5
    layer = Layers.Convolution(
        inputs,
        outputs,
        kernel,
        convolution_type=kind,
        group_count=1 if kind == "depthwise" else groups,
        strides=stride,
        dilation_rates=dilation,
        padding=padding,
        weights=weights.astype("float32"),
        uses_biases=(biased := net.choose.random() < 0.7),
        biases=net.random(outputs) if biased else None,
    )
    w = net.twin(layer.weights)
    b = None if layer.biases is None else net.twin(layer.biases)
    if kind == "transposed":
        w = w.unflatten(0, (groups, -1)).transpose(1, 2).flatten(0, 1)
        result = F.conv_transpose2d(there, w, b, stride, padding, 0, groups, dilation)
    else:
        result = F.conv2d(there, w, b, stride, padding, dilation, groups)
    return [(net.graph.node(layer, x), result)]


def pooling(kind: str) -> Any:
    def build(net: RandomGraph) -> Results:
        kernel, stride = pair(net, 1, 3), strides(net)
        padding = tuple(net.choose.randint(0, k // 2) for k in kernel)
        includes = net.choose.random() < 0.5
        x, there = image(net, least=3)
        layer: Any
        if kind == "max":
            layer = Layers.MaxPooling(kernel, stride, padding)
            result = F.max_pool2d(there, kernel, stride, padding)
        elif kind == "average":
            layer = Layers.AveragePooling(kernel, stride, padding, includes)
            result = F.avg_pool2d(there, kernel, stride, padding, False, includes)
        else:
            layer = Layers.L2NormPooling(kernel, stride)
            result = F.lp_pool2d(there, 2.0, kernel, stride)
        return [(net.graph.node(layer, x), result)]

    return build


def padding(net: RandomGraph) -> Results:
    kind = net.choose.choice(("zero", "constant", "reflect", "replicate"))
    left, right, top, bottom = (net.choose.randint(0, 2) for _ in range(4))
    x, there = image(net, least=3)
    value = 0.7 if kind == "constant" else 0.0
    mode = kind if kind in ("reflect", "replicate") else "constant"
    result = net.graph.ops.pad(
        x,
        type=kind,
        before=(0, 0, top, left),
        after=(0, 0, bottom, right),
        value=value,
    )
    return [(result, F.pad(there, (left, right, top, bottom), mode, value))]


def upsample(net: RandomGraph) -> Results:
    x, there = image(net)
    size = pair(net, 1, 20)
    if net.choose.random() < 0.5:
        layer = Layers.Upsample(size)
        result = F.interpolate(there, size, mode="nearest-exact")
    else:
        aligned = net.choose.random() < 0.5
        layer = Layers.Upsample(size, "linear", aligned)
        result = F.interpolate(there, size, mode="bilinear", align_corners=aligned)
    return [(net.graph.node(layer, x), result)]


ROWS: dict[str, Row] = {
    "convolution": Row(convolution, ALL),
    **{f"{k} pooling": Row(pooling(k)) for k in ("max", "average", "l2 norm")},
    "padding": Row(padding),
    "upsample": Row(upsample),
}
