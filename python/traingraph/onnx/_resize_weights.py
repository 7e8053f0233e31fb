# SPDX-License-Identifier: MIT
"""Resampling along one axis as ONNX defines it: how much of each element is in each
sample, a matrix (samples, elements)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._problems import Unmappable

if TYPE_CHECKING:
    from ._node import Node

    Array = np.ndarray[Any, Any]


# Of one axis, and of the matrix that samples it: what is computed are arrays of as many.
MOST_SAMPLES = 1 << 24


def positions(
    node: Node, size: int, result: int, scale: float, region: tuple[float, float]
) -> Array:
    """Where ONNX samples an axis."""
    i = np.arange(result, dtype=np.float64)
    mode = node.attribute(
        "coordinate_transformation_mode",
        "half_pixel" if node.opset >= 11 else "asymmetric",
    )
    if node.op_type == "Upsample":
        mode = "asymmetric"
    if mode == "asymmetric":
        return i / scale
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and result > 1):
        return (i + 0.5) / scale - 0.5
    if mode == "pytorch_half_pixel":
        return i * 0 - 0.5
    if mode == "align_corners":
        return i * (size - 1) / max(scale * size - 1, 1)
    if mode == "tf_half_pixel_for_nn":
        return (i + 0.5) / scale
    if mode == "half_pixel_symmetric":
        # The middle stays, whatever rounding has taken away.
        kept = result / (scale * size)
        return size / 2 * (1 - kept) + (i + 0.5) / scale - 0.5
    if mode == "tf_crop_and_resize":
        first, last = region
        if result == 1:
            return i + 0.5 * (first + last) * (size - 1)
        return (first + i * (last - first) / (result - 1)) * (size - 1)
    raise Unmappable(f"positions are not sampled as {mode}")


def nearest(node: Node, at: Array, size: int) -> Array:
    mode = node.attribute(
        "nearest_mode", "round_prefer_floor" if node.opset >= 11 else "floor"
    )
    if node.op_type == "Upsample":
        mode = "floor"
    rounded = {
        "floor": np.floor(at),
        "ceil": np.ceil(at),
        "round_prefer_floor": np.ceil(at - 0.5),
        "round_prefer_ceil": np.floor(at + 0.5),
    }[mode]
    return np.clip(rounded, 0, size - 1)


def linear_share(distance: Array) -> Array:
    share: Array = np.maximum(0, 1 - np.abs(distance))
    return share


def cubic_share(distance: Array, a: float) -> Array:
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def weights_of(node: Node, at: Array, size: int, scale: float) -> Array:
    """Elements outside are those of the edge, or none (exclude_outside)."""
    mode = node.attribute("mode", "nearest")
    if mode == "nearest":
        chosen = nearest(node, at, size).astype(np.int64)
        return at_places(chosen[:, None], np.ones((len(at), 1)), size)
    reach = 1 if mode == "linear" else 2
    # Fewer samples than elements: each one is wider, so that all count.
    width = min(scale, 1.0) if node.attribute("antialias", 0) else 1.0
    reach = int(np.ceil(reach / width))
    if len(at) * reach > MOST_SAMPLES:
        raise Unmappable(f"each of {len(at)} samples is a sum of {2 * reach} elements")
    taps = np.floor(at)[:, None] + np.arange(1 - reach, reach + 1)
    distance = (at[:, None] - taps) * width
    if mode == "linear":
        share = linear_share(distance)
    else:
        share = cubic_share(distance, node.attribute("cubic_coeff_a", -0.75))
    if node.attribute("exclude_outside", 0):
        share = np.where((taps < 0) | (taps >= size), 0, share)
    share /= share.sum(axis=1, keepdims=True)
    return at_places(np.clip(taps, 0, size - 1).astype(np.int64), share, size)


def at_places(places: Array, share: Array, size: int) -> Array:
    """Shares (samples, taps) in a matrix (samples, size); those of one place add up."""
    weights = np.zeros((len(places), size))
    np.add.at(weights, (np.arange(len(places))[:, None], places), share)
    return weights
