# SPDX-License-Identifier: MIT
"""Normalizations, in the forms that train."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import layers
from ._node import Node, maps
from ._problems import Unmappable
from ._trainable import has_no_effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Tensor


def is_computed(node: Node) -> bool:
    """Is scale or bias a result of the graph, which no layer has as a parameter?"""
    return any(node.has(k) and not node.is_constant(k) for k in (1, 2))


def is_plain(node: Node) -> bool:
    """Does scaling and shifting by constants change nothing?"""
    return (
        node.is_constant(1)
        and node.is_constant(2)
        and not any(node.model.is_trained(node.names[k]) for k in (1, 2))
        and has_no_effect(node.constant(1), node.constant(2))
    )


def by_op(
    node: Node, axis: int, groups: int, epsilon: float, of_groups: bool = False
) -> Tensor:
    plain = is_plain(node)
    scale, bias = (
        node.tensor(k) if node.has(k) and not plain else None for k in (1, 2)
    )
    if of_groups and not plain:  # one number for all channels of a group
        channels = node.tensor().shape[1]
        shape = (groups, channels // groups)
        scale, bias = (
            node.reshaped(
                node.graph.ops.broadcast_to(node.reshaped(t, (groups, 1)), shape=shape),
                (channels,),
            )
            for t in (node.tensor(1), node.tensor(2))
        )
    y, *_ = node.graph.ops.sample_norm(
        node.tensor(),
        scale,
        bias,
        axis=axis,
        groups=groups,
        epsilon=epsilon,
        name=node.name,
    )
    return y


def statistic(node: Node, index: int) -> Tensor:
    """A tensor of its own: several layers that begin alike move apart."""
    name = node.names[index]
    array = node.constant(index)
    own = node.model.names.tensor(f"{name} of {node.name}")
    unique = name if name not in node.model.statistics else own
    return node.model.parameter_tensor(unique, array, is_trained=False)


@maps(
    "BatchNormalization",
    attributes="epsilon momentum training_mode spatial",
    host=(1, 2, 3, 4),
)
def batch_normalization(node: Node) -> Sequence[Tensor | None]:
    if not node.attribute("spatial", 1):
        raise Unmappable("statistics are those of channels")
    x = node.tensor()
    mean, variance = statistic(node, 3), statistic(node, 4)
    if is_computed(node):
        y, *_ = node.graph.ops.batch_norm(
            x,
            node.tensor(1),
            node.tensor(2),
            mean,
            variance,
            epsilon=node.attribute("epsilon", 1e-5),
            momentum=node.attribute("momentum", 0.9),
            name=node.name,
        )
        node.model.statistics.update({t.name: t for t in (mean, variance)})
        return [y, *[None] * (len(node.outputs) - 1)]
    layer = layers.BatchNormalization(
        x.shape[1],
        mean=mean,
        variance=variance,
        gamma=node.parameter(1),
        beta=node.parameter(2),
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
    channels = x.shape[1]
    epsilon = node.attribute("epsilon", 1e-5)
    is_instance = node.op_type == "InstanceNormalization"
    groups = channels if is_instance else node.required("num_groups")
    if groups < 1 or channels % groups != 0:
        raise Unmappable(f"{channels} channels are no {groups} groups")
    if not is_instance and node.opset < 21 and node.shape(1) == (groups,):
        return by_op(node, 1, groups, epsilon, of_groups=True)
    if node.shape(1) != (channels,):
        raise Unmappable(f"scale and bias are of {channels} channels")
    if is_computed(node) or is_plain(node):
        return by_op(node, 1, groups, epsilon)
    options: dict[str, Any] = {
        "gamma": node.parameter(1),
        "beta": node.parameter(2),
        "variance_epsilon": epsilon,
    }
    if is_instance:
        return node.layer(layers.InstanceNormalization(channels, **options), x)
    return node.layer(layers.GroupNormalization(channels, groups, **options), x)


@maps("LayerNormalization", attributes="axis epsilon stash_type", host=(1, 2))
def layer_normalization(node: Node) -> Sequence[Tensor | None]:
    x = node.tensor()
    axis = node.axis(node.attribute("axis", -1), len(x.shape))
    epsilon = node.attribute("epsilon", 1e-5)
    if is_computed(node):
        y = by_op(node, axis, 0, epsilon)
    else:
        layer = layers.LayerNormalization(
            x.shape[axis:],
            gamma=node.parameter(1),
            beta=node.parameter(2) if node.has(2) else None,
            variance_epsilon=epsilon,
        )
        y = node.layer(layer, x)
    if not node.wants(1) and not node.wants(2):
        return [y]
    _, mean, variance = node.graph.ops.sample_norm(x, axis=axis)
    shifted = node.scaled(variance, 1.0, epsilon)
    return [y, mean, node.unary("rsqrt", shifted)]


@maps("LRN", attributes="alpha beta bias size")
def local_response_normalization(node: Node) -> Tensor:
    """Takes means over windows of channels, which are rows of an image for it."""
    x = node.tensor()
    if len(x.shape) < 3:
        raise Unmappable(f"its source has spatial axes; this is {x.shape}")
    samples, channels, *sizes = x.shape
    size = node.required("size")
    rows = node.reshaped(
        node.binary("multiply", x, x), (samples, 1, channels, math.prod(sizes))
    )
    means = node.graph.ops.average_pool_2d(
        rows,
        kernel_size=(size, 1),
        padding=((size - 1) // 2, size // 2, 0, 0),
        count_includes_padding=True,
    )
    base = node.scaled(
        node.reshaped(means, x.shape),
        node.attribute("alpha", 1e-4),
        node.attribute("bias", 1.0),
    )
    power = node.model.parameter_tensor(
        node.model.names.unique(f"{node.name}.beta"),
        np.full(1, -node.attribute("beta", 0.75), np.float32),
        is_trained=False,
    )
    return node.binary("multiply", x, node.binary("pow", base, power))


@maps("RMSNormalization", attributes="axis epsilon stash_type")
def rms_normalization(node: Node) -> Tensor:
    """x by the root of the mean of its squares, times a scale."""
    x, scale = node.tensor(0), node.tensor(1)
    rank = len(x.shape)
    axes = range(node.axis(node.attribute("axis", -1), rank), rank)
    square = node.binary("multiply", x, x)
    mean = node.graph.ops.reduce(square, type="mean", axes=axes)
    shifted = node.scaled(mean, 1.0, node.attribute("epsilon", 1e-5))
    y = node.binary("multiply", x, node.unary("rsqrt", shifted))
    return node.binary("multiply", y, scale)


@maps("MeanVarianceNormalization", attributes="axes")
def mean_variance_normalization(node: Node) -> Tensor:
    x = node.tensor()
    axes = [node.axis(k, len(x.shape)) for k in node.attribute("axes", [0, 2, 3])]
    mean = node.graph.ops.reduce(x, type="mean", axes=axes)
    away = node.binary("subtract", x, mean)
    square = node.binary("multiply", away, away)
    variance = node.graph.ops.reduce(square, type="mean", axes=axes)
    deviation = node.scaled(node.unary("sqrt", variance), 1.0, 1e-9)
    return node.binary("divide", away, deviation)


@maps("LpNormalization", attributes="axis p")
def lp_normalization(node: Node) -> Tensor:
    """Divides by a norm; where that is 0, so is the result."""
    x = node.tensor()
    p, axes = (
        node.attribute("p", 2),
        [node.axis(node.attribute("axis", -1), len(x.shape))],
    )
    if p not in (1, 2):
        raise Unmappable(f"the norm is L1 or L2; this is p = {p}")
    if p == 1:
        norm = node.graph.ops.reduce(x, type="l1_norm", axes=axes)
    else:
        square = node.binary("multiply", x, x)
        norm = node.unary("sqrt", node.graph.ops.reduce(square, type="sum", axes=axes))
    return node.binary("divide_no_nan", x, norm)
