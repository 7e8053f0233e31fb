# SPDX-License-Identifier: MIT
"""Metrics: by hand and as scikit-learn has them, and over the batches of a pass."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH, CLASSES = 8, 4
NAN = np.nan

# Scores, labels, and the share of hits among the 1 and 2 largest.
RANKS: dict[str, tuple[Any, Any, float, float]] = {
    "indices": ([[1, 3, 2], [3, 2, 1], [1, 2, 3]], [1, 1, 0], 1 / 3, 2 / 3),
    "one-hot": ([[1, 3, 2], [3, 2, 1]], [[0, 1, 0], [0, 1, 0]], 1 / 2, 1),
    "shares": ([[1, 3, 2]], [[0.3, 0.6, 0.1]], 1, 1),
    "a column": ([[1, 3, 2], [3, 2, 1]], [[1], [1]], 1 / 2, 1),
    "equal": ([[2, 2, 2], [2, 2, 2], [2, 2, 2]], [0, 1, 2], 1 / 3, 2 / 3),
    "ignored": ([[1, 3, 2], [3, 2, 1], [3, 2, 1]], [1, -100, 1], 1 / 2, 1),
    "NaN": ([[NAN, 1, 0], [NAN, 1, 0]], [0, 1], 0, 1 / 2),
    "pixels": ([[[[1, 5]], [[2, 4]], [[0, 6]]]], [[[1, 0]]], 1 / 2, 1),
}


@pytest.mark.parametrize("name", RANKS)
def test_ranks_by_hand(name: str) -> None:
    outputs, labels, first, second = RANKS[name]
    outputs = np.float32(outputs)
    assert tg.metrics.accuracy(outputs, labels) == pytest.approx(first)
    assert tg.metrics.top_k_accuracy(outputs, labels, 1) == pytest.approx(first)
    assert tg.metrics.top_k_accuracy(outputs, labels, k=2) == pytest.approx(second)
    without = [e for e in RANKS if e != "NaN"]
    if name in without:
        assert tg.metrics.top_k_accuracy(outputs, labels, k=3) == 1


def test_of_no_label_it_is_no_number() -> None:
    assert np.isnan(tg.metrics.accuracy([[1, 2]], [-100]))
    assert tg.metrics.accuracy([[1, 2], [1, 2]], [0, 1], ignore_index=0) == 1


def test_scikit_learn_agrees() -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="of the demo extra")
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((500, 10)).astype(np.float32)
    truth = rng.integers(10, size=500)
    ours, m = tg.metrics, sklearn
    expected = m.accuracy_score(truth, scores.argmax(axis=1))
    assert ours.accuracy(scores, truth) == pytest.approx(expected)
    for k in (1, 3, 5):
        expected = m.top_k_accuracy_score(truth, scores, k=k)
        assert ours.top_k_accuracy(scores, truth, k) == pytest.approx(expected)
    x, y = scores, rng.standard_normal((500, 10))
    assert ours.mean_absolute_error(x, y) == pytest.approx(m.mean_absolute_error(y, x))
    assert ours.mean_squared_error(x, y) == pytest.approx(m.mean_squared_error(y, x))
    expected = m.root_mean_squared_error(y[:, 0], x[:, 0])
    assert ours.root_mean_squared_error(x[:, 0], y[:, 0]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda m: m.accuracy([[1], [2]], [0, 1]), tg.ShapeError, "outputs > 0"),
        (lambda m: m.accuracy([[1, 2]], [0, 1]), tg.ShapeError, "(1,), indices"),
        (lambda m: m.accuracy([[1, 2]], [0.5]), tg.DTypeError, "got float64"),
        (lambda m: m.accuracy([[1, 2]], [2]), tg.InvalidArgument, "0 to 1, or the"),
        (lambda m: m.top_k_accuracy([[1, 2]], [1], 0), tg.InvalidArgument, "1 or more"),
        (lambda m: m.mean_squared_error([1, 2], [1]), tg.ShapeError, "got (1,)"),
        (lambda m: m.mean_absolute_error("a", [1]), tg.InvalidArgument, "no array of"),
    ],
)
def test_wrong_arrays_are_told(
    call: Callable[[Any], float], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        call(tg.metrics)


def classifier(rate: float = 0.0, ignore_index: int = -100) -> tg.TrainingGraph:
    tg.set_seed(2)
    x = tg.Tensor((BATCH, 3), name="x")
    y = tg.Tensor((BATCH,), "int64", name="y")
    graph = tg.Graph()
    scores = graph.node(tg.layers.FullyConnected(3, CLASSES, name="fc"), x)
    training = tg.TrainingGraph(
        [graph],
        tg.losses.SoftmaxCrossEntropy(ignore_index=ignore_index),
        tg.optimizers.SGD(rate),
    )
    training.add_inputs({"x": x}, {"y": y})
    training.add_outputs({"scores": scores})
    training.compile("cpu")
    return training


def samples(count: int = 3 * BATCH + 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x = rng.standard_normal((count, 3)).astype(np.float32)
    return x, rng.integers(CLASSES, size=count)


def scores_of(training: tg.TrainingGraph, x: np.ndarray) -> np.ndarray:
    state = training.state_dict()
    return np.asarray(x @ state["fc.weights"].T + state["fc.biases"])


def test_a_pass_counts_all_samples() -> None:
    """29 samples in batches of 8, 8, 8 and 5: a mean of means would be another one."""
    training, (x, y) = classifier(), samples()
    scores = scores_of(training, x)
    order = np.argsort(-scores, axis=1)
    hit = order == y[:, None]
    expected = {
        "accuracy": hit[:, 0].mean(),
        "top_2_accuracy": hit[:, :2].any(axis=1).mean(),
        "spread": scores.max() - scores.min(),
    }

    def spread(outputs: np.ndarray, labels: np.ndarray) -> float:
        assert len(outputs) == len(labels) == len(x)
        return float(outputs.max() - outputs.min())

    metrics = ["accuracy", "top_2_accuracy", spread]
    got = tg.evaluate(training, (x, y), metrics=metrics)
    assert got.pop("loss") > 0
    assert got == pytest.approx(expected)
    means = [hit[i : i + 8, 0].mean() for i in range(0, len(x), 8)]
    assert np.mean(means) != pytest.approx(expected["accuracy"])
    history = tg.fit(
        training, (x, y), validation=(x, y), metrics=metrics, progress=False
    ).metrics
    for name, value in expected.items():  # the rate is 0
        assert history[name] == history[f"validation_{name}"] == pytest.approx([value])


def test_metrics_of_training_are_those_of_its_steps() -> None:
    training, (x, y) = classifier(rate=0.5), samples()
    other, hits = classifier(rate=0.5), 0
    for i in range(0, len(x), BATCH):
        rows = slice(i, i + BATCH)
        hits += int((scores_of(other, x[rows]).argmax(axis=1) == y[rows]).sum())
        other.execute({"x": x[rows]}, {"y": y[rows]}, synchronous=True)
    history = tg.fit(
        training, (x, y), shuffle=False, metrics=["accuracy"], progress=False
    )
    assert history.metrics["accuracy"] == [pytest.approx(hits / len(x))]


def test_labels_that_the_loss_ignores_do_not_count() -> None:
    training, (x, y) = classifier(ignore_index=2), samples()
    expected = (scores_of(training, x).argmax(axis=1) == y)[y != 2].mean()
    got = tg.evaluate(training, (x, y), metrics=["accuracy"])
    assert got["accuracy"] == pytest.approx(expected)


def test_functions_of_the_module_are_their_names() -> None:
    training, data = classifier(), samples()
    m = tg.metrics
    got = tg.evaluate(training, data, metrics=[m.accuracy, m.top_k_accuracy])
    names = ["accuracy", "top_5_accuracy"]
    by_name = tg.evaluate(training, data, metrics=names)
    assert list(got.values()) == list(by_name.values())
    assert list(got) == ["loss", "accuracy", "top_k_accuracy"]


def regression() -> tg.TrainingGraph:
    """2 x, with outputs of ops that read the label: one per sample, one per batch."""
    x, y = tg.Tensor((BATCH, 2), name="x"), tg.Tensor((BATCH, 2), name="y")
    graph = tg.Graph()
    double = graph.node(tg.layers.Affine(2.0), x)
    error = graph.ops.binary(double, y, operation="subtract")
    each = graph.ops.reduce(
        graph.ops.activation(error, type="absolute"), type="max", axes=[1]
    )
    of_batch = graph.ops.reduce(each, type="mean", axes=[0])
    graph.node(tg.losses.MeanSquaredError(), double, loss_labels=[y])
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": x}, {"y": y})
    outputs = {"double": double, "worst": each, "worst_of_batch": of_batch}
    training.add_outputs(outputs)
    training.compile("cpu")
    return training


def test_an_output_is_a_metric_by_its_name() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 21, 2))
    error = 2 * x - y
    worst = np.abs(error).max(axis=1).mean()
    names = [
        *("worst", "worst_of_batch", "mean_absolute_error", "mean_squared_error"),
        "root_mean_squared_error",
    ]
    got = tg.evaluate(regression(), (x, y), metrics=names)
    assert got == pytest.approx(
        {
            "loss": np.square(error).mean(),
            "worst": worst,
            "worst_of_batch": worst,
            "mean_absolute_error": np.abs(error).mean(),
            "mean_squared_error": np.square(error).mean(),
            "root_mean_squared_error": np.sqrt(np.square(error).mean()),
        },
        rel=1e-5,
    )


def test_functions_are_given_all_outputs_by_name() -> None:
    x = np.ones((11, 2))

    def check(outputs: dict[str, np.ndarray], labels: np.ndarray) -> float:
        assert set(outputs) == {"double", "worst"}  # the other one has no samples
        assert outputs["worst"].shape == (11, 1)
        return float((outputs["double"] - labels).mean())

    got = tg.evaluate(regression(), (x, x), metrics={"bias": check})
    assert got == {"loss": 1.0, "bias": 1.0}


def test_accuracy_monitored_is_better_when_larger() -> None:
    def run(monitor: str, **options: Any) -> int | None:
        values = iter([1.0, 3.0, 2.0])
        history = tg.fit(
            classifier(), samples(), epochs=3, monitor=monitor, progress=False,
            callbacks=[lambda e: e.metrics.update({monitor: next(values)})], **options,
        )  # fmt: skip
        return history.best_epoch

    assert run("validation_accuracy") == run("score", maximize=True) == 1
    assert run("score") == run("validation_accuracy", maximize=False) == 0


@pytest.mark.parametrize("rate", [0.0, 0.5])
def test_gradient_norm_is_that_of_all_parameters(rate: float) -> None:
    training, (x, y) = classifier(rate), samples()
    other, norms = classifier(rate), []
    for i in range(0, len(x), BATCH):
        a, b = x[i : i + BATCH], y[i : i + BATCH]
        logits = scores_of(other, a)
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        error = (shares - np.eye(CLASSES)[b]) / len(b)
        weights, biases = error.T @ a, error.sum(axis=0)
        norms.append(np.sqrt(np.sum(weights**2) + np.sum(biases**2)))
        other.execute({"x": a}, {"y": b}, synchronous=True)
    history = tg.fit(
        training, (x, y), validation=(x, y), shuffle=False, progress=False,
        metrics=["gradient_norm", "accuracy"],
    )  # fmt: skip
    assert history.metrics["gradient_norm"] == [pytest.approx(np.mean(norms), 1e-4)]
    assert "validation_gradient_norm" not in history.metrics
    for name, values in other.state_dict().items():
        np.testing.assert_allclose(training.state_dict()[name], values, rtol=1e-5)


@pytest.mark.parametrize(
    ("metrics", "kind", "message"),
    [
        ("accuracy", tg.CallError, "Pass a list: metrics=['accuracy']."),
        (3, tg.CallError, "expected a list of names and functions"),
        (["acuracy"], tg.InvalidArgument, 'Did you mean "accuracy"?'),
        (["mae"], tg.InvalidArgument, 'Did you mean "mean_absolute_error"?'),
        (["top_0_accuracy"], tg.InvalidArgument, "there is no such metric"),
        (["loss"], tg.InvalidArgument, "the name of the metric is taken"),
        (["accuracy", "accuracy"], tg.InvalidArgument, "is taken"),
        ([lambda _x, _y: 0], tg.CallError, 'metrics={"error": f}'),
        ([3], tg.CallError, "a function that has one, got 3"),
        (
            {"high": lambda _x, _y: "high"},
            tg.CallError,
            '"high"] a metric is no number',
        ),
    ],
)
def test_wrong_metrics_are_told(
    metrics: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        tg.evaluate(classifier(), samples(), metrics=metrics)


def test_shapes_are_compared_before_the_first_step() -> None:
    def training(shape: tuple[int, ...], loss: Any, *metrics: str) -> None:
        x, y = tg.Tensor((8, 2), name="x"), tg.Tensor(shape, name="y")
        graph = tg.Graph()
        h = graph.node(tg.layers.FullyConnected(3), x)
        training = tg.TrainingGraph([graph], loss, tg.optimizers.SGD(0.1))
        training.add_inputs({"x": x}, {"y": y})
        training.add_outputs({"h": h})
        training.compile("cpu")
        data = np.ones((20, 2)), np.ones((20, *shape[1:]))
        optimizer: Any = training.optimizer
        try:
            tg.fit(training, data, metrics=metrics, epochs=1, progress=False)
        finally:
            assert (optimizer.time_step == 1) == bool(metrics)

    squares = tg.losses.MeanSquaredError
    for metric in ("mean_absolute_error", "root_mean_squared_error"):
        with pytest.raises(tg.ShapeError, match=r'"labels"\].*\(1, 3\), got \(1, 1\)'):
            training((8, 1), squares(), metric)
    with pytest.raises(tg.ShapeError, match=r"\[top_2_accuracy .*got \(1, 1, 3\)"):
        training((8, 1, 3), squares(), "top_2_accuracy")
    training((8, 1), squares())


def test_axes_of_size_1_do_not_count() -> None:
    """Losses take such labels, too."""
    x, y = tg.Tensor((4, 3, 1), name="x"), tg.Tensor((4, 1), name="y")
    graph = tg.Graph()
    last = tg.layers.GRU(2, returns_sequences=False)
    h = graph.sequence(x, last, tg.layers.FullyConnected(1))  # (4, 1, 1)
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError())
    training.add_inputs(x, y)
    training.add_outputs({"h": h})
    training.compile("cpu")
    data = np.ones((4, 3, 1)), np.arange(4.0)[:, None]
    found = tg.evaluate(training, data, metrics=["mean_squared_error"])
    assert found["mean_squared_error"] == pytest.approx(found["loss"])
    with pytest.raises(tg.ShapeError, match="do not go with"):
        tg.metrics.mean_squared_error(np.ones((1, 4)), np.ones((4, 1)))


def test_the_prediction_is_an_output() -> None:
    x, y = tg.Tensor((4, 2), name="x"), tg.Tensor((4, 2), name="y")
    graph = tg.Graph()
    graph.node(tg.layers.Affine(2.0), x)
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError())
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    with pytest.raises(tg.InvalidArgument, match=r"got none. Call add_outputs\(\{"):
        tg.evaluate(training, (np.ones((4, 2)),) * 2, metrics=["mean_absolute_error"])
    message = r"which output the metric is of.* got 2\. Pass a function"
    with pytest.raises(tg.InvalidArgument, match=message):
        tg.evaluate(regression(), (np.ones((4, 2)),) * 2, metrics=["accuracy"])


def test_labels_are_those_of_their_batch_whoever_writes_over_them() -> None:
    training, (x, y) = classifier(), samples(6 * BATCH)

    def reused() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        labels = np.empty(BATCH, np.int64)
        for i in range(0, len(x), BATCH):
            labels[:] = y[i : i + BATCH]
            yield x[i : i + BATCH], labels

    expected = tg.evaluate(training, (x, y), metrics=["accuracy"])
    got = tg.evaluate(training, reused(), metrics=["accuracy"])
    assert got == pytest.approx(expected)
