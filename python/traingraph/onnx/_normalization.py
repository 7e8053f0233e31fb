# SPDX-License-Identifier: MIT
"""Normalizations, in the forms that train."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import layers
from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Tensor


def parameter(node: Node, index: int) -> Tensor:
    """An input that a layer has as a parameter."""
    node.constant(index)  # raises where it is computed
    return node.tensor(index)


def statistic(node: Node, index: int) -> Tensor:
    """A tensor of its own: several layers that begin alike move apart."""
    name = node.names[index]
    array = node.constant(index)
    own = node.model.free_label(f"{name} of {node.name}")
    label = name if name not in node.model.statistics else own
    return node.model.parameter_tensor(label, array, is_trained=False)


@maps(
    "BatchNormalization",
    attributes="epsilon momentum training_mode spatial",
    host=(1, 2, 3, 4),
)
def batch_normalization(node: Node) -> Sequence[Tensor | None]:
    if not node.attribute("spatial", 1):
        raise Unmappable("statistics are those of channels")
    x = node.tensor()
    layer = layers.BatchNormalization(
        x.shape[1],
        mean=statistic(node, 3),
        variance=statistic(node, 4),
        gamma=parameter(node, 1),
        beta=parameter(node, 2),
        variance_epsilon=node.attribute("epsilon", 1e-5),
        momentum=node.attribute("momentum", 0.9),
    )
    return [node.layer(layer, x), *[None] * (len(node.outputs) - 1)]


@maps(
    "InstanceNormalization",
    "GroupNormalization",
    attributes="epsilon num_groups stash_type",
    host=(1, 2),
)
def group_normalization(node: Node) -> Tensor:
    x = node.tensor()
    options: dict[str, Any] = {
        "gamma": parameter(node, 1),
        "beta": parameter(node, 2),
        "variance_epsilon": node.attribute("epsilon", 1e-5),
    }
    channels = x.shape[1]
    if node.op_type == "InstanceNormalization":
        return node.layer(layers.InstanceNormalization(channels, **options), x)
    groups = node.required("num_groups")
    if options["gamma"].shape != (channels,):
        raise Unmappable("scale and bias are of channels, as from opset 21 on")
    return node.layer(layers.GroupNormalization(channels, groups, **options), x)


@maps("LayerNormalization", attributes="axis epsilon stash_type", host=(1, 2))
def layer_normalization(node: Node) -> Sequence[Tensor | None]:
    x = node.tensor()
    axis = node.axis(node.attribute("axis", -1), len(x.shape))
    epsilon = node.attribute("epsilon", 1e-5)
    layer = layers.LayerNormalization(
        x.shape[axis:],
        gamma=parameter(node, 1),
        beta=parameter(node, 2) if node.has(2) else None,
        variance_epsilon=epsilon,
    )
    y = node.layer(layer, x)
    if not node.wants(1) and not node.wants(2):
        return [y]
    _, mean, variance = node.graph.sample_norm(x, axis=axis)
    shifted = node.scaled(variance, 1.0, epsilon)
    return [y, mean, node.unary("rsqrt", shifted)]
