# SPDX-License-Identifier: MIT
"""Resize and Upsample: a layer samples in one of three ways, and an op is taken
when its positions are those, to the last bit that counts, at its very sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import layers
from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from .. import Tensor

    Array = np.ndarray[Any, Any]

# Positions are compared in samples; a share of a neighbour may be this far off.
NEAR = 1e-6
# Of one axis: what is compared are arrays of as many.
MOST_SAMPLES = 1 << 24


def positions(node: Node, size: int, result: int, scale: float) -> Array:
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
        return i * 0
    if mode == "align_corners":
        return i * (size - 1) / max(scale * size - 1, 1)
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


def is_same(node: Node, size: int, result: int, scale: float, aligned: bool) -> bool:
    """Does the layer read an axis where ONNX does?"""
    at = positions(node, size, result, scale)
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
    if mode not in ("nearest", "linear"):
        raise Unmappable(f"samples are nearest or linear, not {mode}")
    policy = node.attribute("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        raise Unmappable(f"there is no keep_aspect_ratio_policy {policy}")
    shape, scales = sizes_of(node, x)
    if len(shape) not in (3, 4) or shape[:2] != list(x.shape[:2]):
        raise Unmappable(
            f"the axes behind the first two are sampled; this makes {shape}"
        )
    spatial = range(2, len(shape))
    if max(shape) > MOST_SAMPLES:
        raise Unmappable(f"it makes {max(shape)} samples along an axis")
    shrinks = any(shape[k] < x.shape[k] for k in spatial)
    if node.attribute("antialias", 0) and shrinks:
        raise Unmappable("samples that are not read do not count")
    for aligned in (False, True):
        if all(
            is_same(node, x.shape[k], shape[k], scales[k], aligned) for k in spatial
        ):
            is_linear = mode == "linear"
            layer = layers.Upsample(shape[2:], mode, aligned and is_linear)
            return node.layer(layer, x)
    raise Unmappable("its positions are those of no sampling here, at these sizes")


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
    else:
        for axis, size in zip(axes, node.constant(3), strict=True):
            shape[axis] = int(size)
            scales[axis] = shape[axis] / x.shape[axis]
    return shape, scales
