# SPDX-License-Identifier: MIT
"""Writes the family attention, as products and a softmax."""

from __future__ import annotations

import math
from typing import NamedTuple

from ._problems import Unmappable
from ._write import Step, exports

# Added to a score that does not count: finite, as a row may have no others.
HIDDEN = -1e30


def by_heads(step: Step, index: int, perm: list[int]) -> str:
    """(N, L, heads * width) -> (N, heads, L, width), or as `perm` says."""
    _, length, width = step.shape(index)
    heads = step.attributes["head_count"]
    split = step.reshape(step.input(index), [0, length, heads, width // heads])
    return step.node("Transpose", split, perm=perm)


class Mask(NamedTuple):
    name: str
    is_of_heads: bool
    """(N * heads, L, S), and else it broadcasts to the scores, (N, heads, L, S)."""

    def apply(self, step: Step, op: str, *inputs: str) -> str:
        """op(mask, *inputs), of which the last are scores.

        A mask keeps its shape and scores take it, since splitting the axis of an
        input would settle how its samples lie, which is for whoever gives it.
        """
        if not self.is_of_heads:
            return step.node(op, self.name, *inputs)
        heads, (_, queries, keys) = step.attributes["head_count"], step.shape(4)
        flat = step.reshape(inputs[-1], [-1, queries, keys])
        masked = step.node(op, self.name, *inputs[:-1], flat)
        return step.reshape(masked, [-1, heads, queries, keys])


def hidden_scores(step: Step) -> list[Mask]:
    """Makes Booleans that say which scores do not count."""
    masks = []
    if step.has(3):
        keys = step.reshape(step.input(3), [-1, 1, 1, step.shape(3)[1]])
        masks.append(Mask(keys, is_of_heads=False))
    if step.has(4):
        mask = step.input(4)
        if step.data_type(4) == "float32":
            mask = step.node("Less", mask, step.number(HIDDEN))
        masks.append(Mask(mask, is_of_heads=step.shape(4)[0] > 1))
    return masks


@exports("attention")
def attention(step: Step) -> None:
    if any(value in step.writer.read for value in step.results[1:]):
        raise Unmappable("its sums are read")
    heads = step.attributes["head_count"]
    width = step.shape(0)[2] // heads
    scale = step.attributes["scale"] or 1 / math.sqrt(width)
    query, value = by_heads(step, 0, [0, 2, 1, 3]), by_heads(step, 2, [0, 2, 1, 3])
    key = by_heads(step, 1, [0, 2, 3, 1])
    scores = step.node("MatMul", step.node("Mul", query, step.number(scale)), key)
    if step.has(4) and step.data_type(4) == "float32":
        added = step.node("Max", step.input(4), step.number(HIDDEN))
        is_of_heads = step.shape(4)[0] > 1
        scores = Mask(added, is_of_heads).apply(step, "Add", scores)
    masks = hidden_scores(step)
    for mask in masks:
        scores = mask.apply(step, "Where", step.number(HIDDEN), scores)
    weights = step.node("Softmax", scores, axis=3)
    for mask in masks:  # a query that sees no key has attention 0
        weights = mask.apply(step, "Where", step.number(0), weights)
    rows = step.node(
        "Transpose", step.node("MatMul", weights, value), perm=[0, 2, 1, 3]
    )
    _, length, all_width = step.result_shape()
    step.finish("Reshape", rows, step.integers([0, length, all_width], "shape"))
