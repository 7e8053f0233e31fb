# SPDX-License-Identifier: MIT
"""Inputs, labels and outputs, declared when a graph is made or afterwards."""

from __future__ import annotations

import traingraph as tg


def test_declared_when_it_is_made() -> None:
    x, y = tg.Tensor((4, 3), name="x"), tg.Tensor((4, 2), name="y")
    weights = tg.Tensor((4, 1), name="w")
    graph = tg.Graph()
    h = graph.node(tg.layers.FullyConnected(2, name="fc"), x)
    training = tg.TrainingGraph(
        [graph],
        tg.losses.MeanSquaredError(),
        inputs=[x],
        loss_labels=y,
        loss_label_weights={"weights": weights},
        outputs={"h": h},
    )
    assert training.inputs == {"x": x}
    assert training.loss_labels == {"y": y}
    assert training.loss_label_weights == {"weights": weights}
    training.add_outputs(h)
    assert training.outputs == {"h": h, "fc": h}
    inference = tg.InferenceGraph([graph], inputs=x, outputs=h)
    assert (inference.inputs, inference.outputs) == ({"x": x}, {"fc": h})
