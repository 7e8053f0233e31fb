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
from typing import Any

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("hypothesis", reason="of the test extra")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from network_families import FAMILIES, OF_SAMPLES, Step

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
    tg.set_seed(7)
    graph = tg.Graph()
    x = tg.Tensor(shape, name="x")
    pool = [graph.node(Layers.Affine(0.5), x)]
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
    y = graph.node(Layers.PReLU(1, 1.0), pool[-1])  # something to train
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), getattr(tg.optimizers, optimizer)(0.01)
    )
    training.add_inputs({"x": x}, {"label": tg.Tensor(y.shape, name="label")})
    training.add_outputs({"y": y})
    training.compile("cpu", **options)
    if options.get("precision") == "mixed-float16":
        training.loss_scale = 1  # or some gradients are infinite at first
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


precisions = st.sampled_from(["float32", "mixed-bfloat16", "mixed-float16"])
images = st.tuples(*(st.integers(1, most) for most in (4, 4, 7, 7)))


@given(
    shape=images,
    chosen=steps(),
    optimizer=st.sampled_from(["SGD", "Adam", "RMSProp"]),
    fuses=st.booleans(),
    precision=precisions,
)
def test_training_is_the_same_however_planned(
    shape: Shape, chosen: list[Step], optimizer: str, fuses: bool, precision: str
) -> None:
    def run(**options: bool) -> list[bytes]:
        options["disable_layer_fusion"] = not fuses
        return train(build(shape, chosen, optimizer, precision=precision, **options))

    expected = run(reuse_memory=False)
    assert run() == expected
    assert run(poison_memory=True) == expected


@given(
    shape=images,
    chosen=steps(OF_SAMPLES),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    precision=precisions,
)
def test_batch_sizes_in_rotation(
    shape: Shape, chosen: list[Step], sizes: list[int], precision: str
) -> None:
    def network_for(size: int) -> Network:
        return build((size, *shape[1:]), chosen, "SGD", precision=precision)

    network = network_for(6)
    separate = {size: network_for(size) for size in sizes}
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
