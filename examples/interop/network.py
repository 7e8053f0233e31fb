# SPDX-License-Identifier: MIT
"""The network that learns how a pendulum moves."""

from __future__ import annotations

import traingraph as tg

BATCH = 64


def build() -> tg.TrainingGraph:
    tg.set_seed(1)
    state = tg.Tensor((BATCH, 2), name="state")
    change = tg.Tensor((BATCH, 2), name="change")
    graph = tg.Graph()
    h = graph.node(tg.layers.FullyConnected(2, 32), state)
    h = graph.node(tg.layers.Tanh(), h)
    graph.node(tg.layers.FullyConnected(32, 2), h)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.Adam(1e-2)
    )
    training.add_inputs({"state": state}, {"change": change})
    training.compile("cpu")
    return training
