# SPDX-License-Identifier: MIT
"""ML Compute's inference graphs, with losses and without."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, Regression, floats


class LossNode:
    """y = 2 x, and a node for its loss."""

    def __init__(self) -> None:
        self.x, self.t = tg.Tensor((4, 2), name="x"), tg.Tensor((4, 2), name="t")
        self.graph = tg.Graph()
        y = self.graph.node(tg.layers.Affine(2.0), self.x)
        loss = tg.losses.MeanSquaredError("sum")
        self.loss = self.graph.node(loss, y, loss_labels=[self.t])
        self.y = y
        self.data = {"x": floats(4, 2)}
        self.labels = {"t": floats(4, 2) + 1}
        self.expected = ((2 * self.data["x"] - self.labels["t"]) ** 2).sum()


def test_loss_nodes_take_labels() -> None:
    g = LossNode()
    training = tg.TrainingGraph([g.graph])
    training.add_inputs({"x": g.x}, {"t": g.t})
    training.compile("cpu")
    run = training.execute(g.data, g.labels).result()
    assert run.loss == pytest.approx(g.expected, rel=1e-5)


def test_inference_with_labels() -> None:
    g = LossNode()
    inference = tg.InferenceGraph([g.graph])
    inference.add_inputs({"x": g.x}, {"t": g.t})
    inference.add_outputs({"y": g.y})
    assert inference.device_memory_size == 0
    inference.compile("cpu")
    out = np.zeros((4, 2), np.float32)
    run = inference.execute(g.data, g.labels, outputs_data={"y": out}).result()
    assert run.loss == pytest.approx(g.expected, rel=1e-5)
    np.testing.assert_allclose(out, 2 * g.data["x"], **CLOSE)
    assert inference.device_memory_size == inference.memory.inference.arena_bytes


def test_inference_of_some_samples() -> None:
    r = Regression()
    inference = tg.InferenceGraph([r.graph])
    inference.add_inputs({"x": r.x})
    inference.add_outputs({"y": r.y})
    inference.compile("cpu")
    seen: list[tg.Execution] = []
    out = np.zeros((2, 1), np.float32)
    run = inference.execute(
        {"x": r.data[:2]},
        batch_size=2,
        synchronous=True,
        outputs_data={"y": out},
        completion_handler=seen.append,
    )
    np.testing.assert_allclose(out, r.data[:2].sum(1, keepdims=True) / 2, **CLOSE)
    np.testing.assert_array_equal(run.result().output("y"), out)
    assert len(seen) == 1


def test_inference_with_label_weights() -> None:
    r = Regression()
    w = tg.Tensor((4, 1), name="w")
    graph = tg.Graph()
    y = graph.node(tg.layers.Affine(3.0), r.t)
    graph.node(tg.losses.MeanAbsoluteError("sum"), [y, r.t, w])
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"y": r.t}, loss_label_weights={"w": w})
    inference.compile("cpu")
    weights = np.array([[1], [0], [2], [0.5]], np.float32)
    run = inference.execute({"y": r.labels}, None, {"w": weights}).result()
    expected = (2 * np.abs(r.labels) * weights).sum()
    assert run.loss == pytest.approx(expected, rel=1e-5)


def test_linked_inference_graphs() -> None:
    x = tg.Tensor((2, 3), name="x")
    first, second = tg.Graph(), tg.Graph()
    middle = first.node(tg.layers.Affine(2.0), x)
    y = second.node(tg.layers.Affine(3.0), middle)
    front, back = tg.InferenceGraph([first]), tg.InferenceGraph([second])
    front.add_inputs({"x": x})
    front.add_outputs({"middle": middle})
    back.add_inputs({"middle": middle})
    back.add_outputs({"y": y})
    for graph in (front, back):
        graph.compile("cpu", link_graphs=True)
    front.link([back])
    front.execute({"x": floats(2, 3)})
    # The middle is read where the front left it.
    run = back.execute().result()
    np.testing.assert_allclose(run.output("y"), 6 * floats(2, 3), **CLOSE)


def test_awaited_inference() -> None:
    g = LossNode()
    inference = tg.InferenceGraph([g.graph])
    inference.add_inputs({"x": g.x}, {"t": g.t})
    inference.compile("cpu")

    async def main() -> tg.ExecutionResult:
        return await inference.execute(g.data, g.labels, profiling=True)

    run = asyncio.run(main())
    assert run.loss == pytest.approx(g.expected, rel=1e-5)
    assert run.execution_time > 0
