# SPDX-License-Identifier: MIT
"""What random networks of `test_properties` are made of: a family adds a node with
sizes that mostly fit, and says which shape the documentation promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

Shape = tuple[int, ...]
Layers = tg.layers


class Step(NamedTuple):
    """A node: its family, which older tensor it reads, and three small sizes,
    which mostly fit."""

    family: str
    back: int
    a: int
    b: int
    c: int


class Case(NamedTuple):
    """What a step adds to a graph, and the shape that the headers promise."""

    add: Callable[[tg.Graph], tg.Tensor]
    shape: Shape


def of_layer(layer: Any, sources: list[tg.Tensor], shape: Shape) -> Case:
    return Case(lambda graph: graph.node(layer, sources), shape)


def same_shape(make: Callable[[Step], Any]) -> Callable[..., Case]:
    return lambda step, x, _: of_layer(make(step), [x], x.shape)


def dense(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    layer = Layers.FullyConnected(x.shape[-1], step.a, uses_biases=step.b != 1)
    is_image = len(x.shape) == 4 and x.shape[1:] == (1, 1, 1)
    shape = (x.shape[0], step.a, 1, 1) if is_image else (*x.shape[:-1], step.a)
    return of_layer(layer, [x], shape)


def strided(extent: int, kernel: int, stride: int) -> int:
    """Without padding. Strides below 1 are refused, so that any number will do."""
    return (extent - kernel) // max(stride, 1) + 1


def convolution(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    layer = Layers.Convolution(
        x.shape[1], step.a, step.b, strides=step.c, padding="same"
    )
    n, _, *extents = x.shape
    return of_layer(
        layer, [x], (n, step.a, *(-(-e // max(step.c, 1)) for e in extents))
    )


def depthwise(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    n, channels, *extents = x.shape
    layer = Layers.Convolution(
        channels,
        step.a * channels,
        step.b,
        padding="valid",
        strides=step.c,
        convolution_type="depthwise",
    )
    sizes = (strided(e, step.b, step.c) for e in extents)
    return of_layer(layer, [x], (n, step.a * channels, *sizes))


def transposed(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    n, channels, *extents = x.shape
    layer = Layers.Convolution(
        channels,
        step.a,
        step.b,
        strides=step.c,
        padding="valid",
        convolution_type="transposed",
    )
    return of_layer(
        layer, [x], (n, step.a, *((e - 1) * step.c + step.b for e in extents))
    )


def pooling(cls: Any) -> Callable[..., Case]:
    def case(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
        sizes = (strided(e, step.a, step.b or step.a) for e in x.shape[2:])
        return of_layer(cls(step.a, step.b or None), [x], (*x.shape[:2], *sizes))

    return case


def padding(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    layer = Layers.ConstantPadding((step.a, step.b, step.c, 0), 0.5)
    *lead, h, w = x.shape
    return of_layer(layer, [x], (*lead, h + step.a + step.b, w + step.c))


def binary(operation: str) -> Callable[..., Case]:
    def case(_: Step, x: tg.Tensor, y: tg.Tensor) -> Case:
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            shape = ()  # refused
        return of_layer(Layers.Arithmetic(operation), [x, y], shape)

    return case


def selection(_: Step, x: tg.Tensor, y: tg.Tensor) -> Case:
    def add(graph: tg.Graph) -> tg.Tensor:
        return graph.ops.select(graph.node(Layers.Comparison("less"), [x, y]), x, y)

    return Case(add, binary("add")(_, x, y).shape)


def reduction(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    axis = step.a
    shape = list(x.shape)
    shape[axis % len(shape)] = 1
    layer = Layers.Reduction("mean" if step.b > 2 else "max", axis)
    return of_layer(layer, [x], tuple(shape))


def flatten(_: Step, x: tg.Tensor, __: tg.Tensor) -> Case:
    size = int(np.prod(x.shape[1:]))
    return Case(
        lambda graph: graph.ops.reshape(x, shape=(x.shape[0], -1)), (x.shape[0], size)
    )


def transpose(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    axes = list(range(len(x.shape)))
    axes.append(axes.pop(step.a % len(axes) or -1))
    return Case(
        lambda graph: graph.ops.transpose(x, axes=axes),
        tuple(x.shape[axis] for axis in axes),
    )


def concatenation(step: Step, x: tg.Tensor, y: tg.Tensor) -> Case:
    axis = step.a % len(x.shape)
    shape = list(x.shape)
    shape[axis] += y.shape[axis] if axis < len(y.shape) else 0
    return Case(lambda graph: graph.ops.concatenate(x, y, axis=axis), tuple(shape))


def split(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    axis = step.b % len(x.shape)
    shape = list(x.shape)
    shape[axis] = -(-shape[axis] // max(step.a, 1))
    return Case(lambda graph: graph.ops.split(x, step.a, axis)[0], tuple(shape))


def as_sequence(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    return graph.ops.reshape(x, shape=(*x.shape[:2], -1))


def features(x: tg.Tensor) -> int:
    return int(np.prod(x.shape[2:]))


def lstm(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    bidirectional, returns_sequences = step.c > 2, step.c != 1
    layer = Layers.LSTM(
        features(x),
        step.a,
        step.b,
        bidirectional=bidirectional,
        returns_sequences=returns_sequences,
    )
    steps = x.shape[1] if returns_sequences else 1
    shape = (x.shape[0], steps, 1, step.a * (1 + bidirectional))

    def add(graph: tg.Graph) -> tg.Tensor:
        return graph.ops.reshape(graph.node(layer, as_sequence(graph, x)), shape=shape)

    return Case(add, shape)


def attention(step: Step, x: tg.Tensor, y: tg.Tensor) -> Case:
    layer = Layers.MultiheadAttention(
        features(x),
        step.a,
        step.a * step.b,
        step.a * step.c,
        key_source_dimension=features(y),
        value_source_dimension=features(y),
        adds_zero_attention=step.b == 1,
    )
    shape = (*x.shape[:2], 1, features(x))

    def add(graph: tg.Graph) -> tg.Tensor:
        query, key = as_sequence(graph, x), as_sequence(graph, y)
        return graph.ops.reshape(graph.node(layer, [query, key, key]), shape=shape)

    return Case(add, shape)


def layer_norm(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    axes = sorted({1 + step.a % (len(x.shape) - 1), len(x.shape) - 1})
    sizes = [x.shape[axis] for axis in axes]
    # A size of 0 or less is refused.
    sizes[-1] += min(step.b - 1, 0)
    return of_layer(Layers.LayerNormalization(sizes, axes=axes), [x], x.shape)


def embedding(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    """One row, added everywhere."""
    layer = Layers.Embedding(
        step.a, x.shape[-1], maximum_norm=1.0 if step.b > 2 else None
    )
    index = np.array([max(step.a - 1, 0)], np.int32)
    indices = tg.Tensor((1,), np.int32, data=index, batch_axis=None)

    def add(graph: tg.Graph) -> tg.Tensor:
        return graph.ops.binary(x, graph.node(layer, indices), operation="add")

    return Case(add, x.shape)


def gather(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    axis, indices = some_indices(step, x)
    shape = (*x.shape[:axis], step.b, *x.shape[axis + 1 :])
    return of_layer(Layers.Gather(axis), [x, indices], shape)


def scatter(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    axis, indices = some_indices(step, x)
    layer = Layers.Scatter(axis, "sum" if step.c > 1 else "none")

    def add(graph: tg.Graph) -> tg.Tensor:
        return graph.node(layer, [graph.ops.gather(x, indices, axis=axis), indices, x])

    return Case(add, x.shape)


def some_indices(step: Step, x: tg.Tensor) -> tuple[int, tg.Tensor]:
    axis = 1 + step.a % (len(x.shape) - 1)
    values = np.arange(max(step.b, 0), dtype=np.int64) * 2 % x.shape[axis]
    return axis, tg.Tensor((step.b,), np.int64, data=values, batch_axis=None)


FAMILIES: dict[str, Callable[[Step, tg.Tensor, tg.Tensor], Case]] = {
    "dense": dense,
    "convolution": convolution,
    "depthwise": depthwise,
    "transposed": transposed,
    "max pooling": pooling(Layers.MaxPooling),
    "average pooling": pooling(Layers.AveragePooling),
    "padding": padding,
    "lstm": lstm,
    "attention": attention,
    "layer norm": layer_norm,
    "group norm": lambda step, x, _: of_layer(
        Layers.GroupNormalization(x.shape[1], step.a), [x], x.shape
    ),
    "instance norm": lambda step, x, _: of_layer(
        Layers.InstanceNormalization(x.shape[1] + min(step.a - 1, 0)), [x], x.shape
    ),
    "embedding": embedding,
    "gather": gather,
    "scatter": scatter,
    "relu": same_shape(lambda _: Layers.ReLU()),
    "tanh": same_shape(lambda _: Layers.Tanh()),
    "gelu": same_shape(lambda _: Layers.GELU()),
    "dropout": same_shape(lambda step: Layers.Dropout(step.a / 4)),
    "softmax": same_shape(lambda step: Layers.Softmax("softmax", step.a)),
    "add": binary("add"),
    "subtract": binary("subtract"),
    "max": binary("max"),
    "selection": selection,
    "reduction": reduction,
    "flatten": flatten,
    "transpose": transpose,
    "concatenation": concatenation,
    "split": split,
}
# Families whose result for one sample does not depend on the others.
ACROSS_SAMPLES = {
    "flatten",  # broadcasts over the batch with images
    "padding",
    "reduction",
    "transpose",
    "concatenation",
    "split",
    "softmax",
}
OF_SAMPLES = tuple(family for family in FAMILIES if family not in ACROSS_SAMPLES)
