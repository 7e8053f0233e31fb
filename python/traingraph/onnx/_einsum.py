# SPDX-License-Identifier: MIT
"""Einsum of one or two tensors, as transpositions and one product."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from .. import Tensor


def terms(node: Node) -> tuple[list[str], str]:
    equation = str(node.required("equation")).replace(" ", "")
    sources, arrow, result = equation.partition("->")
    operands = sources.split(",")
    plain = arrow and all(len(set(t)) == len(t) for t in [*operands, result])
    if not plain or "." in equation or len(operands) > 2:
        raise Unmappable(f"its equation is {equation}")
    return operands, result


def ordered(node: Node, x: Tensor, labels: str, wanted: str) -> Tensor:
    order = [labels.index(label) for label in wanted]
    return x if order == sorted(order) else node.graph.ops.transpose(x, axes=order)


def stretched(node: Node, x: Tensor, labels: str, sizes: dict[str, int]) -> Tensor:
    """An axis of size 1 counts as often as the other operand's is long."""
    shape = tuple(sizes[label] for label in labels)
    if x.shape == shape:
        return x
    return node.graph.ops.broadcast_to(x, shape=shape, name=node.name)


@maps("Einsum", attributes="equation")
def einsum(node: Node) -> Tensor:
    """Multiplies two tensors. "bhqd,bhkd->bhqk" has leading bh, rows q, columns k, inner d."""
    operands, result = terms(node)
    x = node.tensor(0)
    if len(operands) == 1:
        (labels,) = operands
        if set(labels) != set(result):
            raise Unmappable(f"its equation is {labels}->{result}")
        return node.reshaped(ordered(node, x, labels, result), _sizes(node, result))
    left, right = operands
    y = node.tensor(1)
    leading = "".join(c for c in result if c in left and c in right)
    rows = "".join(c for c in result if c in left and c not in right)
    columns = "".join(c for c in result if c in right and c not in left)
    inner = "".join(c for c in left if c in right and c not in result)
    if {*left, *right} != {*leading, *rows, *columns, *inner}:
        raise Unmappable(f"its equation is {left},{right}->{result}")
    sizes = dict(zip(left, x.shape, strict=True))
    for label, size in zip(right, y.shape, strict=True):
        sizes[label] = max(size, sizes.get(label, 1))
    x, y = stretched(node, x, left, sizes), stretched(node, y, right, sizes)

    def joined(tensor: Tensor, labels: str, *groups: str) -> Tensor:
        turned = ordered(node, tensor, labels, leading + "".join(groups))
        lengths = [prod(sizes[c] for c in group) for group in groups]
        return node.reshaped(turned, [*(sizes[c] for c in leading), *lengths])

    z = node.graph.ops.matmul(
        joined(x, left, rows, inner), joined(y, right, inner, columns), name=node.name
    )
    z = node.reshaped(z, [sizes[c] for c in leading + rows + columns])
    return ordered(node, z, leading + rows + columns, result)


def _sizes(node: Node, result: str) -> list[int]:
    (labels,), _ = terms(node)
    sizes = dict(zip(labels, node.shape(0), strict=True))
    return [sizes[label] for label in result]
