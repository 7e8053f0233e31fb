# SPDX-License-Identifier: MIT
"""GatherND and ScatterND: positions on several axes, as one on all of them together.

Where known positions begin with the number of the sample, and are else the same for
all, samples stay apart, and the graph runs smaller batches.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ._layout import indices
from ._node import MOST_EXACT, Node, maps
from ._problems import Unmappable
from ._read import as_tensor_data

if TYPE_CHECKING:
    from .. import Tensor
    from .._core import ReductionTypeName

    Array = np.ndarray[Any, Any]


class Places:
    """Positions of a tensor of `shape`: `leading` samples, each with `count` of them
    among `size` blocks of `block` elements."""

    def __init__(self, node: Node, shape: tuple[int, ...], batch_axes: int) -> None:
        given = node.shape(1)
        if not given or not 0 <= batch_axes < len(given) <= len(given) + len(shape):
            raise Unmappable(f"positions of shape {given} name nothing of {shape}")
        self.depth = given[-1]
        if not 1 <= self.depth <= len(shape) - batch_axes:
            raise Unmappable(
                f"positions have {self.depth} numbers; the source is {shape}, "
                f"{batch_axes} axes of it are samples"
            )
        self.batch_axes = batch_axes
        self.given = given
        self.sizes = shape[batch_axes : batch_axes + self.depth]
        self.rest = shape[batch_axes + self.depth :]
        self.leading = prod(shape[:batch_axes])
        self.known = self._known(node) if node.is_constant(1) else None
        self.at: Tensor | None = None
        self.flat: Array | None = None
        if self.known is not None:
            self.flat = np.ravel_multi_index(
                tuple(np.moveaxis(self.known, -1, 0)), self.sizes
            )
        else:
            self.at = self._joined(node)

    def _known(self, node: Node) -> Array:
        array = node.constant(1).astype(np.int64)
        sizes = np.asarray(self.sizes)
        if array.size == 0 or (array < -sizes).any() or (array >= sizes).any():
            raise Unmappable(f"its positions are not of {self.sizes}")
        positions: Array = array % sizes
        return positions

    def _joined(self, node: Node) -> Tensor:
        """Each position as one number."""
        x = node.tensor(1)
        if self.depth > 1:
            strides = [prod(self.sizes[k + 1 :]) for k in range(self.depth)]
            scale = node.known(np.asarray(strides, x.data_type.name), "strides")
            x = node.graph.ops.reduce(
                node.binary("multiply", x, scale), type="sum", axes=(len(x.shape) - 1,)
            )
        return node.reshaped(x, self.given[:-1])

    @property
    def num_blocks(self) -> int:
        return prod(self.sizes)

    @property
    def block(self) -> int:
        return prod(self.rest)

    def by_sample(self) -> Array | None:
        """Positions behind the first axis, if that counts the samples."""
        if self.known is None or self.batch_axes or self.depth < 2:
            return None
        first = self.known[..., 0]
        samples = self.sizes[0]
        numbers = np.arange(samples).reshape(-1, *[1] * (first.ndim - 1))
        if first.ndim < 2 or first.shape[0] != samples or (first != numbers).any():
            return None
        behind = self.known[..., 1:]
        if (behind != behind[:1]).any():
            return None
        rest = tuple(np.moveaxis(behind[0], -1, 0))
        joined: Array = np.ravel_multi_index(rest, self.sizes[1:])
        return joined.reshape(-1)


def slices(node: Node, places: Places) -> Tensor:
    """One list of positions for all."""
    if places.flat is not None:
        return indices(node, places.flat.reshape(-1))
    assert places.at is not None
    return node.reshaped(places.at, (-1,))


@maps("GatherND", attributes="batch_dims")
def gather_nd(node: Node) -> Tensor:
    x, shape = node.tensor(), node.shape()
    places = Places(node, shape, node.attribute("batch_dims", 0))
    result = (*places.given[:-1], *places.rest)
    own = places.by_sample()
    ops = node.graph.ops
    if own is not None:
        samples = places.sizes[0]
        blocks = node.reshaped(x, (samples, places.num_blocks // samples, places.block))
        return node.reshaped(ops.gather(blocks, indices(node, own), axis=1), result)
    if not places.batch_axes:
        blocks = node.reshaped(x, (places.num_blocks, places.block))
        return node.reshaped(ops.gather(blocks, slices(node, places), axis=0), result)
    blocks = node.reshaped(x, (places.leading, places.num_blocks, places.block))
    at = node.reshaped(slices(node, places), (places.leading, -1, 1))
    at = ops.broadcast_to(at, shape=(*at.shape[:2], places.block))
    return node.reshaped(ops.gather(blocks, at, axis=1), result)


def repeated(node: Node, shape: tuple[int, ...]) -> Tensor | None:
    """Updates that are known and one number: of any number of samples."""
    name = node.names[2]
    if not node.is_constant(2) or node.model.is_trained(name):
        return None
    array = as_tensor_data(node.constant(2))
    number = float(array.reshape(-1)[0])
    if not (array == array.reshape(-1)[:1]).all() or abs(number) > MOST_EXACT:
        return None
    kind = "boolean" if array.dtype == np.bool_ else array.dtype.name
    return node.graph.ops.fill(shape=shape, value=number, data_type=kind)


@maps("ScatterND", attributes="reduction")
def scatter_nd(node: Node) -> Tensor:
    data, updates, shape = node.tensor(0), node.tensor(2), node.shape()
    kinds: dict[str, ReductionTypeName] = {"none": "none", "add": "sum"}
    reduction = node.attribute("reduction", "none")
    if reduction not in kinds:
        raise Unmappable(f"sources replace or add up; there is no {reduction}")
    places = Places(node, shape, 0)
    if node.shape(2) != (*places.given[:-1], *places.rest):
        raise Unmappable(
            f"its updates are {(*places.given[:-1], *places.rest)}; these are "
            f"{node.shape(2)}"
        )
    own = places.by_sample()
    samples = places.sizes[0] if own is not None else 1
    axis = 0 if own is None else 1
    head = () if own is None else (samples,)
    blocks = node.reshaped(data, (*head, places.num_blocks // samples, places.block))
    count = prod(updates.shape) // samples // places.block
    shape_of_all = (*head, count, places.block)
    sources = repeated(node, shape_of_all)
    if sources is None:
        sources = node.reshaped(updates, shape_of_all)
    at = slices(node, places) if own is None else indices(node, own)
    result = node.graph.ops.scatter(
        sources, at, blocks, axis=axis, reduction_type=kinds[reduction]
    )
    return node.reshaped(result, shape)
