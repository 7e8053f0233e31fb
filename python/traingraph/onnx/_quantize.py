# SPDX-License-Identifier: MIT
"""Quantization, as training sees it: what is stored in few bits are whole numbers in
float32 here, rounded as ONNX does, and gradients pass as if nothing was rounded, but
not where a number was limited (straight-through)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import helper

from ._node import Node, is_float, maps
from ._problems import Unmappable
from ._read import TYPE_NUMBERS, type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Tensor

LIMITS = {
    2: (0.0, 255.0),
    3: (-128.0, 127.0),
    4: (0.0, 65535.0),
    5: (-32768.0, 32767.0),
    21: (0.0, 15.0),
    22: (-8.0, 7.0),
}
"""By ONNX's number of the type."""


def along_axis(node: Node, index: int, x: Tensor) -> Tensor:
    """A scale or zero point, one for each entry of an axis, or one for all."""
    values = node.tensor(index)
    if not is_float(values):
        values = node.graph.ops.cast(values, data_type="float32")
    if values.shape == (1,):
        return values
    if node.attribute("block_size", 0) or len(values.shape) != 1:
        raise Unmappable("there is a scale for all, or for each entry of an axis")
    rank = len(x.shape)
    axis = node.axis(node.attribute("axis", 1), rank)
    if values.shape[0] != x.shape[axis]:
        raise Unmappable(
            f"it has {values.shape[0]} scales for an axis of {x.shape[axis]}"
        )
    return node.reshaped(values, [-1 if k == axis else 1 for k in range(rank)])


def limits(node: Node) -> tuple[float, float]:
    number = int(node.attribute("output_dtype", 0)) or 2
    if node.has(2) and node.names[2] in node.model.values:
        array = node.model.values[node.names[2]]
        number = int(helper.np_dtype_to_tensor_dtype(array.dtype))
    elif node.has(2):
        number = TYPE_NUMBERS[node.tensor(2).data_type.name]
    if number not in LIMITS:
        raise Unmappable(f"there is no {type_name(number)}")
    return LIMITS[number]


def rounded(node: Node, x: Tensor) -> Tensor:
    """With a slope of 1."""
    error = node.binary("subtract", node.unary("round", x), x)
    return node.binary("add", x, node.graph.ops.stop_gradient(error))


@maps("QuantizeLinear", attributes="axis block_size output_dtype precision saturate")
def quantize(node: Node) -> Tensor:
    x = node.tensor()
    lowest, highest = limits(node)
    scaled = node.binary("divide", x, along_axis(node, 1, x))
    y = rounded(node, scaled)
    if node.has(2):
        y = node.binary("add", y, along_axis(node, 2, x))
    return node.activation(y, "clamp", lowest, highest)


@maps("DequantizeLinear", attributes="axis block_size output_dtype")
def dequantize(node: Node) -> Tensor:
    x = node.tensor()
    if not is_float(x):
        x = node.graph.ops.cast(x, data_type="float32")
    if node.has(2):
        x = node.binary("subtract", x, along_axis(node, 2, x))
    return node.binary("multiply", x, along_axis(node, 1, x))


@maps("DynamicQuantizeLinear")
def dynamic_quantize(node: Node) -> Sequence[Tensor]:
    """Scales from 0 and all elements to 0 to 255."""
    x, ops = node.tensor(), node.graph.ops
    low = ops.reshape(ops.reduce(x, type="min"), shape=(1,))
    high = ops.reshape(ops.reduce(x, type="max"), shape=(1,))
    low = node.binary("min", low, node.number(0, x))
    high = node.binary("max", high, node.number(0, x))
    low, high = ops.stop_gradient(low), ops.stop_gradient(high)
    scale = node.scaled(node.binary("subtract", high, low), 1 / 255)
    zero = node.unary(
        "round", node.binary("divide_no_nan", node.scaled(low, -1.0), scale)
    )
    zero = node.activation(zero, "clamp", 0.0, 255.0)
    y = rounded(node, node.binary("divide_no_nan", x, scale))
    y = node.activation(node.binary("add", y, zero), "clamp", 0.0, 255.0)
    for scalar in (scale, zero):
        node.model.scalars.add(scalar.tensor_id)
    return [y, scale, zero]
