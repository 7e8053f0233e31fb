# SPDX-License-Identifier: MIT
"""Weights are put into their kernels' layouts once, and again when they changed.

Each test changes what an inference reads in one of the ways there are, and expects
what a graph gives that is compiled afterwards: bit for bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from pathlib import Path

Array = np.ndarray[Any, Any]

BATCH = 4


class Network:
    """Two convolutions and a dense layer; a constant is added through an op."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.x = tg.Tensor((BATCH, 3, 10, 10), name="x")
        self.label = tg.Tensor((BATCH, 5), name="label")
        self.first = tg.layers.Convolution(
            3, 16, (3, 3), weights=rng.normal(size=(16, 3, 3, 3)) / 5, name="first"
        )
        self.second = tg.layers.Convolution(
            16, 32, (3, 3), weights=rng.normal(size=(32, 16, 3, 3)) / 12, name="second"
        )
        self.dense = tg.layers.FullyConnected(
            32 * 100, 5, weights=rng.normal(size=(5, 32 * 100)) / 30, name="dense"
        )
        self.graph = tg.Graph()
        h = self.graph.sequence(
            self.x, self.first, tg.layers.ReLU(), self.second, tg.layers.ReLU()
        )
        self.features = self.graph.node(tg.layers.Flatten(), h)
        self.y = self.graph.node(self.dense, self.features)
        self.data = rng.normal(size=self.x.shape).astype(np.float32)
        self.target = rng.normal(size=(BATCH, 5)).astype(np.float32)

    def inference(self, **options: Any) -> tg.InferenceGraph:
        inference = tg.InferenceGraph([self.graph])
        inference.add_inputs({"x": self.x})
        inference.add_outputs({"y": self.y})
        inference.compile("cpu", **options)
        return inference

    def training(self, **options: Any) -> tg.TrainingGraph:
        training = tg.TrainingGraph(
            [self.graph], tg.losses.MeanSquaredError(), tg.optimizers.Adam(0.1)
        )
        training.add_inputs({"x": self.x}, {"label": self.label})
        training.add_outputs({"y": self.y})
        training.compile("cpu", **options)
        return training

    def run(self, graph: Any, n: int = BATCH, **options: Any) -> Array:
        result = graph.execute({"x": self.data[:n]}, **options).result()
        return np.array(result.output("y"))

    def step(self, training: tg.TrainingGraph) -> None:
        training.execute({"x": self.data}, {"label": self.target})

    def anew(self, **options: Any) -> Array:
        return self.run(self.inference(**options))


def seconds_of_prepared(graph: Any, net: Network) -> list[float]:
    lines = graph.plan_description().split("inference:")[1].splitlines()[1:]
    execution = graph.execute({"x": net.data}, per_layer_profiling=True)
    execution.result()
    units = graph.profile(runs=1).units
    assert len(units) == len(lines)
    return [
        unit["seconds"]
        for unit, line in zip(units, lines, strict=True)
        if line.endswith("  prepared")
    ]


@pytest.fixture
def net() -> Network:
    return Network()


def test_weights_are_prepared_once(net: Network) -> None:
    inference = net.inference()
    first = seconds_of_prepared(inference, net)
    assert len(first) >= 2
    assert all(seconds > 0 for seconds in first)
    assert not any(seconds_of_prepared(inference, net))
    net.second.weights.set_data(2 * net.second.weights.numpy())
    assert all(seconds > 0 for seconds in seconds_of_prepared(inference, net))


def test_their_memory_is_counted_before_the_first_run(net: Network) -> None:
    inference = net.inference()
    before = inference.memory.inference.arena_bytes
    weights = 4 * 32 * 16 * 9
    assert before >= weights
    net.run(inference)
    assert inference.memory.inference.arena_bytes == before


@pytest.mark.parametrize("precision", ["float32", "mixed_bfloat16", "fast"])
def test_set_data(net: Network, precision: str) -> None:
    inference = net.inference(precision=precision)
    for factor in (1, -2, 0.5):
        for tensor in (net.first.weights, net.second.weights, net.dense.weights):
            tensor.set_data(factor * tensor.numpy())
            y = net.run(inference)
            np.testing.assert_array_equal(y, net.anew(precision=precision))


def test_training_of_a_graph_that_shares_the_weights(net: Network) -> None:
    inference, training = net.inference(), net.training()
    seen = []
    for _ in range(3):
        seen.append(net.run(inference))
        np.testing.assert_array_equal(seen[-1], net.anew())
        np.testing.assert_array_equal(seen[-1], net.run(inference))
        net.step(training)
    assert not np.array_equal(seen[0], seen[1])


def test_inference_between_the_phases_of_a_step(net: Network) -> None:
    training = net.training(accumulate_gradients=True)
    inference = net.inference()
    for _ in range(2):
        for _ in range(2):
            training.execute_forward({"x": net.data}, {"label": net.target})
            net.run(inference)
            training.execute_gradient(accumulate=True)
            before = net.run(inference)
        training.execute_optimizer_update()
        after = net.run(inference)
        assert not np.array_equal(before, after)
        np.testing.assert_array_equal(after, net.anew())


def test_inference_form_of_a_training_graph(net: Network) -> None:
    training = net.training()
    for _ in range(3):
        for _ in range(2):
            y = net.run(training, forward_for_inference=True)
            np.testing.assert_array_equal(y, net.anew())
        net.step(training)


def test_with_and_without_labels(net: Network) -> None:
    """Both have the same arena, and prepare for themselves."""
    training = net.training()
    for _ in range(2):
        with_labels = training.execute(
            {"x": net.data}, {"label": net.target}, forward_for_inference=True
        ).result()
        y = net.run(training, forward_for_inference=True)
        np.testing.assert_array_equal(y, with_labels.output("y"))
        np.testing.assert_array_equal(y, net.anew())


def test_batch_sizes_share_an_arena(net: Network) -> None:
    inference = net.inference(poison_memory=True)
    whole = net.anew()
    for n in (BATCH, 1, BATCH, 3, 3, 1, BATCH):
        np.testing.assert_allclose(
            net.run(inference, n), whole[:n], rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("options", [{"poison_memory": True}, {"reuse_memory": False}])
def test_memory_that_is_poisoned_or_not_reused(
    net: Network, options: dict[str, Any]
) -> None:
    inference = net.inference(**options)
    first = net.run(inference)
    for _ in range(3):
        np.testing.assert_array_equal(net.run(inference), first)
    np.testing.assert_array_equal(first, net.anew())


@pytest.mark.parametrize("from_file", [True, False])
def test_loaded_weights(net: Network, tmp_path: Path, from_file: bool) -> None:
    inference = net.inference()
    before = net.run(inference)
    other = Network(seed=1).inference()
    if from_file:
        other.save(tmp_path / "weights.safetensors")
        inference.restore(tmp_path / "weights.safetensors")
    else:
        inference.load_state_dict(other.state_dict())
    after = net.run(inference)
    assert not np.array_equal(before, after)
    np.testing.assert_array_equal(after, net.anew())


def test_linked_graphs(net: Network) -> None:
    x = tg.Tensor((BATCH, 3, 10, 10), name="x")
    front, back = tg.Graph(), tg.Graph()
    layers = [
        tg.layers.Convolution(3, 16, (3, 3), weights=net.first.weights),
        tg.layers.Convolution(16, 32, (3, 3), weights=net.second.weights),
    ]
    h = front.node(layers[0], x)
    y = back.node(layers[1], h)
    graphs = [tg.InferenceGraph([each]) for each in (front, back)]
    graphs[0].add_inputs({"x": x})
    graphs[1].add_inputs({"h": h})
    graphs[1].add_outputs({"y": y})
    for each in graphs:
        each.compile("cpu", link_graphs=True)
    graphs[0].link([graphs[1]])
    seen = []
    for layer in (layers[0], layers[1], layers[0]):
        for _ in range(2):
            graphs[0].execute({"x": net.data})
            seen.append(np.array(graphs[1].execute().result().output("y")))
        np.testing.assert_array_equal(seen[-1], seen[-2])
        layer.weights.set_data(2 * layer.weights.numpy())
    # Powers of two are exact; biases are zeros.
    np.testing.assert_array_equal(seen[2], 2 * seen[0])
    np.testing.assert_array_equal(seen[4], 4 * seen[0])


def test_constants(net: Network) -> None:
    """What is computed of them runs once; set_data() counts there, too."""
    table = tg.Tensor((1, 5), name="table")
    table.set_data(np.arange(5, dtype=np.float32)[None])
    graph = tg.Graph()
    scaled = graph.ops.unary(table, operation="exp")
    y = graph.ops.binary(net.label, scaled, operation="add")
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": net.label})
    inference.add_outputs({"y": y})
    inference.compile("cpu", input_tensors={"table": table})
    for factor in (1, 1, 2, 3):
        table.set_data(factor * np.arange(5, dtype=np.float32)[None])
        got = inference.execute({"x": net.target}).result().output("y")
        exp = np.exp(factor * np.arange(5))
        np.testing.assert_allclose(got, net.target + exp, rtol=1e-6)


def test_a_run_that_was_cancelled_prepares_nothing(net: Network) -> None:
    inference = net.inference()
    for factor in (1, 2, 4):
        net.first.weights.set_data(factor * net.first.weights.numpy())
        executions = [inference.execute({"x": net.data}) for _ in range(4)]
        for each in executions:
            each.cancel()
        np.testing.assert_array_equal(net.run(inference), net.anew())
