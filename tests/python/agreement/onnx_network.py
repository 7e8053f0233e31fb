# SPDX-License-Identifier: MIT
"""ONNX's network layers: products, convolution, pooling, norms and losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import traingraph as tg

from .onnx_import import Node, maps

if TYPE_CHECKING:
    from collections.abc import Sequence


@maps("MatMul")
def matmul(node: Node) -> tg.Tensor:
    x, y = node.tensors()
    # NumPy's rule for vectors: a row on the left, a column on the right.
    is_row, is_column = len(x.shape) == 1, len(y.shape) == 1
    if is_row:
        x = node.reshaped(x, (1, *x.shape))
    if is_column:
        y = node.reshaped(y, (*y.shape, 1))
    z = node.graph.matmul(x, y)
    if not is_row and not is_column:
        return z
    sizes = list(z.shape[:-2])
    sizes += [] if is_row else [z.shape[-2]]
    sizes += [] if is_column else [z.shape[-1]]
    return node.reshaped(z, sizes)


@maps("Gemm")
def gemm(node: Node) -> tg.Tensor:
    options = {
        "alpha": node.attribute("alpha", 1.0),
        "transposes_x": bool(node.attribute("transA", 0)),
        "transposes_y": bool(node.attribute("transB", 0)),
    }
    x, y = node.tensor(0), node.tensor(1)
    if not node.has(2):
        return node.graph.matmul(x, y, **options)
    c, beta = node.tensor(2), node.attribute("beta", 1.0)
    columns = y.shape[0 if options["transposes_y"] else 1]
    if beta == 1 and c.shape == (1, columns):
        return node.graph.matmul(x, y, node.reshaped(c, (columns,)), **options)
    return node.binary("add", node.graph.matmul(x, y, **options), node.scaled(c, beta))


class Window:
    """Sizes of a convolution or pooling window over the trailing axes."""

    def __init__(self, node: Node, kernel: Sequence[int]) -> None:
        ones = [1] * len(kernel)
        self.kernel = list(node.attribute("kernel_shape", kernel))
        self.strides = list(node.attribute("strides", ones))
        self.dilations = list(node.attribute("dilations", ones))
        self.pads = list(node.attribute("pads", [0] * (2 * len(ones))))
        self.extents = [
            (k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)
        ]

    def halve(self, totals: Sequence[int], *, is_lower: bool) -> None:
        """Splits paddings in two; an odd one is larger before or after."""
        small = [max(total, 0) // 2 for total in totals]
        large = [max(total, 0) - s for total, s in zip(totals, small, strict=True)]
        self.pads = large + small if is_lower else small + large

    def arguments(self) -> dict[str, Any]:
        """As traingraph's ops take them: two axes, (top, bottom, left, right)."""
        missing = 2 - len(self.kernel)
        half = len(self.pads) // 2
        before = [0] * missing + self.pads[:half]
        after = [0] * missing + self.pads[half:]
        return {
            "strides": [1] * missing + self.strides,
            "dilation_rates": [1] * missing + self.dilations,
            "padding": (before[0], after[0], before[1], after[1]),
        }

    def kernel_sizes(self) -> list[int]:
        return [1] * (2 - len(self.kernel)) + self.kernel


def pad_automatically(node: Node, window: Window, sizes: Sequence[int]) -> None:
    mode = node.attribute("auto_pad", "NOTSET")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        return
    totals = [
        (-(-size // stride) - 1) * stride + extent - size
        for size, stride, extent in zip(
            sizes, window.strides, window.extents, strict=True
        )
    ]
    window.halve(totals, is_lower=mode == "SAME_LOWER")


def image(node: Node, x: tg.Tensor) -> tg.Tensor:
    """(N, C, W) as (N, C, 1, W)."""
    if len(x.shape) != 3:
        return x
    return node.reshaped(x, (*x.shape[:2], 1, x.shape[2]))


def as_source(node: Node, y: tg.Tensor, x: tg.Tensor) -> tg.Tensor:
    """Drops the axis that image() added to `x`."""
    if len(x.shape) != 3:
        return y
    return node.reshaped(y, (*y.shape[:2], y.shape[3]))


@maps("Conv")
def conv(node: Node) -> tg.Tensor:
    x, weights = node.tensor(0), node.tensor(1)
    window = Window(node, weights.shape[2:])
    pad_automatically(node, window, x.shape[2:])
    y = node.graph.convolution_2d(
        image(node, x),
        image(node, weights),
        node.tensor(2) if node.has(2) else None,
        groups=node.attribute("group", 1),
        **window.arguments(),
    )
    return as_source(node, y, x)


@maps("ConvTranspose")
def conv_transpose(node: Node) -> tg.Tensor:
    # The input gradient of a convolution whose weights (out, in / groups, ...)
    # are ONNX's (in, out / groups, ...).
    x, weights = node.tensor(0), node.tensor(1)
    groups = node.attribute("group", 1)
    window = Window(node, weights.shape[2:])
    mode = node.attribute("auto_pad", "NOTSET")
    full = [
        stride * (size - 1) + extent + extra
        for stride, size, extent, extra in zip(
            window.strides,
            x.shape[2:],
            window.extents,
            node.attribute("output_padding", [0] * len(window.kernel)),
            strict=True,
        )
    ]
    sizes = node.attribute("output_shape")
    if sizes is None and mode.startswith("SAME"):
        sizes = [n * s for n, s in zip(x.shape[2:], window.strides, strict=True)]
    if sizes is not None:
        totals = [f - size for f, size in zip(full, sizes, strict=True)]
        window.halve(totals, is_lower=mode != "SAME_UPPER")
    else:
        half = len(full)
        sizes = [f - window.pads[i] - window.pads[i + half] for i, f in enumerate(full)]
    y = node.graph.convolution_2d_input_gradient(
        image(node, x),
        image(node, weights),
        shape=(
            x.shape[0],
            weights.shape[1] * groups,
            *([1] * (2 - len(sizes))),
            *sizes,
        ),
        groups=groups,
        **window.arguments(),
    )
    return as_source(node, y, x)


@maps("MaxPool", "AveragePool")
def pool(node: Node) -> Sequence[tg.Tensor | None]:
    x = node.tensor()
    window = Window(node, node.attribute("kernel_shape"))
    pad_automatically(node, window, x.shape[2:])
    if node.attribute("ceil_mode", 0):
        return [ceil_pool(node, window), None]
    arguments = {"kernel_sizes": window.kernel_sizes(), **window.arguments()}
    if node.op_type == "AveragePool":
        y = node.graph.average_pool_2d(
            image(node, x),
            count_includes_padding=bool(node.attribute("count_include_pad", 0)),
            **arguments,
        )
    else:
        # The state is the device's own; ONNX's indices have no counterpart.
        y, _ = node.graph.max_pool_2d(image(node, x), **arguments)
    return [as_source(node, y, x), None]


def ceil_pool(node: Node, window: Window) -> tg.Tensor:
    """By the layer, which has one padding for both sides of an axis."""
    half = len(window.pads) // 2
    assert window.pads[:half] == window.pads[half:]
    layer = tg.layers.Pooling(
        "average" if node.op_type == "AveragePool" else "max",
        window.kernel_sizes(),
        window.strides,
        window.pads[:half],
        dilation_rates=window.dilations,
        count_includes_padding=bool(node.attribute("count_include_pad", 0)),
        ceil_mode=True,
    )
    return node.layer(layer, node.tensor())


@maps("Resize")
def resize(node: Node) -> tg.Tensor:
    x = node.tensor()
    axes = list(node.attribute("axes", range(len(x.shape))))
    scales = node.constant_or(2, ())
    sizes = [int(n) for n in node.constant_or(3, ())] or [
        int(x.shape[axis] * scale) for axis, scale in zip(axes, scales, strict=True)
    ]
    shape = list(x.shape)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size
    aligned = node.attribute("coordinate_transformation_mode") == "align_corners"
    mode = node.attribute("mode", "nearest")
    layer = tg.layers.Upsample(shape[2:], mode, aligned)
    return node.layer(layer, x)


@maps("Upsample")
def upsample(node: Node) -> tg.Tensor:
    x = node.tensor()
    sizes = [int(n * s) for n, s in zip(x.shape, node.constant(1), strict=True)]
    return node.layer(tg.layers.Upsample(sizes[2:]), x)


@maps("LpPool")
def lp_pool(node: Node) -> tg.Tensor:
    kernel = node.attribute("kernel_shape")
    window = Window(node, kernel)
    assert node.attribute("p", 2) == 2
    is_same = node.attribute("auto_pad", "NOTSET").startswith("SAME")
    layer = tg.layers.Pooling(
        "l2_norm",
        kernel,
        window.strides,
        "same" if is_same else "valid",
        dilation_rates=window.dilations,
    )
    return node.layer(layer, node.tensor())


@maps("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node) -> tg.Tensor:
    kind = "mean" if node.op_type == "GlobalAveragePool" else "max"
    axes = range(2, len(node.tensor().shape))
    return node.layer(tg.layers.Reduction(kind, tuple(axes)), node.tensor())


@maps("BatchNormalization")
def batch_normalization(node: Node) -> tg.Tensor:
    x = node.tensor()
    layer = tg.layers.BatchNormalization(
        x.shape[1],
        mean=node.constant(3),
        variance=node.constant(4),
        gamma=node.constant(1),
        beta=node.constant(2),
        variance_epsilon=node.attribute("epsilon", 1e-5),
    )
    return node.layer(layer, x)


@maps("InstanceNormalization", "GroupNormalization")
def group_normalization(node: Node) -> tg.Tensor:
    x = node.tensor()
    options = {
        "gamma": node.constant(1),
        "beta": node.constant(2),
        "variance_epsilon": node.attribute("epsilon", 1e-5),
    }
    if node.op_type == "InstanceNormalization":
        return node.layer(tg.layers.InstanceNormalization(x.shape[1], **options), x)
    groups = node.attribute("num_groups")
    return node.layer(tg.layers.GroupNormalization(x.shape[1], groups, **options), x)


@maps("LayerNormalization")
def layer_normalization(node: Node) -> list[tg.Tensor]:
    x = node.tensor()
    axis = node.attribute("axis", -1) % len(x.shape)
    epsilon = node.attribute("epsilon", 1e-5)
    layer = tg.layers.LayerNormalization(
        x.shape[axis:],
        gamma=node.constant(1),
        beta=node.constant(2),
        variance_epsilon=epsilon,
    )
    _, mean, variance = node.graph.sample_norm(x, axis=axis)
    shifted = node.graph.activation(variance, type="linear", a=1.0, b=epsilon)
    inverse = node.graph.unary(shifted, operation="rsqrt")
    return [node.layer(layer, x), mean, inverse]


@maps("Softmax", "LogSoftmax")
def softmax(node: Node) -> tg.Tensor:
    operation = "softmax" if node.op_type == "Softmax" else "log_softmax"
    x = node.tensor()
    axis = node.attribute("axis", -1) % len(x.shape)
    return node.layer(tg.layers.Softmax(operation, axis), x)


@maps("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss")
def cross_entropy(node: Node) -> tg.Tensor | list[tg.Tensor]:
    x = node.tensor()
    kind, prediction = "softmax_cross_entropy", x
    if node.op_type == "NegativeLogLikelihoodLoss":
        # The input holds logarithms; this loss takes what they are of.
        kind = "categorical_cross_entropy"
        prediction = node.graph.unary(x, operation="exp")
    loss = node.graph.loss(
        prediction,
        node.tensor(1),
        class_weights=node.tensor(2) if node.has(2) else None,
        type=kind,
        reduction=node.attribute("reduction", "mean"),
        ignore_index=node.attribute("ignore_index", -100),
    )
    if node.num_results == 1:
        return loss
    return [loss, node.graph.softmax(x, operation="log_softmax", axis=1)]
