# SPDX-License-Identifier: MIT
"""ONNX operations that move elements, or look them up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .onnx_import import Node, maps

if TYPE_CHECKING:
    from collections.abc import Sequence

    import traingraph as tg


@maps("Transpose")
def transpose(node: Node) -> tg.Tensor:
    rank = len(node.tensor().shape)
    permutation = node.attribute("perm", list(reversed(range(rank))))
    return node.graph.transpose(permutation, node.tensor())


@maps("Reshape")
def reshape(node: Node) -> tg.Tensor:
    x = node.tensor()
    # 0 copies the size of the source's axis.
    sizes = [n or x.shape[i] for i, n in enumerate(node.constant(1))]
    return node.reshaped(x, sizes)


@maps("Flatten")
def flatten(node: Node) -> tg.Tensor:
    shape = node.tensor().shape
    axis = node.attribute("axis", 1)
    axis = axis + len(shape) if axis < 0 else axis
    return node.reshaped(node.tensor(), (int(np.prod(shape[:axis])), -1))


@maps("Squeeze")
def squeeze(node: Node) -> tg.Tensor:
    values = np.empty(node.tensor().shape, np.bool_)
    axes = tuple(int(axis) for axis in node.constant(1))
    return node.reshaped(node.tensor(), np.squeeze(values, axes).shape)


@maps("Unsqueeze")
def unsqueeze(node: Node) -> tg.Tensor:
    values = np.empty(node.tensor().shape, np.bool_)
    axes = tuple(int(axis) for axis in node.constant(1))
    return node.reshaped(node.tensor(), np.expand_dims(values, axes).shape)


@maps("Expand")
def expand(node: Node) -> tg.Tensor:
    x = node.tensor()
    # ONNX broadcasts both ways: a wanted 1 keeps the source's size.
    shape = np.broadcast_shapes(x.shape, tuple(int(n) for n in node.constant(1)))
    return node.graph.broadcast_to(x, shape=shape)


@maps("Concat")
def concat(node: Node) -> tg.Tensor:
    tensors = node.tensors()
    axis = node.attribute("axis") % len(tensors[0].shape)
    return node.graph.concatenate(tensors, axis)


@maps("Split")
def split(node: Node) -> Sequence[tg.Tensor]:
    x = node.tensor()
    axis = node.attribute("axis", 0) % len(x.shape)
    if node.has(1):
        return node.graph.split(x, [int(n) for n in node.constant(1)], axis)
    return node.graph.split(x, node.num_results, axis)


@maps("Slice")
def slice_(node: Node) -> tg.Tensor:
    x = node.tensor()
    rank = len(x.shape)
    start, end, stride = [0] * rank, list(x.shape), [1] * rank
    starts, ends = node.constant(1), node.constant(2)
    axes = node.constant_or(3, range(len(starts)))
    steps = node.constant_or(4, [1] * len(starts))
    for axis, first, last, step in zip(axes, starts, ends, steps, strict=True):
        bounds = slice(int(first), int(last), int(step)).indices(x.shape[axis])
        start[axis], end[axis], stride[axis] = bounds
    return node.graph.slice(x, start=start, end=end, stride=stride)


@maps("Pad")
def pad(node: Node) -> tg.Tensor:
    x = node.tensor()
    rank = len(x.shape)
    before, after = [0] * rank, [0] * rank
    axes = [int(axis) % rank for axis in node.constant_or(3, range(rank))]
    pads = [int(n) for n in node.constant(1)]
    for i, axis in enumerate(axes):
        before[axis], after[axis] = pads[i], pads[i + len(axes)]
    return node.graph.pad(
        x,
        type={"constant": "constant", "reflect": "reflect", "edge": "replicate"}[
            node.attribute("mode", "constant")
        ],
        before=before,
        after=after,
        value=float(node.constant_or(2, 0.0)),
    )


@maps("Gather")
def gather(node: Node) -> tg.Tensor:
    x, indices = node.tensors()
    axis = node.attribute("axis", 0) % len(x.shape)
    named = node.constant(1).shape
    slices = node.graph.gather(axis, x, node.reshaped(indices, (-1,)))
    return node.reshaped(slices, (*x.shape[:axis], *named, *x.shape[axis + 1 :]))


@maps("GatherElements")
def gather_elements(node: Node) -> tg.Tensor:
    x, indices = node.tensors()
    return node.graph.gather(node.attribute("axis", 0), x, indices)


@maps("Scatter", "ScatterElements")
def scatter_elements(node: Node) -> tg.Tensor:
    data, indices, updates = node.tensors()
    reduction = {"none": "none", "add": "sum"}[node.attribute("reduction", "none")]
    axis = node.attribute("axis", 0)
    return node.graph.scatter(axis, updates, indices, data, reduction)
