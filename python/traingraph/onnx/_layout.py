# SPDX-License-Identifier: MIT
"""Operations that move elements, or look them up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import layers
from .._core import Tensor
from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._core import PaddingTypeName, ReductionTypeName

    Array = np.ndarray[Any, Any]


def indices(node: Node, array: Array) -> Tensor:
    """Positions that are known."""
    values = np.ascontiguousarray(array, np.int32)
    name = f"{node.name}.indices"
    return Tensor(values.shape, "int32", name=name, data=values, batch_axis=None)


def taken(node: Node, x: Tensor, axis: int, positions: Array) -> Tensor:
    """Slices at known positions."""
    return node.graph.ops.gather(x, indices(node, positions), axis=axis)


MOST_REPEATS = 1024
"""Each is an input of a concatenation."""


@maps("Transpose", attributes="perm")
def transpose(node: Node) -> Tensor:
    rank = len(node.shape())
    if rank < 2:
        return node.reshaped(node.tensor(), node.shape())
    permutation = node.attribute("perm", list(reversed(range(rank))))
    return node.graph.ops.transpose(node.tensor(), axes=permutation)


@maps("Reshape", attributes="allowzero", host=(1,))
def reshape(node: Node) -> Tensor:
    shape = node.shape()
    sizes = [int(n) for n in node.constant(1)]
    if not node.attribute("allowzero", 0):
        # 0 copies the size of the source's axis.
        sizes = [n or shape[i] for i, n in enumerate(sizes)]
    return node.reshaped(node.tensor(), sizes)


@maps("Flatten", attributes="axis")
def flatten(node: Node) -> Tensor:
    shape = node.shape()
    axis = node.attribute("axis", 1)
    if axis != len(shape):  # which is one row for each element
        axis = node.axis(axis, len(shape))
    return node.reshaped(node.tensor(), (int(np.prod(shape[:axis])), -1))


@maps("Squeeze", attributes="axes", host=(1,))
def squeeze(node: Node) -> Tensor:
    shape = node.shape()
    axes = node.integers(1, "axes")
    if axes is None:
        axes = [i for i, n in enumerate(shape) if n == 1]
    dropped = {node.axis(axis, len(shape)) for axis in axes}
    if any(shape[axis] != 1 for axis in dropped):
        raise Unmappable(f"axes {sorted(dropped)} of {shape} are not all of size 1")
    kept = [n for i, n in enumerate(shape) if i not in dropped]
    return node.reshaped(node.tensor(), kept)


@maps("Unsqueeze", attributes="axes", host=(1,))
def unsqueeze(node: Node) -> Tensor:
    axes = node.integers(1, "axes") or []
    shape = list(node.shape())
    rank = len(shape) + len(axes)
    for axis in sorted(node.axis(axis, rank) for axis in axes):
        shape.insert(axis, 1)
    return node.reshaped(node.tensor(), shape)


@maps("Expand", host=(1,))
def expand(node: Node) -> Tensor:
    # ONNX broadcasts both ways: a wanted 1 keeps the source's size.
    wanted = tuple(int(n) for n in node.constant(1))
    shape = np.broadcast_shapes(node.shape(), wanted)
    if not shape:
        return node.reshaped(node.tensor(), ())
    return node.graph.ops.broadcast_to(node.tensor(), shape=shape)


@maps("Tile", host=(1,))
def tile(node: Node) -> Tensor:
    x = node.tensor()
    for axis, repeats in enumerate(int(n) for n in node.constant(1)):
        if repeats < 1 or repeats > MOST_REPEATS:
            raise Unmappable(f"it repeats {repeats} times")
        if repeats > 1:
            x = node.graph.ops.concatenate(*[x] * repeats, axis=axis)
    return x if x is not node.tensor() else node.reshaped(x, node.shape())


@maps("Concat", attributes="axis")
def concat(node: Node) -> Tensor:
    tensors = node.tensors()
    axis = node.axis(node.required("axis"), len(tensors[0].shape))
    return node.graph.ops.concatenate(*tensors, axis=axis)


@maps("Split", attributes="axis split num_outputs", host=(1,))
def split(node: Node) -> Sequence[Tensor]:
    x = node.tensor()
    axis = node.axis(node.attribute("axis", 0), len(x.shape))
    lengths = node.integers(1, "split")
    if lengths is not None:
        if min(lengths) < 1:
            raise Unmappable(f"it has parts of {lengths}; a tensor is not empty")
        return parts_of(node, x, lengths, axis)
    count, size = len(node.outputs), x.shape[axis]
    if node.opset < 18 and size % count != 0:
        raise Unmappable(f"an axis of {size} has no {count} equal parts")
    most = -(-size // count)  # the last one may be shorter
    lengths = [min(most, size - k * most) for k in range(count)]
    if min(lengths) < 1:
        raise Unmappable(f"it has parts of {lengths}; a tensor is not empty")
    return parts_of(node, x, lengths, axis)


def parts_of(
    node: Node, x: Tensor, lengths: Sequence[int], axis: int
) -> Sequence[Tensor]:
    if len(lengths) == 1:
        return [node.reshaped(x, node.shape())]
    layer = layers.Split(list(lengths), axis)
    node.layer(layer, x)
    return node.model.graph.result_tensors(layer)


@maps("Slice", attributes="starts ends axes", host=(1, 2, 3, 4))
def slice_(node: Node) -> Tensor:
    x = node.tensor()
    rank = len(x.shape)
    start, end, stride = [0] * rank, list(x.shape), [1] * rank
    starts, ends = node.integers(1, "starts"), node.integers(2, "ends")
    if starts is None or ends is None:
        raise Unmappable("it says no starts and ends")
    axes = node.integers(3, "axes") or list(range(len(starts)))
    backward: dict[int, Array] = {}
    steps = node.integers(4, "") or [1] * len(starts)
    for given, first, last, step in zip(axes, starts, ends, steps, strict=True):
        axis = node.axis(given, rank)
        if step == 0:
            raise Unmappable("its step is 0")
        bounds = slice(first, last, step).indices(x.shape[axis])
        if len(range(*bounds)) == 0:
            raise Unmappable("its result is empty")
        if step > 0:
            start[axis], end[axis], stride[axis] = bounds
        else:
            backward[axis] = np.arange(*bounds)
    if len(backward) < len(axes):
        x = node.graph.ops.slice(x, start=start, end=end, stride=stride, name=node.name)
    for axis, positions in backward.items():
        x = taken(node, x, axis, positions)
    return x


@maps("Pad", attributes="mode pads value", host=(1, 2, 3))
def pad(node: Node) -> Tensor:
    x = node.tensor()
    rank = len(x.shape)
    before, after = [0] * rank, [0] * rank
    axes = [node.axis(axis, rank) for axis in node.integers(3, "") or range(rank)]
    pads = node.integers(1, "pads") or []
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[i + len(axes)]
    if min([*before, *after]) < 0:
        x = cropped(node, x, before, after)
        before, after = [max(n, 0) for n in before], [max(n, 0) for n in after]
        if max([*before, *after]) == 0:
            return x
    modes: dict[str, PaddingTypeName] = {
        "constant": "constant",
        "reflect": "reflect",
        "edge": "replicate",
    }
    mode = node.attribute("mode", "constant")
    if mode == "wrap":
        for axis, size in enumerate(x.shape):
            around = np.arange(-before[axis], size + after[axis]) % size
            if around.size != size:
                x = taken(node, x, axis, around)
        return x
    if mode not in modes:
        raise Unmappable(f"there is no padding {mode}")
    value = np.asarray(node.constant_or(2, node.attribute("value", 0.0)))
    return node.graph.ops.pad(
        x,
        type=modes[mode],
        before=before,
        after=after,
        value=float(value.reshape(-1)[0]),
        name=node.name,
    )


def cropped(
    node: Node, x: Tensor, before: Sequence[int], after: Sequence[int]
) -> Tensor:
    """Cuts off what padding by less than nothing takes away."""
    start = [max(-n, 0) for n in before]
    end = [size - max(-n, 0) for size, n in zip(x.shape, after, strict=True)]
    if any(first >= last for first, last in zip(start, end, strict=True)):
        raise Unmappable("it takes away all of an axis")
    ones = [1] * len(start)
    return node.graph.ops.slice(x, start=start, end=end, stride=ones, name=node.name)


@maps("Gather", attributes="axis")
def gather(node: Node) -> Tensor:
    shape = node.shape()
    axis = node.axis(node.attribute("axis", 0), len(shape))
    if node.is_constant(1):
        return gather_known(node, axis)
    indices, named = node.tensor(1), node.shape(1)
    if axis == 0 and len(shape) == 2 and node.is_constant(0) and named:
        # The gradient has the rows that were looked up alone.
        layer = layers.Embedding(weights=node.parameter(0))
        return node.layer(layer, indices)
    slices = node.graph.ops.gather(
        node.tensor(), node.reshaped(indices, (-1,)), axis=axis
    )
    return node.reshaped(slices, (*shape[:axis], *named, *shape[axis + 1 :]))


def known_positions(node: Node, size: int) -> Array:
    """Input 1, from the model: below 0 they count from the end."""
    given = node.constant(1).astype(np.int64)
    if given.size == 0 or given.min() < -size or given.max() >= size:
        raise Unmappable(f"its indices are not of {size} elements")
    return given % size


def gather_known(node: Node, axis: int) -> Tensor:
    """Indices from the model: below 0 they count from the end."""
    x, shape = node.tensor(), node.shape()
    given = known_positions(node, shape[axis])
    result = (*shape[:axis], *given.shape, *shape[axis + 1 :])
    first = int(given.reshape(-1)[0])
    if (given.reshape(-1) == first + np.arange(given.size)).all():
        return node.reshaped(part_of(node, x, axis, first, first + given.size), result)
    return node.reshaped(taken(node, x, axis, given.reshape(-1)), result)


@maps("GatherElements", attributes="axis")
def gather_elements(node: Node) -> Tensor:
    x = node.tensor()
    axis = node.axis(node.attribute("axis", 0), len(x.shape))
    positions = element_positions(node, x.shape[axis], axis)
    for part, _ in leading_parts(node, x, node.shape(1), axis):
        x = part
    return node.graph.ops.gather(x, positions, axis=axis)


def element_positions(node: Node, size: int, axis: int) -> Tensor:
    """Those that are known and the same on all other axes name slices."""
    if not node.is_constant(1):
        return node.tensor(1)
    known = known_positions(node, size)
    along = np.moveaxis(known, axis, 0)
    first = along.reshape(len(along), -1)[:, :1]
    is_same = (along.reshape(len(along), -1) == first).all()
    return indices(node, first.reshape(-1) if is_same else known)


def leading_parts(
    node: Node, x: Tensor, shape: Sequence[int], axis: int
) -> Iterator[tuple[Tensor, int]]:
    """x cut on one axis after the other, but for `axis`, to the sizes of `shape`,
    and each axis."""
    for other, (size, wanted) in enumerate(zip(x.shape, shape, strict=True)):
        if other != axis and size > wanted:
            x = part_of(node, x, other, 0, wanted)
            yield x, other


def part_of(node: Node, x: Tensor, axis: int, first: int, last: int) -> Tensor:
    start, end = [0] * len(x.shape), list(x.shape)
    start[axis], end[axis] = first, last
    ones = [1] * len(start)
    return node.graph.ops.slice(x, start=start, end=end, stride=ones, name=node.name)


@maps("Scatter", "ScatterElements", attributes="axis reduction")
def scatter_elements(node: Node) -> Tensor:
    data, updates = node.tensor(0), node.tensor(2)
    reduction = node.attribute("reduction", "none")
    if reduction not in ("none", "add"):
        raise Unmappable(f"sources replace or add up; there is no {reduction}")
    kinds: dict[str, ReductionTypeName] = {"none": "none", "add": "sum"}
    axis = node.axis(node.attribute("axis", 0), len(data.shape))
    positions = element_positions(node, data.shape[axis], axis)
    if positions.shape not in (updates.shape, (updates.shape[axis],)):  # see _slices.py
        positions = expanded(node, positions, updates.shape, axis)
    wholes, other_axes, part = [], [], data
    for next_part, other in leading_parts(node, data, updates.shape, axis):
        wholes.append(part)
        other_axes.append(other)
        part = next_part
    result = node.graph.ops.scatter(
        updates, positions, part, axis=axis, reduction_type=kinds[reduction]
    )
    for whole, other in zip(reversed(wholes), reversed(other_axes), strict=True):
        first, last = result.shape[other], whole.shape[other]
        rest = part_of(node, whole, other, first, last)
        result = node.graph.ops.concatenate(result, rest, axis=other)
    return result


def expanded(
    node: Node, positions: Tensor, shape: tuple[int, ...], axis: int
) -> Tensor:
    """Expands indices; those that are the same on all other axes name slices."""
    if list(positions.shape) == [n if k == axis else 1 for k, n in enumerate(shape)]:
        return node.reshaped(positions, (-1,))
    if not node.is_constant(1):
        raise Unmappable(f"its indices {positions.shape} name no slices of {shape}")
    size = node.shape()[axis]
    return indices(node, np.broadcast_to(known_positions(node, size), shape))


@maps("DepthToSpace", attributes="blocksize mode")
def depth_to_space(node: Node) -> Tensor:
    x, block = node.tensor(), int(node.required("blocksize"))
    samples, channels, height, width = x.shape
    rest = channels // block**2
    if node.attribute("mode", "DCR") == "DCR":
        parts, order = (block, block, rest), (0, 3, 4, 1, 5, 2)
    else:
        parts, order = (rest, block, block), (0, 1, 4, 2, 5, 3)
    split = node.reshaped(x, (samples, *parts, height, width))
    moved = node.graph.ops.transpose(split, axes=order)
    return node.reshaped(moved, (samples, rest, height * block, width * block))


@maps("SpaceToDepth", attributes="blocksize mode")
def space_to_depth(node: Node) -> Tensor:
    x, block = node.tensor(), int(node.required("blocksize"))
    samples, channels, height, width = x.shape
    high, wide = height // block, width // block
    split = node.reshaped(x, (samples, channels, high, block, wide, block))
    is_outer = node.attribute("mode", "DCR") == "DCR"
    order = (0, 3, 5, 1, 2, 4) if is_outer else (0, 1, 3, 5, 2, 4)
    moved = node.graph.ops.transpose(split, axes=order)
    return node.reshaped(moved, (samples, channels * block**2, high, wide))
