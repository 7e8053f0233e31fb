# SPDX-License-Identifier: MIT
"""A small classifier, and batches that it learns from."""

from __future__ import annotations

import numpy as np

import traingraph as tg

BATCH, FEATURES, CLASSES = 8, 6, 3

Batch = dict[str, np.ndarray]


def make_training(rate: float = 0.1, *, labels: bool = True) -> tg.TrainingGraph:
    tg.set_seed(7)
    x = tg.Tensor((BATCH, FEATURES), name="x")
    y = tg.Tensor((BATCH, CLASSES), name="y")
    graph = tg.Graph()
    graph.node(tg.layers.FullyConnected(FEATURES, CLASSES, name="fc"), x)
    training = tg.TrainingGraph(
        [graph], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.SGD(rate)
    )
    training.add_inputs({"x": x}, {"y": y} if labels else None)
    training.compile("cpu")
    return training


def make_batches(count: int, *, seed: int = 0, last: int = BATCH) -> list[Batch]:
    rng = np.random.default_rng(seed)
    answer = rng.standard_normal((FEATURES, CLASSES))
    batches = []
    for i in range(count):
        n = last if i == count - 1 else BATCH
        x = rng.standard_normal((n, FEATURES)).astype(np.float32)
        y = np.eye(CLASSES, dtype=np.float32)[(x @ answer).argmax(axis=1)]
        batches.append({"x": x, "y": y})
    return batches
