# SPDX-License-Identifier: MIT
"""What holds for every network, tried on random ones.

A layer is refused with a typed error or gives the documented shape; a network
trains to the same bits with and without reuse of memory; batch sizes in
rotation compile once each. HYPOTHESIS_PROFILE=soak tries thousands, for ten
minutes or more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

settings.register_profile("suite", max_examples=25, deadline=None, derandomize=True)
settings.register_profile(
    "soak",
    max_examples=15_000,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

Shape = tuple[int, ...]
Layers = tg.layers
MAXIMUM_SIZE = 400  # of a sample


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
        x.shape[1], step.a, step.b, stride=step.c, padding="same"
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
        stride=step.c,
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
        stride=step.c,
        padding="valid",
        convolution_type="transposed",
    )
    return of_layer(
        layer, [x], (n, step.a, *((e - 1) * step.c + step.b for e in extents))
    )


def pooling(cls: Any) -> Callable[..., Case]:
    def case(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
        sizes = (strided(e, step.a, step.b or step.a) for e in x.shape[2:])
        return of_layer(cls(step.a, step.b), [x], (*x.shape[:2], *sizes))

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
        return graph.select([x, y], graph.node(Layers.Comparison("less"), [x, y]))

    return Case(add, binary("add")(_, x, y).shape)


def reduction(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    axis = step.a
    shape = list(x.shape)
    shape[axis % len(shape)] = 1
    layer = Layers.Reduction("mean" if step.b > 2 else "max", axis)
    return of_layer(layer, [x], tuple(shape))


def flatten(_: Step, x: tg.Tensor, __: tg.Tensor) -> Case:
    size = int(np.prod(x.shape[1:]))
    return Case(lambda graph: graph.reshape((x.shape[0], -1), x), (x.shape[0], size))


def transpose(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    axes = list(range(len(x.shape)))
    axes.append(axes.pop(step.a % len(axes) or -1))
    return Case(
        lambda graph: graph.transpose(axes, x), tuple(x.shape[axis] for axis in axes)
    )


def concatenation(step: Step, x: tg.Tensor, y: tg.Tensor) -> Case:
    axis = step.a % len(x.shape)
    shape = list(x.shape)
    shape[axis] += y.shape[axis] if axis < len(y.shape) else 0
    return Case(lambda graph: graph.concatenate([x, y], axis), tuple(shape))


def split(step: Step, x: tg.Tensor, _: tg.Tensor) -> Case:
    axis = step.b % len(x.shape)
    shape = list(x.shape)
    shape[axis] = -(-shape[axis] // max(step.a, 1))
    return Case(lambda graph: graph.split(x, step.a, axis)[0], tuple(shape))


FAMILIES: dict[str, Callable[[Step, tg.Tensor, tg.Tensor], Case]] = {
    "dense": dense,
    "convolution": convolution,
    "depthwise": depthwise,
    "transposed": transposed,
    "max pooling": pooling(Layers.MaxPooling),
    "average pooling": pooling(Layers.AveragePooling),
    "padding": padding,
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


@st.composite
def steps(draw: st.DrawFn, families: tuple[str, ...] = tuple(FAMILIES)) -> list[Step]:
    size = st.sampled_from([1, 2, 3, 4, 1, 2, 3, 0, -1])
    step = st.builds(
        Step, st.sampled_from(families), st.integers(0, 3), size, size, size
    )
    return draw(st.lists(step, min_size=1, max_size=10))


@dataclass
class Network:
    training: tg.TrainingGraph
    x: tg.Tensor
    y: tg.Tensor
    rng: np.random.Generator

    def inputs(self, batch: int) -> dict[str, Any]:
        return {"x": self.values((batch, *self.x.shape[1:]))}

    def labels(self) -> dict[str, Any]:
        return {"label": self.values(self.y.shape)}

    def values(self, shape: Shape) -> np.ndarray[Any, Any]:
        return self.rng.standard_normal(shape, np.float32)


def build(
    shape: Shape, chosen: list[Step], optimizer: str = "Adam", **options: Any
) -> Network:
    """The network of all steps that are not refused, compiled."""
    tg.Platform.set_rng_seed(7)
    graph = tg.Graph()
    x = tg.Tensor(shape, name="x")
    pool = [graph.node(Layers.Linear(0.5), x)]
    for step in chosen:
        source, other = pool[-1], pool[-1 - step.back % len(pool)]
        try:
            case = FAMILIES[step.family](step, source, other)
            result = case.add(graph)
        except tg.errors.InternalError:
            raise
        except tg.Error:
            continue
        assert result.shape == case.shape, step
        if np.prod(result.shape[1:]) <= MAXIMUM_SIZE:
            pool.append(result)
    y = graph.node(Layers.Linear(1.0), pool[-1])
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), getattr(tg.optimizers, optimizer)(0.01)
    )
    training.add_inputs({"x": x}, {"label": tg.Tensor(y.shape, name="label")})
    training.add_outputs({"y": y})
    training.compile("cpu", **options)
    return Network(training, x, y, np.random.default_rng(3))


def train(network: Network) -> list[bytes]:
    """Everything that two steps and three phases leave behind."""
    training, batch = network.training, network.x.shape[0]
    inputs = network.inputs(batch)
    trace = []
    for _ in range(2):
        result = training.execute(inputs, network.labels()).result()
        trace += [np.float32(result.loss), result.output("y")]
        assert result.output("y").shape == network.y.shape
    forward = training.execute_forward(inputs, network.labels())
    trace.append(forward.result().output("y"))
    training.execute_gradient().wait()
    gradients = training.gradients
    assert np.isfinite(gradients).all()
    trace.append(gradients)
    training.execute_optimizer_update().wait()
    inference = training.execute(inputs, forward_for_inference=True)
    trace.append(inference.result().output("y"))
    trace += [parameter.numpy() for parameter in training.parameters]
    report = training.memory
    assert report.predicted_bytes == report.allocated_bytes
    return [np.asarray(values).tobytes() for values in trace]


images = st.tuples(*(st.integers(1, most) for most in (4, 4, 7, 7)))


@given(
    shape=images,
    chosen=steps(),
    optimizer=st.sampled_from(["SGD", "Adam", "RMSProp"]),
    fuses=st.booleans(),
)
def test_training_is_the_same_however_planned(
    shape: Shape, chosen: list[Step], optimizer: str, fuses: bool
) -> None:
    def run(**options: bool) -> list[bytes]:
        options["disable_layer_fusion"] = not fuses
        return train(build(shape, chosen, optimizer, **options))

    expected = run(reuses_memory=False)
    assert run() == expected
    assert run(poisons_memory=True) == expected


@given(
    shape=images,
    chosen=steps(OF_SAMPLES),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
)
def test_batch_sizes_in_rotation(
    shape: Shape, chosen: list[Step], sizes: list[int]
) -> None:
    network = build((6, *shape[1:]), chosen, "SGD")
    separate = {size: build((size, *shape[1:]), chosen, "SGD") for size in sizes}
    training = network.training
    bytes_of_a_round = set()
    for _ in range(3):
        for size in sizes:
            inputs = network.inputs(size)
            alone = separate[size].training.execute(inputs, forward_for_inference=True)
            run = training.execute(inputs, batch_size=size, forward_for_inference=True)
            assert np.array_equal(run.result().output("y"), alone.result().output("y"))
        bytes_of_a_round.add(training.memory.allocated_bytes)
    assert training.compile_count == 1 + len(set(sizes) - {6})
    assert len(bytes_of_a_round) == 1
