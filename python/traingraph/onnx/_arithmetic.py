# SPDX-License-Identifier: MIT
"""Arithmetic that integers have in their own way, and what is no number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._node import Node, is_float, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from .. import Tensor


@maps("Neg")
def negate(node: Node) -> Tensor:
    return negative(node, node.tensor())


def negative(node: Node, x: Tensor) -> Tensor:
    if is_float(x):
        return node.scaled(x, -1.0)
    return node.binary("subtract", node.number(0, x), x)


@maps("Abs")
def absolute(node: Node) -> Tensor:
    x = node.tensor()
    if is_float(x):
        return node.activation(x, "absolute")
    return node.binary("max", x, negative(node, x))


@maps("Sign")
def sign(node: Node) -> Tensor:
    x = node.tensor()
    above, below = (
        node.graph.ops.cast(node.compared(operation, x, 0), data_type=x.data_type)
        for operation in ("greater", "less")
    )
    return node.binary("subtract", above, below)


@maps("Mod", attributes="fmod")
def modulo(node: Node) -> Tensor:
    """Has the sign of y, or that of x with `fmod`."""
    x, y = node.tensors()
    is_of_x = bool(node.attribute("fmod", 0))
    quotient = node.binary("divide", x, y)
    if is_float(x):
        quotient = (
            truncated(node, quotient) if is_of_x else node.unary("floor", quotient)
        )
    product = node.binary("multiply_no_nan" if is_float(x) else "multiply", y, quotient)
    rest = node.binary("subtract", x, product)
    if is_of_x or is_float(x):
        return rest
    turns = node.graph.ops.compare(
        node.compared("less", rest, 0),
        node.compared("less", y, 0),
        operation="logical_xor",
    )
    turns = node.compared("logical_and", turns, node.compared("not_equal", rest, 0))
    return node.graph.ops.select(turns, node.binary("add", rest, y), rest)


def truncated(node: Node, x: Tensor) -> Tensor:
    return node.graph.ops.select(
        node.compared("less", x, 0), node.unary("ceil", x), node.unary("floor", x)
    )


MOST_FACTORS = 16
"""Of a power of integers."""


@maps("Pow")
def power(node: Node) -> Tensor:
    x, y = node.tensors()
    if is_float(x):
        exponent = y if is_float(y) else node.graph.ops.cast(y, data_type="float32")
        return node.binary("pow", x, exponent)
    exponents = node.constant(1) if node.is_constant(1) else np.empty(0)
    if exponents.size != 1 or exponents.item() not in range(1, MOST_FACTORS + 1):
        raise Unmappable(
            f"of integers the exponent is known, one number of 1 to {MOST_FACTORS}"
        )
    product = x
    for _ in range(int(exponents.item()) - 1):
        product = node.binary("multiply", product, x)
    return product if product is not x else node.reshaped(x, node.shape())


@maps("IsNaN")
def is_nan(node: Node) -> Tensor:
    x = node.tensor()
    return node.graph.ops.compare(x, x, operation="not_equal")


@maps("IsInf", attributes="detect_negative detect_positive")
def is_infinite(node: Node) -> Tensor:
    """Is it beyond all finite floats, above or below?"""
    x, most = node.tensor(), float(np.finfo(np.float32).max)
    above = node.compared("greater", x, most)
    below = node.compared("less", x, -most)
    if not node.attribute("detect_negative", 1):
        return above
    if not node.attribute("detect_positive", 1):
        return below
    return node.compared("logical_or", above, below)
