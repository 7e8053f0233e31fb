# SPDX-License-Identifier: MIT
"""A network with dropout and running statistics, for tests of checkpoints."""

from __future__ import annotations

import numpy as np

import traingraph as tg


def make(seed: int) -> tg.TrainingGraph:
    tg.set_seed(seed)
    x, y = tg.Tensor((8, 6), name="x"), tg.Tensor((8, 3), name="y")
    graph = tg.Graph()
    h = graph.node(tg.layers.FullyConnected(6, 16, name="hidden"), x)
    h = graph.node(tg.layers.BatchNormalization(16, name="norm"), h)
    h = graph.node(tg.layers.Dropout(0.25), h)
    graph.node(tg.layers.FullyConnected(16, 3, name="classes"), h)
    training = tg.TrainingGraph(
        [graph], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(1e-2)
    )
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    return training


def steps(training: tg.TrainingGraph, first: int, last: int) -> list[str]:
    """The losses of steps [first, last), to the last bit."""
    losses = []
    for i in range(first, last):
        rng = np.random.default_rng(i)
        data = {"x": rng.standard_normal((8, 6), np.float32)}
        label = {"y": np.eye(3, dtype=np.float32)[rng.integers(0, 3, 8)]}
        losses.append(training.execute(data, label).result().loss.hex())
    return losses
