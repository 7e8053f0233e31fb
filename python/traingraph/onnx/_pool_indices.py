# SPDX-License-Identifier: MIT
"""Indices of max pooling, and MaxUnpool, which puts elements back where they were.

ONNX counts positions over all samples; so does a constant of the batch here, and the
graph runs its full size alone.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ._elementwise import FLOAT_MAX
from ._network import Window, image, numbers
from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from .. import Tensor


MOST_TAPS = 1024
"""Elements of a window: each is a slice of the source."""


def indices_of(node: Node, window: Window) -> Tensor:
    """Where in the source the maximum of each window is, the first of equals."""
    if node.attribute("storage_order", 0):
        raise Unmappable("its indices are of columns (storage_order=1)")
    x, ops = image(node, node.tensor()), node.graph.ops
    samples, channels, height, width = x.shape
    given = window.arguments()
    strides, dilations = given["strides"], given["dilation_rates"]
    top, bottom, left, right = given["padding"]
    padded = ops.pad(
        x,
        type="constant",
        before=(0, 0, top, left),
        after=(0, 0, bottom, right),
        value=-FLOAT_MAX,
    )
    sizes = (height + top + bottom, width + left + right)
    kernel = window.kernel_size()
    results = [
        (size - (k - 1) * dilation - 1) // stride + 1
        for size, k, dilation, stride in zip(
            sizes, kernel, dilations, strides, strict=True
        )
    ]
    if prod(kernel) > MOST_TAPS or min(results) < 1:
        raise Unmappable(
            f"its windows of {kernel} are not of {MOST_TAPS} elements at most"
        )
    taps, offsets = [], []
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            start = (row * dilations[0], column * dilations[1])
            end = [
                first + (count - 1) * stride + 1
                for first, count, stride in zip(start, results, strides, strict=True)
            ]
            tap = ops.slice(
                padded,
                start=(0, 0, *start),
                end=(samples, channels, *end),
                stride=(1, 1, *strides),
            )
            taps.append(node.reshaped(tap, (samples, channels, 1, *results)))
            offsets.append(start[0] * width + start[1])
    together = taps[0] if len(taps) == 1 else ops.concatenate(*taps, axis=2)
    winner = node.reshaped(ops.reduce(together, type="arg_max", axes=(2,)), (-1,))
    offset = ops.gather(node.known(np.asarray(offsets), "offsets"), winner, axis=0)
    rows = np.arange(results[0])[:, None] * strides[0] - top
    origin = rows * width + np.arange(results[1]) * strides[1] - left
    plane = np.arange(samples * channels).reshape(samples, channels, 1, 1)
    origin = origin + plane * (height * width)
    shape = (samples, channels, *results)
    y = node.binary("add", node.reshaped(offset, shape), node.known(origin, "origins"))
    is_image = len(node.tensor().shape) == 4
    return y if is_image else node.reshaped(y, (samples, channels, results[1]))


@maps("MaxUnpool", attributes="kernel_shape pads strides", host=(2,))
def max_unpool(node: Node) -> Tensor:
    x, at, ops = node.tensor(0), node.tensor(1), node.graph.ops
    kernel = node.required("kernel_shape")
    axes = len(x.shape) - 2
    if len(kernel) != axes or at.shape != x.shape:
        raise Unmappable(f"its windows are {kernel}, of {x.shape} at {at.shape}")
    strides = numbers(node, "strides", [1] * axes)
    pads = numbers(node, "pads", [0] * (2 * axes))
    samples, channels, *sizes = x.shape
    inferred = [
        (size - 1) * stride + k - pads[axis] - pads[axis + axes]
        for axis, (size, stride, k) in enumerate(
            zip(sizes, strides, kernel, strict=True)
        )
    ]
    count = channels * prod(inferred)
    if count < 1:
        raise Unmappable(f"its result has the sizes {inferred}")
    flat, own = (node.reshaped(t, (samples, -1)) for t in (x, at))
    first = np.arange(samples).reshape(-1, 1) * count
    own = node.binary(
        "subtract", own, node.known(first.astype(own.data_type.name), "first")
    )
    zeros = ops.fill(shape=(samples, count), value=0.0)
    y = node.reshaped(
        ops.scatter(flat, own, zeros, axis=1), (samples, channels, *inferred)
    )
    if not node.has(2):
        return y
    wanted = [int(n) for n in node.constant(2)]
    after = [n - size for n, size in zip(wanted, y.shape, strict=True)]
    if min(after) < 0:
        raise Unmappable(f"its result {y.shape} is larger than {wanted}")
    return ops.pad(y, type="constant", before=[0] * len(after), after=after, value=0.0)
