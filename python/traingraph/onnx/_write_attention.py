# SPDX-License-Identifier: MIT
"""Writes the family attention, as products and a softmax."""

from __future__ import annotations

import math

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


def hidden_scores(step: Step) -> list[str]:
    """Boolean tensors that broadcast to the scores: what does not count."""
    masks = []
    if step.has(3):
        masks.append(step.reshape(step.input(3), [-1, 1, 1, step.shape(3)[1]]))
    if step.has(4) and step.data_type(4) in ("boolean", "bool"):
        masks.append(attention_mask(step))
    elif step.has(4):
        masks.append(step.node("Less", attention_mask(step), step.number(HIDDEN)))
    return masks


def attention_mask(step: Step) -> str:
    """(1 or N * heads, L, S) as (1 or N, 1 or heads, L, S)."""
    count, queries, keys = step.shape(4)
    if count == 1:
        return step.reshape(step.input(4), [1, 1, queries, keys])
    heads = step.attributes["head_count"]
    return step.reshape(step.input(4), [-1, heads, queries, keys])


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
        added = step.node("Max", attention_mask(step), step.number(HIDDEN))
        scores = step.node("Add", scores, added)
    masks = hidden_scores(step)
    for mask in masks:
        scores = step.node("Where", mask, step.number(HIDDEN), scores)
    weights = step.node("Softmax", scores, axis=3)
    for mask in masks:  # a query that sees no key has attention 0
        weights = step.node("Where", mask, step.number(0), weights)
    rows = step.node(
        "Transpose", step.node("MatMul", weights, value), perm=[0, 2, 1, 3]
    )
    _, length, all_width = step.result_shape()
    step.finish("Reshape", rows, step.integers([0, length, all_width], "shape"))
