# SPDX-License-Identifier: MIT
"""Layers for random graphs: sequences, attention, normalizations and indices.

Each function takes the graph that grows, a value (N, a, b, c) of it here and in
PyTorch, adds a layer with random options on both sides, and returns its results
as such values. PyTorch's side is spelled out where its own layer lacks an option.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

import traingraph as tg

if TYPE_CHECKING:
    from .random_graph import RandomGraph

    Results = list[tuple[tg.Tensor, torch.Tensor]]

Layers = tg.layers
# The variance of a few numbers magnifies rounding errors.
EPSILON, FEWEST = 0.1, 6


def dense(net: RandomGraph, x: tg.Tensor, there: torch.Tensor) -> Results:
    count = net.choose.randint(1, net.widest)
    # Of the last axis, but of the channels of images of one pixel.
    axis = 1 if x.shape[2:] == (1, 1) else 3
    layer = Layers.FullyConnected(
        weights=net.weights(count, x.shape[axis]), biases=net.random(count)
    )
    weights, biases = net.twin(layer.weights), net.twin(layer.biases)
    product = F.linear(there.movedim(axis, 3), weights, biases).movedim(3, axis)
    return [(net.graph.node(layer, x), product)]


def layer_norm(net: RandomGraph, x: tg.Tensor, there: torch.Tensor) -> Results:
    axes = sorted(net.choose.sample((1, 2, 3), net.choose.randint(1, 3)))
    sizes = [x.shape[axis] for axis in axes]
    if math.prod(sizes) < FEWEST:
        return []
    gamma, beta = net.some_parameters(*sizes)
    layer = Layers.LayerNormalization(
        sizes,
        beta,
        gamma,
        EPSILON,
        axes=axes,
        uses_parameters=beta is not None or gamma is not None,
    )
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    result = scaled(net, layer, normalized(there, axes), shape)
    return [(net.graph.node(layer, x), result)]


def group_norm(net: RandomGraph, x: tg.Tensor, there: torch.Tensor) -> Results:
    n, channels = x.shape[:2]
    counts = [i for i in range(1, channels + 1) if channels % i == 0]
    groups = net.choose.choice(counts)
    if math.prod(x.shape[1:]) // groups < FEWEST:
        return []
    gamma, beta = net.some_parameters(channels)
    layer = Layers.GroupNormalization(
        channels,
        groups,
        beta,
        gamma,
        EPSILON,
        uses_parameters=beta is not None or gamma is not None,
    )
    parts = normalized(there.reshape(n, groups, -1), [2])
    result = scaled(net, layer, parts.reshape(x.shape), [channels, 1, 1])
    return [(net.graph.node(layer, x), result)]


def instance_norm(net: RandomGraph, x: tg.Tensor, there: torch.Tensor) -> Results:
    if x.shape[2] * x.shape[3] < FEWEST:
        return []
    gamma, beta = net.some_parameters(x.shape[1])
    # Running statistics change nothing in training.
    running = net.choose.random() < 0.3
    layer = Layers.InstanceNormalization(
        x.shape[1],
        beta,
        gamma,
        EPSILON,
        mean=net.random(x.shape[1]) if running else None,
        variance=1 + net.random(x.shape[1]) ** 2 if running else None,
        uses_parameters=beta is not None or gamma is not None,
    )
    result = scaled(net, layer, normalized(there, [2, 3]), [x.shape[1], 1, 1])
    return [(net.graph.node(layer, x), result)]


def normalized(there: torch.Tensor, axes: list[int]) -> torch.Tensor:
    centred = there - there.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True) + EPSILON).sqrt()


def scaled(
    net: RandomGraph, layer: Any, there: torch.Tensor, shape: list[int]
) -> torch.Tensor:
    if layer.gamma is not None:
        there = there * net.twin(layer.gamma).reshape(shape)
    if layer.beta is not None:
        there = there + net.twin(layer.beta).reshape(shape)
    return there


def embedding(net: RandomGraph, x: tg.Tensor, there: torch.Tensor) -> Results:
    """Added to a value, whose last axis gives the width."""
    count, width = net.choose.randint(1, net.widest), x.shape[3]
    options = {
        "padding_index": net.choose.choice((None, count - 1)),
        "maximum_norm": net.choose.choice((None, 1.0)),
        "scales_gradient_by_frequency": net.choose.random() < 0.3,
    }
    weights = net.random(count, width)
    layer = Layers.Embedding(count, width, weights=weights, **options)
    table = net.twin(layer.weights)
    net.changes_rows |= options["maximum_norm"] is not None
    shape = net.choose.choice((x.shape[:3], (x.shape[0], x.shape[1], 1)))
    indices, indices_there = net.indices(shape, count)
    rows = F.embedding(
        indices_there,
        table,
        options["padding_index"],
        options["maximum_norm"],
        scale_grad_by_freq=options["scales_gradient_by_frequency"],
    )
    looked_up = net.graph.node(layer, indices)
    return [(net.graph.ops.binary(x, looked_up, operation="add"), there + rows)]


def gather(net: RandomGraph, x: tg.Tensor, there: torch.Tensor) -> Results:
    axis, indices, wide = some_indices(net, x)
    layer = Layers.Gather(net.choose.choice((axis, axis - 4)))
    result = taken(there, axis, wide)
    return [(net.graph.node(layer, [x, indices]), result)]


def scatter(net: RandomGraph, x: tg.Tensor, there: torch.Tensor) -> Results:
    """Elements of the value itself, squashed, into the value."""
    axis, indices, wide = some_indices(net, x)
    source = net.graph.ops.gather(net.graph.node(Layers.Tanh(), x), indices, axis=axis)
    source_there = taken(torch.tanh(there), axis, wide)
    if net.choose.random() < 0.5:
        # To other places than they come from.
        count = wide.shape[axis]
        is_slices = len(indices.shape) == 1
        shape = (count,) if is_slices else wide.shape
        indices, wide = net.indices(shape, x.shape[axis], varies=not is_slices)
        wide = expanded(wide, there, axis)
    kind = net.choose.choice(("none", "sum"))
    result = there
    places = torch.arange(x.shape[axis]).reshape([-1] + [1] * (3 - axis))
    for i in range(wide.shape[axis]):  # in order: the last one stays
        part = source_there.narrow(axis, i, 1)
        other = part + result if kind == "sum" else part
        result = torch.where(places == wide.narrow(axis, i, 1), other, result)
    layer = Layers.Scatter(axis, kind)
    return [(net.graph.node(layer, [source, indices, x]), result)]


def some_indices(net: RandomGraph, x: tg.Tensor) -> tuple[int, tg.Tensor, torch.Tensor]:
    """An axis, indices along it, and the same for each element."""
    axis = net.some_axis()
    count = net.choose.randint(1, net.widest)
    is_slices = net.choose.random() < 0.5
    shape = (count,) if is_slices else (*x.shape[:axis], count, *x.shape[axis + 1 :])
    indices, there = net.indices(shape, x.shape[axis], varies=not is_slices)
    return axis, indices, expanded(there, torch.empty(x.shape), axis)


def expanded(indices: torch.Tensor, like: torch.Tensor, axis: int) -> torch.Tensor:
    if indices.dim() == 4:
        return indices
    shape = [*like.shape[:axis], len(indices), *like.shape[axis + 1 :]]
    return indices.reshape([-1] + [1] * (3 - axis)).expand(shape)


def taken(there: torch.Tensor, axis: int, wide: torch.Tensor) -> torch.Tensor:
    return torch.gather(there, axis, wide)


STEPS = (dense, layer_norm, group_norm, instance_norm, embedding, gather, scatter)
