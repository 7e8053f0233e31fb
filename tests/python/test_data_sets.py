# SPDX-License-Identifier: MIT
"""Data sets of ``fit``, ``evaluate`` and ``predict``: every form is the same batches."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fit_support import BATCH, CLASSES, FEATURES, make_batches, make_training

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = 3 * BATCH + 5


def arrays() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    x = rng.standard_normal((COUNT, FEATURES)).astype(np.float32)
    y = np.eye(CLASSES, dtype=np.float32)[rng.integers(CLASSES, size=COUNT)]
    return x, y


def cut(x: Any, y: Any, size: int = BATCH, order: Any = None) -> list[tuple[Any, Any]]:
    order = np.arange(len(x)) if order is None else order
    rows = [order[i : i + size] for i in range(0, len(x), size)]
    return [(x[each], y[each]) for each in rows]


def trained(data: Any, epochs: int = 2, **options: Any) -> dict[str, np.ndarray]:
    training = make_training()
    tg.fit(training, data, epochs=epochs, progress=False, **options)
    return training.state_dict()


def assert_same(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


def test_whole_arrays_are_cut_in_order() -> None:
    x, y = arrays()
    expected = trained(cut(x, y))
    for data in ((x, y), {"x": x, "y": y}, {"y": y, "x": x}):
        assert_same(trained(data, shuffle=False), expected)
    nested = (x.tolist(), y.tolist())
    assert_same(trained(nested, shuffle=False), expected)


@pytest.mark.parametrize("seed", [0, 7])
def test_each_epoch_is_shuffled_by_seed_and_number(seed: int) -> None:
    x, y = arrays()

    def batches(epoch: int) -> list[tuple[Any, Any]]:
        order = np.random.default_rng((seed, epoch)).permutation(COUNT)
        return cut(x, y, order=order)

    shuffled = trained((x, y), seed=seed)
    assert_same(shuffled, trained(batches))
    other = trained((x, y), seed=seed + 1)
    assert any(np.any(shuffled[name] != other[name]) for name in shuffled)
    assert sorted(np.concatenate([b for _, b in batches(1)]).argmax(1)) == sorted(
        y.argmax(1)
    )


def test_a_function_may_return_the_arrays_of_an_epoch() -> None:
    x, y = arrays()
    whole = {"batch_size": 3, "seed": 5}
    expected = trained((x, y), **whole)
    for data in (lambda _: (x, y), lambda _: {"x": x, "y": y}):
        assert_same(trained(data, **whole), expected)

    noise = np.random.default_rng(1).standard_normal((2, COUNT, FEATURES))
    noisy = [(x + each).astype(np.float32) for each in noise]
    by_epoch = trained(lambda epoch: (noisy[epoch], y), shuffle=False)
    batches = trained(lambda epoch: cut(noisy[epoch], y))
    assert_same(by_epoch, batches)
    training = make_training()
    assert tg.evaluate(training, lambda _: (x, y)) == tg.evaluate(training, (x, y))
    with pytest.raises(tg.InvalidArgument, match="sizes of their own: expected None"):
        tg.fit(training, lambda _: cut(x, y), batch_size=8)
    with pytest.raises(tg.ShapeError, match="different numbers of samples"):
        tg.fit(training, lambda _: (x, y[:3]))


def test_a_resumed_run_has_the_order_of_its_epochs() -> None:
    x, y = arrays()
    parts = make_training()
    tg.fit(parts, (x, y), epochs=1, progress=False)
    tg.fit(parts, (x, y), epochs=3, first_epoch=1, progress=False)
    assert_same(parts.state_dict(), trained((x, y), epochs=3))


def test_batch_size_is_that_of_whole_arrays() -> None:
    x, y = arrays()
    expected = trained(cut(x, y, size=3))
    assert_same(trained((x, y), batch_size=3, shuffle=False), expected)
    training = make_training()
    with pytest.raises(tg.InvalidArgument, match=r'"batch_size"\].* at most 8, got 9'):
        tg.fit(training, (x, y), batch_size=9)
    with pytest.raises(tg.InvalidArgument, match="sizes of their own: expected None"):
        tg.fit(training, cut(x, y), batch_size=8)
    with pytest.raises(tg.InvalidArgument, match="1 or more, got 0"):
        tg.predict(training, x, batch_size=0)


def test_samples_on_other_axes_are_cut_and_shuffled_there() -> None:
    x = tg.Tensor((2, BATCH, 3), name="x", batch_axis=1)  # (time, batch, features)
    pairs = tg.Tensor((2 * BATCH, 3), name="pairs")  # two rows for each sample
    y = tg.Tensor((2, BATCH, 3), name="y", batch_axis=1)
    scale = tg.Tensor((1, 1, 3), name="scale", batch_axis=None)
    graph = tg.Graph()
    z = graph.node(tg.layers.Affine(1.0), pairs)
    same = tg.layers.FullyConnected(3, 3, weights=np.eye(3), uses_biases=False)
    h = graph.node(same, graph.node(tg.layers.Arithmetic("multiply"), [x, scale]))
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.0)
    )
    training.add_inputs({"x": x, "pairs": pairs, "scale": scale}, {"y": y})
    training.add_outputs({"h": h, "z": z})
    training.compile("cpu")
    rng = np.random.default_rng(0)
    n = 2 * BATCH + 3
    data = {
        "x": rng.standard_normal((2, n, 3)),
        "pairs": rng.standard_normal((2 * n, 3)),
        "scale": np.float32([[[2, 3, 4]]]),
    }

    def in_time(rows: np.ndarray) -> np.ndarray:
        return rows.reshape(-1, 2, 3).transpose(1, 0, 2)

    data["y"] = data["x"] * data["scale"] + in_time(data["pairs"])
    seen: list[np.ndarray] = []

    def error(outputs: Any, labels: Any) -> float:
        seen.append(labels)
        return float(np.abs(outputs["h"] + in_time(outputs["z"]) - labels).max())

    assert tg.evaluate(training, data, metrics=[error])["error"] < 1e-5
    np.testing.assert_array_equal(seen[0], data["y"])
    history = tg.fit(training, data, metrics=[error], progress=False)
    assert history.metrics["error"][0] < 1e-5  # each label went with its sample
    assert not np.array_equal(seen[1], data["y"])
    np.testing.assert_array_equal(np.sort(seen[1], 1), np.sort(data["y"], 1))


def test_batches_in_every_form_are_predicted() -> None:
    x, y = arrays()
    training = make_training()
    expected = tg.predict(make_inference(training), x)
    inference = make_inference(training)
    large = cut(x, y, size=2 * BATCH)
    for data in (
        {"x": x},
        large,
        [a for a, _ in large],
        (list(pair) for pair in large),
        [{"x": a, "y": b} for a, b in large][:0] + [{"x": a} for a, _ in large],
        tg.prefetch(large),
        lambda _: iter(large),
    ):
        np.testing.assert_allclose(tg.predict(inference, data), expected, atol=1e-6)
    small = tg.predict(inference, x, batch_size=5)
    np.testing.assert_allclose(small, expected, atol=1e-6)


def make_inference(training: tg.TrainingGraph) -> tg.InferenceGraph:
    x = tg.Tensor((BATCH, FEATURES), name="x")
    graph = tg.Graph()
    graph.node(tg.layers.FullyConnected(FEATURES, CLASSES, name="fc"), x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.compile("cpu")
    inference.load_state_dict(training.state_dict())
    return inference


def test_labels_of_a_data_set_are_left_out_of_predictions() -> None:
    x = tg.Tensor((BATCH, FEATURES), name="x")
    y = tg.Tensor((BATCH, CLASSES), name="y")
    graph = tg.Graph()
    h = graph.node(tg.layers.FullyConnected(FEATURES, CLASSES, name="fc"), x)
    training = tg.TrainingGraph([graph], tg.losses.SoftmaxCrossEntropy())
    training.add_inputs({"x": x}, {"y": y})
    training.add_outputs({"h": h})
    training.compile("cpu")
    a, b = arrays()
    expected: Any = tg.predict(training, a)
    for data in ((a, b), {"x": a, "y": b}, cut(a, b), [{"x": a, "y": b}]):
        got: Any = tg.predict(training, data)
        np.testing.assert_array_equal(got["h"], expected["h"])


def test_evaluate_is_the_loss_of_all_samples() -> None:
    x, y = arrays()
    training = make_training()
    before = training.state_dict()
    scores = tg.evaluate(training, (x, y))
    logits = x @ before["fc.weights"].T + before["fc.biases"]
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    assert scores == {"loss": pytest.approx(-np.mean((y * logs).sum(axis=1)), 1e-5)}
    for data in (cut(x, y, size=5), [(x, y)]):
        assert tg.evaluate(training, data) == pytest.approx(scores, rel=1e-5)
    history = tg.fit(make_training(0.0), (x, y), validation=(x, y), progress=False)
    assert history.metrics["validation_loss"] == pytest.approx([scores["loss"]])
    assert history.metrics["loss"] == pytest.approx([scores["loss"]])
    assert_same(training.state_dict(), before)


def test_a_graph_without_labels_takes_its_input_alone() -> None:
    """An encoder and decoder, whose label is the input."""
    x = tg.Tensor((BATCH, 3), name="x")
    graph = tg.Graph()
    h = graph.node(tg.layers.FullyConnected(3, 3), x)
    graph.node(tg.losses.MeanSquaredError(), h, loss_labels=[x])
    training = tg.TrainingGraph([graph], optimizer=tg.optimizers.Adam(0.1))
    training.add_inputs({"x": x})
    training.compile("cpu")
    points = np.random.default_rng(0).standard_normal((21, 3))
    options: Any = {"epochs": 20, "progress": False}
    losses = tg.fit(training, points, validation=points, **options).metrics
    assert losses["validation_loss"][-1] < 0.1 * losses["loss"][0]
    expected = tg.evaluate(training, points)
    batches = [points[i : i + BATCH] for i in range(0, 21, BATCH)]
    for data in ((points,), {"x": points}, batches, [(each,) for each in batches]):
        assert tg.evaluate(training, data) == pytest.approx(expected)


def test_a_generator_that_is_used_up_is_told() -> None:
    batches = make_batches(2)
    training = make_training()
    one = (batch for batch in batches)
    message = r'\[fit "data"\] .* only once: .* got a generator for 3 epochs'
    with pytest.raises(tg.InvalidArgument, match=message):
        tg.fit(training, one, epochs=3)
    message = r'\[fit "data"\] there is no batch: .* none in epoch 1\. A generator ends'
    with pytest.raises(tg.InvalidArgument, match=message):
        tg.fit(training, lambda _: one, epochs=3, progress=False)


def two_inputs() -> tg.TrainingGraph:
    tensors = {name: tg.Tensor((BATCH, 2), name=name) for name in ("a", "b", "y")}
    graph = tg.Graph()
    h = graph.node(tg.layers.Arithmetic("add"), [tensors["a"], tensors["b"]])
    graph.node(tg.layers.FullyConnected(2), h)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    )
    training.add_inputs({k: tensors[k] for k in "ab"}, {"y": tensors["y"]})
    training.compile("cpu")
    return training


@pytest.mark.parametrize(
    ("data", "kind", "message"),
    [
        (
            (np.ones((9, 2)), np.ones((9, 2)), np.ones((9, 2))),
            tg.CallError,
            (
                '[fit "data"] the data is no mapping: expected a mapping name -> array, got '
                'a tuple of 3. Make it {"a": ..., "b": ..., "y": ...}.'
            ),
        ),
        (
            [(np.ones((8, 2)), np.ones((8, 2)))],
            tg.CallError,
            (
                '[fit "data"] a batch is no mapping: expected a mapping name -> array, got '
                'a tuple of 2. Make each batch {"a": ..., "b": ..., "y": ...}.'
            ),
        ),
        (
            {"a": np.ones((9, 2)), "b": np.ones((7, 2)), "y": np.ones((9, 2))},
            tg.ShapeError,
            (
                '[fit "b"] the arrays have different numbers of samples: expected 9, as '
                '"a" has, got 7 in (7, 2).'
            ),
        ),
        (
            {"a": np.ones((0, 2)), "b": np.ones((0, 2)), "y": np.ones((0, 2))},
            tg.ShapeError,
            (
                '[fit "a"] the data has no samples: expected (8, 2), of any number of '
                "samples on axis 0, got (0, 2)."
            ),
        ),
        (
            {"a": np.ones((9, 2)), "c": np.ones((9, 2))},
            tg.InvalidArgument,
            'one of "a" (input), "b" (input), "y" (label), got "c".',
        ),
        (
            [],
            tg.InvalidArgument,
            '[fit "data"] there is no batch: expected one or more',
        ),
        (
            {"a": "text", "b": np.ones((9, 2)), "y": np.ones((9, 2))},
            tg.InvalidArgument,
            '[fit "a"] this is no array of numbers',
        ),
        (
            {"a": [[1, 2], [3]], "b": np.ones((2, 2)), "y": np.ones((2, 2))},
            tg.InvalidArgument,
            "Rows of a list must be equally long",
        ),
        (np.ones((9, 2)), tg.CallError, "a mapping name -> array, got an ndarray"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_what_is_no_data_set_is_told(data: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        tg.fit(two_inputs(), data, progress=False)


def test_a_column_does_where_the_tensor_is_one() -> None:
    x, y = tg.Tensor((BATCH, 1), name="x"), tg.Tensor((BATCH, 1), name="y")
    graph = tg.Graph()
    one = np.ones((1, 1), np.float32)
    graph.node(tg.layers.FullyConnected(1, 1, weights=one), x)
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError())
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    points = np.arange(20.0)
    for data in (
        (points, points + 2),
        (points[:, None], (points + 2).tolist()),
        cut(points, points + 2),
        [{"x": a, "y": b} for a, b in cut(points, points + 2)],
    ):
        assert tg.evaluate(training, data)["loss"] == pytest.approx(4)


class Stream:
    """As a loader of an endless stream: it has a length that nobody knows."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        raise TypeError("IterableDataset has no len()")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.batches)


def test_loaders_without_a_length_are_gone_through() -> None:
    x, y = arrays()
    loader = Stream([[a, b] for a, b in cut(x, y)])
    assert_same(trained(loader), trained(cut(x, y)))


def test_a_generator_may_write_over_its_arrays() -> None:
    x, y = arrays()
    training = make_training(0.0)

    def reused() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        a, b = np.empty_like(x[:1]), np.empty_like(y[:1])
        for i in range(len(x)):
            a[:], b[:] = x[i], y[i]
            yield a, b

    expected = tg.evaluate(training, (x, y))["loss"]
    assert tg.evaluate(training, reused())["loss"] == pytest.approx(expected)
