# SPDX-License-Identifier: MIT
"""Resize and Upsample: by a layer where that samples at the same positions, to the last
bit that counts, at the very sizes; else each axis is a product with a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import layers
from ._layout import taken
from ._node import Node, maps
from ._problems import Unmappable
from ._resize_weights import MOST_SAMPLES, nearest, positions, weights_of

if TYPE_CHECKING:
    from .. import Tensor

    Array = np.ndarray[Any, Any]

# Positions are compared in samples; a share of a neighbour may be this far off.
NEAR = 1e-6


def is_same(node: Node, size: int, result: int, scale: float, aligned: bool) -> bool:
    """Does the layer read an axis where ONNX does?"""
    at = positions(node, size, result, scale, (0.0, 1.0))
    i = np.arange(result, dtype=np.int64)
    if node.attribute("mode", "nearest") == "nearest":
        ours = (2 * i + 1) * size // (2 * result)
        return bool((nearest(node, at, size) == ours).all())
    if aligned:
        own = i * (size - 1) / max(result - 1, 1)
    else:
        own = (i + 0.5) * size / result - 0.5
    own, at = np.clip(own, 0, size - 1), np.clip(at, 0, size - 1)
    return bool((np.abs(own - at) < NEAR).all())


def sampled_by_layer(
    node: Node, x: Tensor, shape: list[int], scales: list[float]
) -> Tensor | None:
    """The axes behind the first two, nearest or linear."""
    mode = node.attribute("mode", "nearest")
    is_image = len(shape) in (3, 4) and shape[:2] == list(x.shape[:2])
    crops = node.attribute("coordinate_transformation_mode") == "tf_crop_and_resize"
    if mode not in ("nearest", "linear") or not is_image or crops:
        return None
    spatial = range(2, len(shape))
    shrinks = any(shape[k] < x.shape[k] for k in spatial)
    if node.attribute("antialias", 0) and shrinks:
        return None
    if node.attribute("exclude_outside", 0):
        return None
    for aligned in (False, True):
        if all(
            is_same(node, x.shape[k], shape[k], scales[k], aligned) for k in spatial
        ):
            layer = layers.Upsample(shape[2:], mode, aligned and mode == "linear")
            return node.layer(layer, x)
    return None


@maps(
    "Resize",
    "Upsample",
    attributes="mode coordinate_transformation_mode nearest_mode axes scales antialias "
    "cubic_coeff_a exclude_outside extrapolation_value keep_aspect_ratio_policy",
    host=(1, 2, 3),
)
def resize(node: Node) -> Tensor:
    x = node.tensor()
    mode = node.attribute("mode", "nearest")
    if mode not in ("nearest", "linear", "cubic"):
        raise Unmappable(f"samples are nearest, linear or cubic, not {mode}")
    shape, scales = sizes_of(node, x)
    if max(shape) > MOST_SAMPLES or min(shape) < 1:
        raise Unmappable(f"it makes {shape} samples along an axis")
    by_layer = sampled_by_layer(node, x, shape, scales)
    if by_layer is not None:
        return by_layer
    regions = regions_of(node, len(shape))
    inside: Array = np.ones((1,) * len(shape), bool)
    for axis, (size, result) in enumerate(zip(x.shape, shape, strict=True)):
        at = positions(node, size, result, scales[axis], regions[axis])
        if size == result and (np.abs(at - np.arange(size)) < NEAR).all():
            continue
        if size * result > MOST_SAMPLES:
            raise Unmappable(f"it makes {result} samples of {size} along an axis")
        inside = inside & is_inside(at, size).reshape(
            [-1 if k == axis else 1 for k in range(len(shape))]
        )
        x = sampled(node, x, axis, weights_of(node, at, size, scales[axis]))
    crops = node.attribute("coordinate_transformation_mode") == "tf_crop_and_resize"
    if crops and not inside.all():
        outside = node.number(node.attribute("extrapolation_value", 0.0), x)
        return node.graph.ops.select(node.known(inside, "inside"), x, outside)
    return x if x is not node.tensor() else node.reshaped(x, node.shape())


def is_inside(at: Array, size: int) -> Array:
    inside: Array = (at >= 0) & (at <= size - 1)
    return inside


def sampled(node: Node, x: Tensor, axis: int, weights: Array) -> Tensor:
    """One axis: slices where each sample is one element, else a product."""
    is_choice = (weights.max(axis=1) == 1) & (np.count_nonzero(weights, axis=1) == 1)
    if is_choice.all():
        return taken(node, x, axis, weights.argmax(axis=1))
    matrix = weights.astype(np.float32)
    rank, ops = len(x.shape), node.graph.ops
    if axis == rank - 1:
        turned = np.ascontiguousarray(matrix.T)
        if rank == 1:
            row = ops.matmul(node.reshaped(x, (1, -1)), node.known(turned, "samples"))
            return node.reshaped(row, (-1,))
        return ops.matmul(x, node.known(turned, "samples"))
    if axis == rank - 2:
        return ops.matmul(node.known(matrix, "samples"), x)
    # The axis before the last, of all that is behind it.
    joined = node.reshaped(x, (*x.shape[: axis + 1], -1))
    y = ops.matmul(node.known(matrix, "samples"), joined)
    return node.reshaped(y, (*x.shape[:axis], len(matrix), *x.shape[axis + 1 :]))


def regions_of(node: Node, rank: int) -> list[tuple[float, float]]:
    """First and last position of each axis, as shares of it; for cropping alone."""
    axes = [node.axis(k, rank) for k in node.attribute("axes", range(rank))]
    regions = [(0.0, 1.0)] * rank
    if not (node.opset >= 11 and node.has(1) and node.op_type == "Resize"):
        return regions
    given = np.asarray(node.constant(1), np.float64).reshape(-1)
    if given.size != 2 * len(axes):
        return regions
    for k, axis in enumerate(axes):
        regions[axis] = (float(given[k]), float(given[k + len(axes)]))
    return regions


def sizes_of(node: Node, x: Tensor) -> tuple[list[int], list[float]]:
    """Gives, for all axes, the result's sizes and the scales that positions follow."""
    rank = len(x.shape)
    axes = [node.axis(k, rank) for k in node.attribute("axes", range(rank))]
    index = 1 if node.op_type == "Upsample" or node.opset < 11 else 2
    given = node.constant(index) if node.has(index) else node.attribute("scales")
    shape, scales = list(x.shape), [1.0] * rank
    if given is not None and np.size(given) > 0:
        for axis, scale in zip(axes, np.asarray(given, np.float64), strict=True):
            scales[axis] = float(scale)
            shape[axis] = int(np.floor(x.shape[axis] * scale))
        return shape, scales
    sizes = [int(n) for n in node.constant(3)]
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    ratios = [n / x.shape[axis] for axis, n in zip(axes, sizes, strict=True)]
    if policy != "stretch":
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        ratios = [ratio] * len(axes)
        sizes = [int(np.floor(ratio * x.shape[axis] + 0.5)) for axis in axes]
    for axis, size, scale in zip(axes, sizes, ratios, strict=True):
        shape[axis] = size
        scales[axis] = scale
    return shape, scales
