# SPDX-License-Identifier: MIT
"""What checkpoints and artefacts hold of a node graph, through `graph.compiled`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import nodes

if TYPE_CHECKING:
    from pathlib import Path

Array = np.ndarray[Any, Any]

BATCH = 6


class HostTrained(nodes.ConvolutionData):
    def update(self, weights: Array, biases: Array | None) -> None:
        del biases
        self.weights = self.weights - np.float32(0.05) * weights


@dataclass
class Network:
    """Two filters that share weights, statistics, dropout, and a loss."""

    graph: nodes.Graph
    data: list[nodes.ConvolutionData]


def make_network(seed: int, *, host: bool = False) -> Network:
    rng = np.random.default_rng(seed)
    adam = None if host else tg.optimizers.Adam()
    kind = HostTrained if host else nodes.ConvolutionData
    shared, last = (
        kind(rng.standard_normal(shape, np.float32) / 4, optimizer=adam)
        for shape in [(2, 3, 3, 2), (3, 4, 4, 2)]
    )
    statistics = nodes.NormalizationData(2)
    image = nodes.ImageNode("image", (2, 4, 4))
    labels = nodes.ImageNode("labels", (3, 1, 1))
    first = nodes.ConvolutionNode(image, shared, padding="same", name="first")
    norm = nodes.BatchNormalizationNode(first.result_image, statistics, name="norm")
    again = nodes.ConvolutionNode(norm.result_image, shared, padding="same")
    dropped = nodes.DropoutNode(again.result_image, 0.8, seed=3)
    dense = nodes.FullyConnectedNode(dropped.result_image, last, name="dense")
    loss = nodes.LossNode(
        dense.result_image,
        labels,
        nodes.LossDescriptor("softmax_cross_entropy", "sum"),
    )
    loss.loss_image.handle = "loss"
    norm.training_style = "none"
    for node in (first, again, dense):
        node.training_style = "cpu" if host else "gpu"
    leaves = [leaf.result_image for leaf in loss.training_graph()]
    return Network(nodes.Graph("cpu", leaves, batch_size=BATCH), [shared, last])


@pytest.fixture
def images(rng: np.random.Generator) -> dict[str, Array]:
    return {
        "image": rng.standard_normal((BATCH, 2, 4, 4), np.float32),
        "labels": np.eye(3, dtype=np.float32)[np.arange(BATCH) % 3, :, None, None],
    }


def losses(graph: nodes.Graph | tg.TrainingGraph, images: dict[str, Array]) -> Array:
    runs = [graph.execute(images) for _ in range(4)]
    return np.stack([run.result().output("loss") for run in runs])


def test_a_checkpoint_resumes(tmp_path: Path, images: dict[str, Array]) -> None:
    graph, path = make_network(1).graph, tmp_path / "net.safetensors"
    before = losses(graph, images)
    graph.compiled.save(path)
    after = losses(graph, images)

    other = make_network(2).graph
    assert not np.array_equal(losses(other, images), before)
    report = other.compiled.restore(path)
    assert not report.missing
    assert not report.unexpected
    np.testing.assert_array_equal(losses(other, images), after)


def test_names_are_those_of_filters() -> None:
    names = set(make_network(1).graph.compiled.state_dict())
    assert names == {
        *("first.weights", "first.biases", "dense.weights", "dense.biases"),
        *("norm.gamma", "norm.beta", "norm.mean", "norm.variance"),
    }


def test_an_artefact_goes_on(tmp_path: Path, images: dict[str, Array]) -> None:
    graph, path = make_network(1).graph, tmp_path / "net.tg.safetensors"
    losses(graph, images)
    graph.compiled.export_graph(path)
    loaded = tg.TrainingGraph.load(path)
    np.testing.assert_array_equal(losses(loaded, images), losses(graph, images))


def test_data_sources_keep_what_the_host_trains(
    tmp_path: Path, images: dict[str, Array]
) -> None:
    """Their weights are read after each update, whatever was restored."""
    network, path = make_network(1, host=True), tmp_path / "net.safetensors"
    weights = [data.weights for data in network.data]
    network.graph.compiled.save(path)
    first = losses(network.graph, images)

    network.graph.compiled.restore(path)
    second = losses(network.graph, images)
    np.testing.assert_array_equal(second[0], first[0])
    assert not np.array_equal(second[1:], first[1:])

    for data, values in zip(network.data, weights, strict=True):
        data.weights = values
    network.graph.compiled.restore(path)
    np.testing.assert_array_equal(losses(network.graph, images), first)
