# SPDX-License-Identifier: MIT
"""Data frames and series of pandas and polars as data sets. Each is optional."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

COUNT, BATCH = 21, 8
POINTS = np.random.default_rng(0).standard_normal((COUNT, 3)).astype(np.float32)
TARGETS = POINTS.sum(axis=1)


def make(columns: bool) -> tg.TrainingGraph:
    """y = a + b + c, of three inputs or of one."""
    graph = tg.Graph()
    if columns:
        inputs = {name: tg.Tensor((BATCH, 1), name=name) for name in "abc"}
        h = graph.node(tg.layers.Concatenation(1), list(inputs.values()))
    else:
        inputs = {"x": tg.Tensor((BATCH, 3), name="x")}
        h = inputs["x"]
    ones = np.ones((1, 3), np.float32)
    h = graph.node(tg.layers.FullyConnected(3, 1, weights=ones, name="fc"), h)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.1)
    )
    training.add_inputs(inputs, {"y": tg.Tensor((BATCH, 1), name="y")})
    training.add_outputs({"sum": h})
    training.compile("cpu")
    return training


@pytest.fixture(params=["pandas", "polars"])
def frames(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param, reason="is optional")


def frame(frames: Any, shift: float = 0.0) -> Any:
    columns = {name: POINTS[:, i] for i, name in enumerate("abc")}
    return frames.DataFrame({**columns, "y": TARGETS + shift})


def test_columns_are_inputs_and_labels_by_name(frames: Any) -> None:
    training = make(columns=True)
    data = frame(frames, shift=2.0)
    assert tg.evaluate(training, data) == {"loss": pytest.approx(4, rel=1e-5)}
    predicted: Any = tg.predict(training, data)  # "y" is left out
    np.testing.assert_allclose(predicted["sum"][:, 0], TARGETS, atol=1e-5)
    mapping = {name: data[name] for name in "abcy"}
    assert tg.evaluate(training, mapping)["loss"] == pytest.approx(4, rel=1e-5)
    tg.fit(training, data, epochs=3, progress=False)
    assert tg.evaluate(training, data)["loss"] < 4
    with pytest.raises(tg.InvalidArgument, match=r'"d".* got "d"'):
        tg.evaluate(training, frames.DataFrame({"a": [1.0], "d": [1.0]}))


def test_a_frame_of_features_is_one_array(frames: Any) -> None:
    training = make(columns=False)
    data = frame(frames, shift=3.0)
    features, label = data[["a", "b", "c"]], data["y"]
    assert tg.evaluate(training, (features, label))["loss"] == pytest.approx(9, 1e-5)
    assert tg.evaluate(training, (features, data[["y"]]))["loss"] == pytest.approx(
        9, rel=1e-5
    )
    predicted: Any = tg.predict(training, features)
    np.testing.assert_allclose(predicted["sum"][:, 0], TARGETS, atol=1e-5)
    batches = [(features[i : i + 8], label[i : i + 8]) for i in (0, 8, 16)]
    assert tg.evaluate(training, batches)["loss"] == pytest.approx(9, rel=1e-5)
    fitted, other = make(columns=False), make(columns=False)
    other.load_state_dict(fitted.state_dict())
    tg.fit(fitted, (features, label), epochs=2, progress=False)
    tg.fit(other, (POINTS, TARGETS + np.float32(3)), epochs=2, progress=False)
    for name, values in other.state_dict().items():
        np.testing.assert_array_equal(fitted.state_dict()[name], values)


def test_columns_of_several_types_are_numbers(frames: Any) -> None:
    """As get_dummies() makes them: truth values beside floats and integers."""
    training = make(columns=False)
    points = {
        "a": POINTS[:, 0].astype(np.float64),
        "b": POINTS[:, 1] > 0,
        "c": np.arange(COUNT) % 3,
    }
    plain = np.column_stack(list(points.values())).astype(np.float32)
    labels = {"y": np.arange(COUNT) % 2 == 0, "z": TARGETS}
    features, label = frames.DataFrame(points), frames.DataFrame(labels)
    expected = tg.evaluate(training, (plain, TARGETS[:, None]))
    assert tg.evaluate(training, (features, label[["z"]])) == expected
    tg.fit(training, (features, label["y"]), epochs=1, progress=False)
    frame = frames.DataFrame({**points, **labels})
    features = frame[["a", "b", "c"]]
    predicted: Any = tg.predict(training, features)
    np.testing.assert_array_equal(predicted["sum"], tg.predict(training, plain)["sum"])
    tensor = tg.Tensor((COUNT, 3), data=features)
    np.testing.assert_array_equal(tensor.numpy(), plain)
    counts = tg.Tensor((COUNT, 2), "int32", data=frame[["b", "c"]])
    np.testing.assert_array_equal(counts.numpy(), plain[:, 1:])
    wrong = frames.DataFrame({"a": [1.0], "b": [True], "c": ["x"]})
    with pytest.raises(tg.DTypeError, match="data type is not supported"):
        tg.predict(training, wrong)


def test_columns_of_text_are_told(frames: Any) -> None:
    training = make(columns=True)
    data = frames.DataFrame({"a": ["x"], "b": [1.0], "c": [1.0], "y": [1.0]})
    with pytest.raises(tg.Error, match=r'\[(evaluate|execute) "a"\]'):
        tg.evaluate(training, data)
