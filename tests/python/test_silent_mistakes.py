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


@pytest.mark.parametrize("data_type", ["int32", "int64"])
def test_a_blank_is_no_label(data_type: str) -> None:
    """PyTorch computes something for it."""
    scores = tg.Tensor((2, 9, 4), name="scores")
    labels = tg.Tensor((2, 3), data_type, name="labels")
    counts = [tg.Tensor((2,), "int32", name=name) for name in ("steps", "count")]

    def compiled(lengths: list[tg.Tensor]) -> tg.TrainingGraph:
        graph = tg.Graph()
        h = graph.node(tg.layers.Affine(2.0), scores)
        loss = graph.node(tg.losses.CTC(blank=2, name="ctc"), [h, labels, *lengths])
        training = tg.TrainingGraph([graph], loss)
        names = {x.name: x for x in (scores, labels, *lengths)}
        training.add_inputs(names)
        training.compile("cpu")
        return training

    data = {"scores": np.zeros((2, 9, 4), np.float32)}
    words = np.array([[0, 1, 3], [1, 2, 0]])
    message = (
        r'"labels"\] element \(1, 1\) is the blank of "ctc".*expected classes but 2'
    )
    training = compiled([])
    for forward in (training.execute, training.execute_forward):
        with pytest.raises(tg.InvalidArgument, match=message):
            forward({**data, "labels": words})
    words[1, :] = [1, -1, 2]  # behind the labels
    training.execute_forward({**data, "labels": words}).wait()
    training = compiled(counts)
    words[1, :] = [1, 2, 2]
    lengths = {"steps": np.array([9, 9]), "count": np.array([3, 2])}
    with pytest.raises(tg.InvalidArgument, match=message):
        training.execute_forward({**lengths, **data, "labels": words})
    lengths["count"][1] = 1
    training.execute_forward({**data, "labels": words, **lengths}).wait()
    training.execute_forward({**lengths, **data, "labels": words[:, :]}).wait()
    training.bind_and_write_data({"count": lengths.pop("count"), **lengths})
    with pytest.raises(tg.InvalidArgument, match=r"\(0, 1\) is the blank"):
        training.execute_forward({**data, "labels": words[::-1]})


def two_heads() -> tuple[tg.Graph, list[tg.Tensor], tg.Tensor]:
    graph = tg.Graph()
    h = graph.sequence(X, tg.layers.FullyConnected(4), tg.layers.ReLU())
    heads = [graph.node(tg.layers.FullyConnected(2, name=name), h) for name in "ab"]
    return graph, heads, tg.Tensor((8, 2), name="y")


def test_a_loss_layer_is_not_of_one_of_two_heads() -> None:
    """The first one was computed and not trained, in silence."""
    graph, heads, y = two_heads()
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError(name="mse"))
    training.add_inputs(X, y)
    message = r'"mse"\].*got "a" \(8, 2\) and "b" \(8, 2\).*graph\.node\(loss, result'
    with pytest.raises(tg.InvalidArgument, match=message):
        training.compile("cpu")
    training.add_outputs({"a": heads[0]})
    training.compile("cpu")


def test_a_loss_says_which_of_two_heads() -> None:
    graph, heads, y = two_heads()
    loss = graph.node(tg.losses.MeanSquaredError(), heads[0], loss_labels=[y])
    training = tg.TrainingGraph([graph], loss, tg.optimizers.SGD(0.1))
    training.add_inputs(X, y)
    training.compile("cpu")


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
