# SPDX-License-Identifier: MIT
"""Programs that would train something else than was meant, without a word."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

X = tg.Tensor((8, 4), name="x")
POINTS = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)


def test_a_softmax_of_one_class_is_refused() -> None:
    """As of an LSTM's last step, which keeps an axis of one step."""
    x = tg.Tensor((8, 6, 4), name="x")
    y = tg.Tensor((8, 2), name="y")
    graph = tg.Graph()
    last = graph.node(tg.layers.LSTM(8, returns_sequences=False), x)
    scores = graph.node(tg.layers.FullyConnected(2), last)
    with pytest.raises(tg.ShapeError, match=r"one class, on axis 1.*h\[:, 0\]"):
        graph.node(tg.losses.SoftmaxCrossEntropy(name="loss"), scores, loss_labels=[y])
    training = tg.TrainingGraph([graph], tg.losses.SoftmaxCrossEntropy())
    training.add_inputs(x, y)
    with pytest.raises(tg.ShapeError, match="one class, on axis 1"):
        training.compile("cpu")
    graph.node(tg.losses.SoftmaxCrossEntropy(), scores[:, 0], loss_labels=[y])


def small_training(**options: Any) -> Any:
    graph = tg.Graph()
    fc = tg.layers.FullyConnected(2, name="fc")
    h = graph.sequence(X, fc, tg.layers.BatchNormalization(name="norm"))
    training = tg.TrainingGraph([graph], (h * h).mean(), inputs=X, **options)
    return training, graph


def test_a_training_graph_has_the_layers_of_its_graphs() -> None:
    training, graph = small_training()
    assert training.layers[:2] == graph.layers
    assert len(training.layers) == 3  # and the loss
    names = [p.name for p in tg.parameters_of(training)]
    assert names == [p.name for p in tg.parameters_of(graph)]
    own = training.node(tg.layers.ReLU(name="own"), X)
    assert own.name == "own"
    assert [layer.name for layer in training.layers][-1] == "own"
    assert tg.InferenceGraph([graph]).layers == graph.layers


def test_fit_trains() -> None:
    training, _ = small_training()
    training.compile("cpu")
    with pytest.raises(tg.StateError, match=r"\[fit\] nothing would be trained"):
        tg.fit(training, POINTS, epochs=1)
    training.compile_optimizer(tg.optimizers.SGD(0.1))
    tg.fit(training, POINTS, epochs=1)


def test_gradients_are_scaled_in_place_once() -> None:
    training, _ = small_training(optimizer=tg.optimizers.SGD(0.1))
    training.compile("cpu")
    training.execute_forward({"x": POINTS})
    training.execute_gradient()
    before = training.gradients.copy()
    training.gradients *= 0.5
    np.testing.assert_array_equal(training.gradients, before * np.float32(0.5))
    training.gradients = before
    np.testing.assert_array_equal(training.gradients, before)
    with pytest.raises(ValueError, match="broadcast"):
        training.gradients = before[:-1]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_ctc_reports_scores_that_are_no_numbers(bad: float) -> None:
    """zero_infinity is for labels that do not fit, not for these."""
    graph = tg.Graph()
    x = tg.Tensor((2, 5, 3), name="x")
    fc = tg.layers.FullyConnected(3)
    scores = graph.node(fc, x)
    labels = tg.Tensor((2, 2), "int32", name="labels")
    loss = tg.losses.CTC("none", zero_infinity=True)
    y = graph.node(loss, scores, loss_labels=[labels])
    training = tg.TrainingGraph([graph], outputs={"y": y})
    training.add_inputs(x, labels)
    training.compile("cpu")
    data = np.zeros((2, 5, 3), np.float32)
    data[1, 3, 1] = bad
    run = training.execute_forward({"x": data}, {"labels": [[1, 2], [1, 2]]})
    assert np.isnan(run.result().outputs["y"]).tolist() == [False, True]
    training.execute_gradient()
    assert np.isnan(training.gradient_data(fc.weights)).all()
