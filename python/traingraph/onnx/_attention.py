# SPDX-License-Identifier: MIT
"""Attention: masks, causality and windows become one float mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from .. import Tensor

    Array = np.ndarray[Any, Any]


def by_heads(node: Node, index: int, heads: int | None) -> Tensor:
    """(N, heads, length, width) of an input of that shape or (N, length, all)."""
    x = node.tensor(index)
    if len(x.shape) == 4:
        return x
    if heads is None:
        raise Unmappable("it does not say how many heads there are")
    samples, length, width = x.shape
    split = node.reshaped(x, (samples, length, heads, width // heads))
    return node.graph.ops.transpose(split, axes=(0, 2, 1, 3))


def beside_each_other(node: Node, x: Tensor) -> Tensor:
    """(N, heads, length, width) -> (N, length, heads * width)"""
    samples, heads, length, width = x.shape
    return node.reshaped(
        node.graph.ops.transpose(x, axes=(0, 2, 1, 3)), (samples, length, heads * width)
    )


def repeated(node: Node, x: Tensor, times: int) -> Tensor:
    """Every head so many times, for groups of queries that share it."""
    samples, heads, length, width = x.shape
    alone = node.reshaped(x, (samples, heads, 1, length, width))
    together = node.graph.ops.concatenate(*[alone] * times, axis=2)
    return node.reshaped(together, (samples, heads * times, length, width))


def positions(node: Node, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Numbers queries and keys among all that there ever were."""
    samples, _, queries, keys = shape
    offset: Array = np.full(samples, node.tensor(4).shape[2] if node.has(4) else 0)
    if node.has(6):
        offset = node.constant(6) - queries
    query = np.arange(queries)[:, None] + offset[:, None, None, None]
    return query, np.arange(keys)


def mask_of(node: Node, shape: tuple[int, ...]) -> Array:
    """What is added to the scores (N, heads, queries, keys)."""
    mask: Array = np.zeros(shape)
    if node.has(3):
        given = node.constant(3)
        if given.dtype == bool:
            given = np.where(given, 0, -np.inf)
        missing = shape[3] - given.shape[-1]
        pad = [(0, 0)] * (given.ndim - 1) + [(0, missing)]
        mask = mask + np.pad(given, pad, constant_values=-np.inf)
    query, key = positions(node, shape)
    left = node.attribute("left_window_size", -1)
    right = node.attribute("right_window_size", -1)
    if node.attribute("is_causal", 0):
        mask = np.where(key > query, -np.inf, mask)
    if left >= 0:
        mask = np.where(key < query - left, -np.inf, mask)
    if right >= 0:
        mask = np.where(key > query + right, -np.inf, mask)
    if node.has(6):
        count = node.constant(6)[:, None, None, None]
        mask = np.where(key >= count, -np.inf, mask)
    return mask.astype(np.float32)


@maps(
    "Attention",
    attributes="is_causal kv_num_heads q_num_heads left_window_size right_window_size "
    "scale softcap qk_matmul_output_mode softmax_precision",
    host=(3, 6),
)
def attention(node: Node) -> list[Tensor]:
    if node.attribute("softcap", 0.0):
        raise Unmappable("scores have no cap")
    query = by_heads(node, 0, node.attribute("q_num_heads"))
    key = by_heads(node, 1, node.attribute("kv_num_heads"))
    value = by_heads(node, 2, node.attribute("kv_num_heads"))
    if node.has(4):
        key = node.graph.ops.concatenate(node.tensor(4), key, axis=2)
        value = node.graph.ops.concatenate(node.tensor(5), value, axis=2)
    present = [key, value]
    samples, heads, length, _ = query.shape
    times = heads // key.shape[1]
    if times > 1:
        key, value = repeated(node, key, times), repeated(node, value, times)
    mask = mask_of(node, (samples, heads, length, key.shape[2]))
    output, *_ = node.graph.ops.attention(
        beside_each_other(node, query),
        beside_each_other(node, key),
        beside_each_other(node, value),
        attention_mask=mask_tensor(node, mask),
        head_count=heads,
        scale=node.attribute("scale", 0.0),
        name=node.name,
    )
    if len(node.tensor(0).shape) == 4:
        split = node.reshaped(output, (samples, length, heads, value.shape[3]))
        output = node.graph.ops.transpose(split, axes=(0, 2, 1, 3))
    return [output, *present]


def mask_tensor(node: Node, mask: Array) -> Tensor | None:
    """One for all samples and heads where they are equal; none where it is 0."""
    if not mask.any():
        return None
    shape = mask.shape
    if (mask == mask[:1, :1]).all():
        mask = mask[:1, :1]
    values = mask.reshape(-1, *shape[2:])
    name = node.model.names.unique(f"{node.name}.mask")
    return node.model.parameter_tensor(name, values, is_trained=False)
