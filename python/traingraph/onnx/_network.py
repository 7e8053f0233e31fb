# SPDX-License-Identifier: MIT
"""Products and convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Tensor


@maps("MatMul")
def matmul(node: Node) -> Tensor:
    x, y = node.tensors()
    # NumPy's rule for vectors: a row on the left, a column on the right.
    is_row, is_column = len(x.shape) == 1, len(y.shape) == 1
    if is_row:
        x = node.reshaped(x, (1, *x.shape))
    if is_column:
        y = node.reshaped(y, (*y.shape, 1))
    z = node.graph.ops.matmul(x, y, name=node.name)
    if not is_row and not is_column:
        return z
    sizes = list(z.shape[:-2])
    sizes += [] if is_row else [z.shape[-2]]
    sizes += [] if is_column else [z.shape[-1]]
    return node.reshaped(z, sizes)


@maps("Gemm", attributes="alpha beta transA transB")
def gemm(node: Node) -> Tensor:
    options: dict[str, Any] = {
        "alpha": node.attribute("alpha", 1.0),
        "transposes_x": bool(node.attribute("transA", 0)),
        "transposes_y": bool(node.attribute("transB", 0)),
        "name": node.name,
    }
    x, y = node.tensor(0), node.tensor(1)
    if not node.has(2):
        return node.graph.ops.matmul(x, y, **options)
    c, beta = node.tensor(2), node.attribute("beta", 1.0)
    columns = y.shape[0 if options["transposes_y"] else 1]
    if beta == 1 and c.shape in ((columns,), (1, columns)):
        bias = c if len(c.shape) == 1 else node.reshaped(c, (columns,))
        return node.graph.ops.matmul(x, y, bias, **options)
    return node.binary(
        "add", node.graph.ops.matmul(x, y, **options), node.scaled(c, beta)
    )


def numbers(node: Node, name: str, default: Sequence[int]) -> list[int]:
    """An attribute with as many entries as its default."""
    values = list(node.attribute(name, default))
    if len(values) != len(default):
        raise Unmappable(f"{name} has {len(values)} entries, not {len(default)}")
    return values


class Window:
    """Sizes of a convolution or pooling window over the trailing axes."""

    ATTRIBUTES = "auto_pad kernel_shape strides dilations pads"

    def __init__(self, node: Node, kernel: Sequence[int]) -> None:
        if len(kernel) not in (1, 2):
            raise Unmappable(
                f"windows have one or two spatial axes; this has {len(kernel)}"
            )
        ones = [1] * len(kernel)
        self.kernel = numbers(node, "kernel_shape", kernel)
        self.strides = numbers(node, "strides", ones)
        self.dilations = numbers(node, "dilations", ones)
        self.pads = numbers(node, "pads", [0] * (2 * len(ones)))
        if min(self.pads) < 0:
            raise Unmappable("it pads by less than nothing")
        self.extents = [
            (k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)
        ]

    def halve(self, totals: Sequence[int], *, is_lower: bool) -> None:
        """Splits paddings in two; an odd one is larger before or after."""
        small = [max(total, 0) // 2 for total in totals]
        large = [max(total, 0) - s for total, s in zip(totals, small, strict=True)]
        self.pads = large + small if is_lower else small + large

    def arguments(self) -> dict[str, Any]:
        """Gives the window as traingraph's ops take it: two axes, (top, bottom, left, right)."""
        missing = 2 - len(self.kernel)
        half = len(self.pads) // 2
        before = [0] * missing + self.pads[:half]
        after = [0] * missing + self.pads[half:]
        return {
            "strides": [1] * missing + self.strides,
            "dilation_rates": [1] * missing + self.dilations,
            "padding": (before[0], after[0], before[1], after[1]),
        }

    def kernel_size(self) -> list[int]:
        return [1] * (2 - len(self.kernel)) + self.kernel


def pad_automatically(node: Node, window: Window, sizes: Sequence[int]) -> None:
    mode = node.attribute("auto_pad", "NOTSET")
    if mode not in ("SAME_UPPER", "SAME_LOWER"):
        return
    totals = [
        (-(-size // stride) - 1) * stride + extent - size
        for size, stride, extent in zip(
            sizes, window.strides, window.extents, strict=True
        )
    ]
    window.halve(totals, is_lower=mode == "SAME_LOWER")


def image(node: Node, x: Tensor) -> Tensor:
    """(N, C, W) as (N, C, 1, W)."""
    if len(x.shape) != 3:
        return x
    return node.reshaped(x, (*x.shape[:2], 1, x.shape[2]))


def as_source(node: Node, y: Tensor, x: Tensor) -> Tensor:
    """Drops the axis that image() added to `x`."""
    if len(x.shape) != 3:
        return y
    return node.reshaped(y, (*y.shape[:2], y.shape[3]))


@maps("Conv", attributes=f"group {Window.ATTRIBUTES}")
def conv(node: Node) -> Tensor:
    x, weights = node.tensor(0), node.tensor(1)
    window = Window(node, weights.shape[2:])
    pad_automatically(node, window, x.shape[2:])
    y = node.graph.ops.convolution_2d(
        image(node, x),
        image(node, weights),
        node.tensor(2) if node.has(2) else None,
        groups=node.attribute("group", 1),
        **window.arguments(),
        name=node.name,
    )
    return as_source(node, y, x)


@maps(
    "ConvTranspose",
    attributes=f"group output_padding output_shape {Window.ATTRIBUTES}",
)
def conv_transpose(node: Node) -> Tensor:
    # The input gradient of a convolution whose weights (out, in / groups, ...)
    # are ONNX's (in, out / groups, ...).
    x, weights = node.tensor(0), node.tensor(1)
    groups = node.attribute("group", 1)
    window = Window(node, weights.shape[2:])
    sizes = transposed_sizes(node, window, x)
    y = node.graph.ops.convolution_2d_input_gradient(
        image(node, x),
        image(node, weights),
        shape=(
            x.shape[0],
            weights.shape[1] * groups,
            *([1] * (2 - len(sizes))),
            *sizes,
        ),
        groups=groups,
        **window.arguments(),
        name=node.name,
    )
    if node.has(2):
        bias = node.tensor(2)
        y = node.binary("add", y, node.reshaped(bias, (bias.shape[0], 1, 1)))
    return as_source(node, y, x)


def transposed_sizes(node: Node, window: Window, x: Tensor) -> list[int]:
    mode = node.attribute("auto_pad", "NOTSET")
    extras = numbers(node, "output_padding", [0] * len(window.kernel))
    for extra, stride in zip(extras, window.strides, strict=True):
        if not 0 <= extra < stride:
            raise Unmappable(
                f"output_padding is 0 or more and less than the stride, {stride} "
                f"on this axis; this is {extra}"
            )
    full = [
        stride * (size - 1) + extent + extra
        for stride, size, extent, extra in zip(
            window.strides, x.shape[2:], window.extents, extras, strict=True
        )
    ]
    half = len(full)
    if "output_shape" in node.attributes:
        sizes = numbers(node, "output_shape", full)
    elif mode.startswith("SAME"):
        sizes = [n * s for n, s in zip(x.shape[2:], window.strides, strict=True)]
    else:
        pads = zip(window.pads[:half], window.pads[half:], strict=True)
        sizes = [f - sum(pair) for f, pair in zip(full, pads, strict=True)]
        return result_sizes(sizes, full, window, extras)
    totals = [f - size for f, size in zip(full, sizes, strict=True)]
    window.halve(totals, is_lower=mode != "SAME_UPPER")
    return result_sizes(sizes, full, window, extras)


def result_sizes(
    sizes: list[int], full: list[int], window: Window, extras: list[int]
) -> list[int]:
    """Checks sizes: those of an unpadded result, and up to a stride less one more."""
    for size, most, stride, extra in zip(
        sizes, full, window.strides, extras, strict=True
    ):
        largest = most - extra + stride - 1
        if not 1 <= size <= largest:
            raise Unmappable(
                f"the size of a result is 1 to {largest} with this window, stride "
                f"and source; this is {size}"
            )
    return sizes
