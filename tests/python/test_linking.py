# SPDX-License-Identifier: MIT
"""Linked graphs: results of layers and of op methods, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import traingraph as tg

Front = Callable[[tg.Graph, tg.Tensor], tg.Tensor]

FRONTS: dict[str, Front] = {
    "layer": lambda g, x: g.node(tg.layers.ReLU(), x),
    "activation": lambda g, x: g.ops.activation(x, type="relu"),
    "binary": lambda g, x: g.ops.binary(x, x, operation="multiply"),
    "unary": lambda g, x: g.ops.unary(x, operation="exp"),
    "reduce": lambda g, x: g.ops.reduce(x, type="sum", axes=[1]),
    "cast there and back": lambda g, x: g.ops.cast(
        g.ops.cast(x, data_type="bfloat16"), data_type="float32"
    ),
    "reshape": lambda g, x: g.ops.reshape(x, shape=(-1, 3)),
}


def weights_of(parts: int, front: Front, steps: int) -> Any:
    """After training front(dense(x)) and a dense layer behind it, in one graph
    or in two that are linked."""
    x, y = tg.Tensor((4, 5), name="x"), tg.Tensor((4, 2), name="y")
    graphs = [tg.Graph() for _ in range(parts)]
    rng = np.random.default_rng(1)
    first = tg.layers.FullyConnected(weights=rng.normal(size=(3, 5)) / 3)
    h = front(graphs[0], graphs[0].node(first, x))
    width = h.shape[1]
    second = tg.layers.FullyConnected(weights=rng.normal(size=(2, width)) / 3)
    graphs[-1].node(second, h)
    loss, optimizer = tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    data = {"x": rng.normal(size=(4, 5)).astype(np.float32)}
    labels = {"y": rng.normal(size=(4, 2)).astype(np.float32)}
    if parts == 1:
        whole = tg.TrainingGraph(graphs, loss, optimizer)
        whole.add_inputs({"x": x}, {"y": y})
        whole.compile("cpu")
        for _ in range(steps):
            whole.execute(data, labels)
    else:
        front_graph = tg.TrainingGraph(graphs[:1], optimizer=optimizer)
        back_graph = tg.TrainingGraph(graphs[1:], loss, optimizer)
        front_graph.add_inputs({"x": x})
        back_graph.add_inputs({"h": h}, {"y": y})
        for each in (front_graph, back_graph):
            each.compile("cpu", link_graphs=True)
        front_graph.link([back_graph])
        for _ in range(steps):
            front_graph.execute_forward(data)
            back_graph.execute_forward({}, labels)
            back_graph.execute_gradient()
            front_graph.execute_gradient()
            back_graph.execute_optimizer_update()
            front_graph.execute_optimizer_update()
    return first.weights.numpy(), second.weights.numpy()


@pytest.mark.parametrize("front", FRONTS)
def test_results_of_layers_and_op_methods_are_passed_on(front: str) -> None:
    for linked, whole in zip(
        weights_of(2, FRONTS[front], 3), weights_of(1, FRONTS[front], 3), strict=True
    ):
        np.testing.assert_allclose(linked, whole, rtol=2e-6, atol=1e-7)


def test_devices_of_one_description_are_told_apart() -> None:
    x = tg.Tensor((4, 5), name="x")
    dense = tg.layers.FullyConnected(5, 3)
    graph = tg.Graph()
    y = graph.node(dense, x)

    def compiled(device: tg.Device) -> tg.InferenceGraph:
        inference = tg.InferenceGraph([graph])
        inference.add_inputs({"x": x})
        inference.add_outputs({"y": y})
        inference.compile(device)
        return inference

    devices = [tg.Device.cpu(threads=1), tg.Device.cpu(threads=1)]
    first = compiled(devices[0])
    with pytest.raises(tg.StateError, match="got another device, cpu"):
        compiled(devices[1])
    first.execute({"x": np.ones((4, 5))}).wait()
