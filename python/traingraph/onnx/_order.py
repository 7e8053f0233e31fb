# SPDX-License-Identifier: MIT
"""What is chosen by the order of elements, or by their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._layout import part_of
from ._node import Node, maps
from ._problems import Unmappable
from ._read import DATA_TYPES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Tensor
    from .._core import ComparisonOperationName

MOST_RANKED = 1024
"""Elements that are ranked: each one is compared with all."""


def places(node: Node, size: int, axis: int, rank: int, kind: str) -> Tensor:
    """0, 1, 2 ... along an axis of a tensor of `rank`."""
    shape = [1] * rank
    shape[axis] = size
    return node.known(np.arange(size, dtype=kind).reshape(shape), "places")


@maps("TopK", attributes="axis largest sorted k", host=(1,))
def top_k(node: Node) -> Sequence[Tensor]:
    """The place of an element in the order is how many come before it: those that
    are larger, and equal ones that are nearer to the beginning."""
    x = node.tensor()
    rank = len(x.shape)
    axis = node.axis(node.attribute("axis", -1), rank)
    size = x.shape[axis]
    count = int(np.asarray(node.constant_or(1, node.attribute("k", 0))).item())
    if not 1 <= count <= size:
        raise Unmappable(f"it takes {count} of {size} elements")
    if size > MOST_RANKED:
        raise Unmappable(
            f"it ranks {size} elements, each against all; {MOST_RANKED} are the most"
        )
    ops = node.graph.ops
    is_first: ComparisonOperationName = (
        "greater" if node.attribute("largest", 1) else "less"
    )
    row = (*x.shape[:axis], 1, size, *x.shape[axis + 1 :])
    column = (*x.shape[:axis], size, 1, *x.shape[axis + 1 :])
    others, own = ops.reshape(x, shape=row), ops.reshape(x, shape=column)
    is_before = node.known(np.tri(size, k=-1, dtype=bool), "before")
    tail = (1,) * (rank - 1 - axis)
    is_before = ops.reshape(is_before, shape=(size, size, *tail))
    is_tie = node.compared(
        "logical_and", ops.compare(others, own, operation="equal"), is_before
    )
    comes_first = ops.compare(others, own, operation=is_first)
    comes_first = node.compared("logical_or", comes_first, is_tie)
    number = ops.cast(comes_first, data_type="int32")
    position = ops.reshape(
        ops.reduce(number, type="sum", axes=(axis + 1,)), shape=x.shape
    )
    own_place = ops.broadcast_to(places(node, size, axis, rank, "int64"), shape=x.shape)
    zeros = ops.fill(shape=x.shape, value=0, data_type="int64")
    order = ops.scatter(own_place, position, zeros, axis=axis)
    chosen = order if count == size else part_of(node, order, axis, 0, count)
    return [ops.gather(x, chosen, axis=axis), chosen]


@maps("Hardmax", attributes="axis")
def hardmax(node: Node) -> Tensor:
    """1 at the first of the largest elements."""
    x = node.tensor()
    rank = len(x.shape)
    axis = node.axis(node.attribute("axis", -1 if node.opset >= 13 else 1), rank)
    if node.opset < 13 and axis != rank - 1:
        raise Unmappable("before opset 13 all axes behind are one")
    winner = node.graph.ops.reduce(x, type="arg_max", axes=(axis,))
    at = places(node, x.shape[axis], axis, rank, "int32")
    is_winner = node.compared("equal", winner, at)
    return node.graph.ops.cast(is_winner, data_type=x.data_type)


MOST_CLASSES = 1 << 24
"""Of a one-hot vector: their numbers are a constant of the graph."""


@maps("OneHot", attributes="axis", host=(1,))
def one_hot(node: Node) -> Tensor:
    indices, values = node.tensor(0), node.tensor(2)
    shape = node.shape(0)
    depth = int(np.asarray(node.constant(1)).item())
    axis = node.axis(node.attribute("axis", -1), len(shape) + 1)
    if not 1 <= depth <= MOST_CLASSES or values.shape != (2,):
        raise Unmappable(f"its depth is {depth}, its values are {values.shape}")
    apart = node.reshaped(indices, (*shape[:axis], 1, *shape[axis:]))
    kind = apart.data_type.name
    from_end = node.binary("add", apart, node.number(depth, apart))
    apart = node.graph.ops.select(node.compared("less", apart, 0), from_end, apart)
    at = places(node, depth, axis, len(shape) + 1, kind)
    off, on = (part_of(node, values, 0, k, k + 1) for k in (0, 1))
    return node.graph.ops.select(node.compared("equal", apart, at), on, off)


@maps("Trilu", attributes="upper", host=(1,))
def triangle(node: Node) -> Tensor:
    x = node.tensor()
    if len(x.shape) < 2:
        raise Unmappable(f"its source has rows and columns; this is {x.shape}")
    k = int(np.asarray(node.constant_or(1, 0)).item())
    ones = np.ones(x.shape[-2:], bool)
    keeps = np.triu(ones, k) if node.attribute("upper", 1) else np.tril(ones, k)
    mask = node.known(keeps, "triangle")
    return node.graph.ops.select(mask, x, node.number(0, x))


@maps("EyeLike", attributes="dtype k")
def eye_like(node: Node) -> Tensor:
    shape = node.shape()
    kind = DATA_TYPES.get(int(node.attribute("dtype", 0)), node.tensor().data_type.name)
    if len(shape) != 2 or kind not in ("float32", "int32", "int64", "boolean"):
        raise Unmappable(f"it is of {kind} in the shape {shape}")
    ones = np.eye(*shape, node.attribute("k", 0), dtype=bool)
    return node.graph.ops.cast(node.known(ones, "diagonal"), data_type=kind)
