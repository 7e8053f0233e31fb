# SPDX-License-Identifier: MIT
"""Views of gradients own the memory they show."""

from __future__ import annotations

import gc

import numpy as np

import traingraph as tg


def make() -> tuple[tg.TrainingGraph, tg.layers.FullyConnected, dict, dict]:
    x = tg.Tensor((4, 3), name="x")
    label = tg.Tensor((4, 2), name="label")
    graph = tg.Graph()
    layer = tg.layers.FullyConnected(3, 2)
    graph.node(layer, x)
    training = tg.TrainingGraph([graph], loss=tg.losses.MeanSquaredError())
    training.add_inputs({"x": x}, loss_labels={"label": label})
    training.compile(device="cpu")
    data = {"x": np.ones((4, 3), np.float32)}
    return training, layer, data, {"label": np.zeros((4, 2), np.float32)}


def test_view_outlives_recompile_and_graph() -> None:
    training, layer, data, label = make()
    training.execute_forward(data, label)
    training.execute_gradient()
    view = training.gradient(layer.weights)
    before = view.copy()
    training.compile(device="cpu")
    np.testing.assert_array_equal(view, before)
    del training
    gc.collect()
    np.testing.assert_array_equal(view, before)
    view[:] = 0  # still writable memory of ours
