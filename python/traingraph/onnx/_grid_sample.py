# SPDX-License-Identifier: MIT
"""GridSample: an image at positions that are computed. Each tap is a gather of all
samples, whose share follows from the position."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ._layout import parts_of
from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from .. import Tensor

    Array = np.ndarray[Any, Any]

MOST_PIXELS = 1 << 13
"""Along an axis of an affine grid, whose positions are a constant of the graph."""

A = -0.75
"""Of the cubic kernel."""


def on_pixels(node: Node, share: Tensor, size: int, aligned: bool) -> Tensor:
    """From -1 to 1 across the image, to numbers of pixels."""
    if aligned:
        return node.scaled(share, (size - 1) / 2, (size - 1) / 2)
    return node.scaled(share, size / 2, (size - 1) / 2)


def reflected(node: Node, x: Tensor, low: float, high: float) -> Tensor:
    """Thrown back at both ends, as often as it takes."""
    width = high - low
    if width == 0:
        return node.scaled(x, 0.0)
    away = node.activation(node.scaled(x, 1.0, -low), "absolute")
    turns = node.unary("floor", node.scaled(away, 1 / width))
    rest = node.binary("subtract", away, node.scaled(turns, width))
    pairs = node.scaled(node.unary("floor", node.scaled(turns, 0.5)), 2.0)
    is_even = node.graph.ops.compare(pairs, turns, operation="equal")
    back = node.scaled(rest, -1.0, high)
    return node.graph.ops.select(is_even, node.scaled(rest, 1.0, low), back)


class Axis:
    """One axis of the image: where it is sampled, in pixels (N, 1, samples)."""

    def __init__(self, node: Node, at: Tensor, size: int, aligned: bool) -> None:
        self.node, self.size = node, size
        self.mode = node.attribute("padding_mode", "zeros")
        self.edges = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
        self.at = self.padded(on_pixels(node, at, size, aligned))

    def padded(self, x: Tensor) -> Tensor:
        """Positions beyond the edges of the first and last pixel; those inside stay."""
        if self.mode == "zeros":
            return x
        if self.mode == "reflection":
            return reflected(self.node, x, *self.edges)
        low, high = self.edges
        is_beyond = self.node.compared(
            "logical_or",
            self.node.compared("less", x, low),
            self.node.compared("greater", x, high),
        )
        return self.node.graph.ops.select(is_beyond, self.limited(x), x)

    def limited(self, x: Tensor) -> Tensor:
        return self.node.activation(x, "clamp", 0.0, self.size - 1.0)

    def taps(self, mode: str) -> list[tuple[Tensor, Tensor | None]]:
        """Whole numbers of pixels, and their shares; one tap has all."""
        node = self.node
        if mode == "nearest":
            return [(node.unary("round", self.at), None)]
        first = node.unary("floor", self.at)
        part = node.binary("subtract", self.at, first)
        if mode == "linear":
            rest = node.scaled(part, -1.0, 1.0)
            return [(first, rest), (node.scaled(first, 1.0, 1.0), part)]
        return [
            (node.scaled(first, 1.0, float(k)), self.cubic(node.scaled(part, 1.0, -k)))
            for k in (-1, 0, 1, 2)
        ]

    def cubic(self, distance: Tensor) -> Tensor:
        """The share of a tap, by Horner's rule in both of its pieces."""
        node = self.node
        x = node.activation(distance, "absolute")

        def polynomial(c3: float, c2: float, c1: float, c0: float) -> Tensor:
            y = node.scaled(x, c3, c2)
            y = node.scaled(node.binary("multiply", y, x), 1.0, c1)
            return node.scaled(node.binary("multiply", y, x), 1.0, c0)

        near = polynomial(A + 2, -(A + 3), 0.0, 1.0)
        far = polynomial(A, -5 * A, 8 * A, -4 * A)
        return node.graph.ops.select(node.compared("less_or_equal", x, 1.0), near, far)

    def inside(self, tap: Tensor) -> tuple[Tensor, Tensor | None]:
        """The pixel that a tap reads, and whether it counts."""
        node = self.node
        if self.mode == "reflection":
            tap = reflected(node, tap, *self.edges)
        if self.mode != "zeros":
            return self.limited(tap), None
        is_inside = node.compared(
            "logical_and",
            node.compared("greater_or_equal", tap, 0.0),
            node.compared("less_or_equal", tap, self.size - 1.0),
        )
        return self.limited(tap), is_inside


@maps("GridSample", attributes="mode padding_mode align_corners")
def grid_sample(node: Node) -> Tensor:
    x, grid = node.tensor(0), node.tensor(1)
    if len(x.shape) != 4 or len(grid.shape) != 4 or grid.shape[-1] != 2:
        raise Unmappable(
            f"it samples images at (x, y); this is {x.shape} at {grid.shape}"
        )
    mode = node.attribute("mode", "linear").removeprefix("bi")
    if mode not in ("nearest", "linear", "cubic"):
        raise Unmappable(f"samples are nearest, linear or cubic, not {mode}")
    if node.attribute("padding_mode", "zeros") not in ("zeros", "border", "reflection"):
        raise Unmappable(f"there is no padding {node.attribute('padding_mode')}")
    samples, channels, height, width = x.shape
    count = prod(grid.shape[1:3])
    flat = node.reshaped(grid, (samples, count, 2))
    both = parts_of(node, flat, (1, 1), 2)
    aligned = bool(node.attribute("align_corners", 0))
    axes = [
        Axis(node, node.reshaped(at, (samples, 1, count)), size, aligned)
        for at, size in zip(both, (width, height), strict=True)
    ]
    pixels = node.reshaped(x, (samples, channels, height * width))
    total: Tensor | None = None
    for row, row_share in axes[1].taps(mode):
        for column, column_share in axes[0].taps(mode):
            part = tap_of(node, pixels, axes, (row, column))
            for share in (row_share, column_share):
                part = part if share is None else node.binary("multiply", part, share)
            total = part if total is None else node.binary("add", total, part)
    assert total is not None
    return node.reshaped(total, (samples, channels, *grid.shape[1:3]))


def tap_of(
    node: Node, pixels: Tensor, axes: list[Axis], tap: tuple[Tensor, Tensor]
) -> Tensor:
    """The pixels that a tap reads, (N, C, samples); 0 outside."""
    ops = node.graph.ops
    row, is_row = axes[1].inside(tap[0])
    column, is_column = axes[0].inside(tap[1])
    row, column = (ops.cast(n, data_type="int32") for n in (row, column))
    width = node.known(np.full(1, axes[0].size, np.int32), "width")
    at = node.binary("add", node.binary("multiply", row, width), column)
    shape = (*pixels.shape[:2], at.shape[2])
    part = ops.gather(pixels, ops.broadcast_to(at, shape=shape), axis=2)
    for is_inside in (is_row, is_column):
        if is_inside is not None:
            part = ops.select(is_inside, part, node.number(0.0, part))
    return part


@maps("AffineGrid", attributes="align_corners", host=(1,))
def affine_grid(node: Node) -> Tensor:
    """The positions of an image's pixels, turned by a matrix (2, 3) of each sample."""
    theta = node.tensor()
    sizes = [int(n) for n in node.constant(1)]
    is_image = len(sizes) == 4 and 1 <= min(sizes) <= max(sizes) <= MOST_PIXELS
    if not is_image or theta.shape != (sizes[0], 2, 3):
        raise Unmappable(f"it is of images; this is {theta.shape} for {sizes}")
    samples, _, height, width = sizes
    aligned = bool(node.attribute("align_corners", 0))
    rows, columns = (shares(n, aligned) for n in (height, width))
    pixels = np.ones((height, width, 3), np.float32)
    pixels[..., 0], pixels[..., 1] = columns, rows[:, None]
    known = node.known(pixels.reshape(height * width, 3), "pixels")
    grid = node.graph.ops.matmul(known, theta, transposes_y=True)
    return node.reshaped(grid, (samples, height, width, 2))


def shares(size: int, aligned: bool) -> Array:
    """Middles of pixels, or from the first to the last one, as -1 to 1."""
    if aligned:
        return np.linspace(-1, 1, size)
    return (2 * np.arange(size) + 1) / size - 1
