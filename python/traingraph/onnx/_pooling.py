# SPDX-License-Identifier: MIT
"""Pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import layers
from ._network import Window, as_source, image, pad_automatically
from ._node import Node, maps
from ._pool_indices import indices_of
from ._problems import Unmappable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Tensor
    from .._core import ReductionTypeName


@maps(
    "MaxPool",
    "AveragePool",
    attributes=f"ceil_mode count_include_pad storage_order {Window.ATTRIBUTES}",
)
def pool(node: Node) -> Sequence[Tensor | None]:
    x = node.tensor()
    window = Window(node, node.required("kernel_shape"))
    pad_automatically(node, window, x.shape[2:])
    if node.attribute("ceil_mode", 0):
        return [ceil_pool(node, window), None]
    arguments = {"kernel_size": window.kernel_size(), **window.arguments()}
    if node.op_type == "AveragePool":
        y = node.graph.ops.average_pool_2d(
            image(node, x),
            count_includes_padding=bool(node.attribute("count_include_pad", 0)),
            **arguments,
            name=node.name,
        )
    else:
        # The state is the device's own.
        y, _ = node.graph.ops.max_pool_2d(image(node, x), **arguments)
    indices = indices_of(node, window) if node.wants(1) else None
    return [as_source(node, y, x), indices]


def ceil_pool(node: Node, window: Window) -> Tensor:
    """Pools by the layer, which has one padding for both sides of an axis."""
    half = len(window.pads) // 2
    if window.pads[:half] != window.pads[half:]:
        raise Unmappable("with ceil_mode both sides are padded alike")
    layer = layers.Pooling(
        "average" if node.op_type == "AveragePool" else "max",
        window.kernel_size()[-2:] if len(window.kernel) == 2 else window.kernel,
        window.strides,
        window.pads[:half],
        dilation_rates=window.dilations,
        count_includes_padding=bool(node.attribute("count_include_pad", 0)),
        ceil_mode=True,
    )
    return node.layer(layer, node.tensor())


@maps("LpPool", attributes=f"p ceil_mode {Window.ATTRIBUTES}")
def lp_pool(node: Node) -> Tensor:
    window = Window(node, node.required("kernel_shape"))
    if node.attribute("p", 2) != 2:
        raise Unmappable(
            f"the norm of a window is L2; this is p = {node.attribute('p')}"
        )
    mode = node.attribute("auto_pad", "NOTSET")
    if mode == "SAME_LOWER" or any(window.pads) or node.attribute("ceil_mode", 0):
        raise Unmappable("it has padding of its own")
    layer = layers.Pooling(
        "l2_norm",
        window.kernel,
        window.strides,
        "same" if mode == "SAME_UPPER" else "valid",
        dilation_rates=window.dilations,
    )
    return node.layer(layer, node.tensor())


@maps("GlobalAveragePool", "GlobalMaxPool")
def global_pool(node: Node) -> Tensor:
    kind: ReductionTypeName = "mean" if node.op_type == "GlobalAveragePool" else "max"
    axes = list(range(2, len(node.tensor().shape)))
    if not axes:  # of (N, C): nothing to reduce
        return node.reshaped(node.tensor(), node.shape())
    return node.graph.ops.reduce(node.tensor(), type=kind, axes=axes, name=node.name)
