# SPDX-License-Identifier: MIT
"""RotaryEmbedding: pairs of features, turned by an angle that grows with the position."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._layout import part_of, parts_of
from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from .. import Tensor


def angles(node: Node, index: int, shape: tuple[int, int, int]) -> Tensor:
    """Cosines or sines (N or 1, length, 1, pairs): a table, looked up or as it is."""
    samples, length, pairs = shape
    table = node.tensor(index)
    if not node.has(3):
        if table.shape[-1] != pairs:
            raise Unmappable(f"its tables have {table.shape[-1]} angles, not {pairs}")
        return node.reshaped(table, (-1, length, 1, pairs))
    if len(table.shape) != 2 or table.shape[1] != pairs:
        raise Unmappable(f"its tables are (positions, {pairs}); this is {table.shape}")
    at = node.reshaped(node.tensor(3), (-1,))
    rows = node.graph.ops.gather(table, at, axis=0)
    return node.reshaped(rows, (samples, length, 1, pairs))


@maps("RotaryEmbedding", attributes="interleaved num_heads rotary_embedding_dim")
def rotary_embedding(node: Node) -> Tensor:
    x, ops = node.tensor(0), node.graph.ops
    is_by_head = len(x.shape) == 4
    if is_by_head:  # (N, heads, length, width)
        x = ops.transpose(x, axes=(0, 2, 1, 3))
        samples, length, heads, width = x.shape
    else:
        samples, length, features = x.shape
        heads = int(node.attribute("num_heads", 0))
        if heads < 1 or features % heads != 0:
            raise Unmappable(f"{features} features are those of {heads} heads")
        width = features // heads
        x = node.reshaped(x, (samples, length, heads, width))
    turned = int(node.attribute("rotary_embedding_dim", 0)) or width
    if turned % 2 != 0 or not 2 <= turned <= width:
        raise Unmappable(f"it turns {turned} of {width} features")
    shape = (samples, length, turned // 2)
    cosine, sine = (angles(node, k, shape) for k in (1, 2))
    part = x if turned == width else part_of(node, x, 3, 0, turned)
    y = rotated(node, part, cosine, sine)
    if turned < width:
        y = ops.concatenate(y, part_of(node, x, 3, turned, width), axis=3)
    if is_by_head:
        return ops.transpose(y, axes=(0, 2, 1, 3))
    return node.reshaped(y, (samples, length, heads * width))


def rotated(node: Node, x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Pairs are neighbours (interleaved), or one of each half."""
    samples, length, heads, width = x.shape
    half = width // 2
    is_interleaved = bool(node.attribute("interleaved", 0))
    shape = (half, 2) if is_interleaved else (2, half)
    axis = 4 if is_interleaved else 3
    pairs = node.reshaped(x, (samples, length, heads, *shape))
    parts = parts_of(node, pairs, (1, 1), axis)
    first, second = (node.reshaped(p, (samples, length, heads, half)) for p in parts)

    def product(a: Tensor, b: Tensor) -> Tensor:
        return node.binary("multiply", a, b)

    turned = (
        node.binary("subtract", product(first, cosine), product(second, sine)),
        node.binary("add", product(first, sine), product(second, cosine)),
    )
    apart = (half, 1) if is_interleaved else (1, half)
    joined = node.graph.ops.concatenate(
        *[node.reshaped(t, (samples, length, heads, *apart)) for t in turned], axis=axis
    )
    return node.reshaped(joined, (samples, length, heads, width))
