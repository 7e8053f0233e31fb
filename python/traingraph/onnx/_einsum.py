# SPDX-License-Identifier: MIT
"""Einsum: operands are multiplied one after the other, each time as transpositions and
one product; what is left over is summed."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from .. import Tensor

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def terms(node: Node) -> tuple[list[str], str]:
    """Labels of the operands and of the result; "..." gets letters of its own."""
    equation = str(node.required("equation")).replace(" ", "")
    sources, arrow, result = equation.partition("->")
    operands = sources.split(",")
    ranks = [len(node.shape(k)) for k in range(len(node.names))]
    plain = equation.replace("...", "").replace("->", "").replace(",", "")
    if len(operands) != len(ranks) or not set(plain) <= set(LETTERS):
        raise Unmappable(f"its equation is {equation}")
    free = "".join(c for c in LETTERS if c not in equation)
    most = 0
    for k, (labels, rank) in enumerate(zip(operands, ranks, strict=True)):
        extra = rank - len(labels.replace("...", ""))
        if extra < 0 or (extra > 0 and "..." not in labels) or extra > len(free):
            raise Unmappable(
                f"its equation is {equation}, its operand {k} has {rank} axes"
            )
        most = max(most, extra)
        operands[k] = labels.replace("...", free[len(free) - extra :])
    ellipsis = free[len(free) - most :]
    if arrow:
        return operands, result.replace("...", ellipsis)
    every = "".join(operands)
    once = sorted(c for c in set(every) if every.count(c) == 1 and c not in ellipsis)
    return operands, ellipsis + "".join(once)


class Labelled:
    """A tensor with a label for each of its axes."""

    def __init__(self, node: Node, x: Tensor, labels: str) -> None:
        self.node, self.x, self.labels = node, x, labels

    def diagonal(self) -> Labelled:
        """Where a label is there twice, elements of equal positions alone."""
        x, labels = self.x, self.labels
        for label in sorted(set(labels)):
            while labels.count(label) > 1:
                first = labels.index(label)
                second = labels.index(label, first + 1)
                size = x.shape[first]
                if x.shape[second] != size:
                    raise Unmappable(f"axes {label} have the sizes {x.shape}")
                shape = [
                    size if k in (first, second) else 1 for k in range(len(labels))
                ]
                eye = self.node.known(
                    np.eye(size, dtype=bool).reshape(shape), "diagonal"
                )
                zero = self.node.number(0, x)
                x = self.node.graph.ops.select(eye, x, zero)
                x = self.node.graph.ops.reduce(x, type="sum", axes=(second,))
                x = self.node.reshaped(x, [*x.shape[:second], *x.shape[second + 1 :]])
                labels = labels[:second] + labels[second + 1 :]
        return Labelled(self.node, x, labels)

    def summed(self, kept: set[str]) -> Labelled:
        axes = [k for k, label in enumerate(self.labels) if label not in kept]
        if not axes:
            return self
        total = self.node.graph.ops.reduce(self.x, type="sum", axes=axes)
        labels = "".join(label for label in self.labels if label in kept)
        shape = [n for k, n in enumerate(self.x.shape) if k not in axes]
        return Labelled(self.node, self.node.reshaped(total, shape), labels)

    def ordered(self, wanted: str) -> Tensor:
        order = [self.labels.index(label) for label in wanted]
        if order == sorted(order):
            return self.x
        return self.node.graph.ops.transpose(self.x, axes=order)

    def stretched(self, sizes: dict[str, int]) -> Labelled:
        """An axis of size 1 counts as often as the other operand's is long."""
        shape = tuple(sizes[label] for label in self.labels)
        if not shape or self.x.shape == shape:
            return self
        x = self.node.graph.ops.broadcast_to(self.x, shape=shape)
        return Labelled(self.node, x, self.labels)

    def joined(self, sizes: dict[str, int], leading: str, *groups: str) -> Tensor:
        """(leading ..., group, group): each group is one axis."""
        turned = self.ordered(leading + "".join(groups))
        lengths = [prod(sizes[c] for c in group) for group in groups]
        return self.node.reshaped(turned, [*(sizes[c] for c in leading), *lengths])


def multiplied(node: Node, x: Labelled, y: Labelled, needed: set[str]) -> Labelled:
    """ "bhqd,bhkd->bhqk" has leading bh, rows q, columns k, inner d."""
    x, y = x.summed(needed | set(y.labels)), y.summed(needed | set(x.labels))
    both = [c for c in x.labels if c in y.labels]
    leading = "".join(c for c in both if c in needed)
    inner = "".join(c for c in both if c not in needed)
    rows = "".join(c for c in x.labels if c not in both)
    columns = "".join(c for c in y.labels if c not in both)
    sizes = dict(zip(x.labels, x.x.shape, strict=False))
    for label, size in zip(y.labels, y.x.shape, strict=False):
        sizes[label] = max(size, sizes.get(label, 1))
    x, y = x.stretched(sizes), y.stretched(sizes)
    z = node.graph.ops.matmul(
        x.joined(sizes, leading, rows, inner), y.joined(sizes, leading, inner, columns)
    )
    labels = leading + rows + columns
    return Labelled(node, node.reshaped(z, [sizes[c] for c in labels]), labels)


@maps("Einsum", attributes="equation")
def einsum(node: Node) -> Tensor:
    operands, result = terms(node)
    if len(set(result)) != len(result) or not set(result) <= set("".join(operands)):
        raise Unmappable(f"its result {result} is none of {', '.join(operands)}")
    parts = [
        Labelled(node, x, labels).diagonal()
        for x, labels in zip(node.tensors(), operands, strict=True)
    ]
    total = parts[0]
    for k, part in enumerate(parts[1:], start=2):
        later = {label for other in parts[k:] for label in other.labels}
        total = multiplied(node, total, part, set(result) | later)
    total = total.summed(set(result))
    turned = total.ordered(result)
    if len(parts) == 1 or not result:
        shape = [turned.shape[k] for k in range(len(result))]
        return node.reshaped(turned, shape)
    return turned
