# SPDX-License-Identifier: MIT
"""Graphs with their state in one file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import traingraph as tg

SAMPLES, FEATURES, CLASSES = 8, 6, 3


def network(seed: int = 3) -> tg.TrainingGraph:
    tg.set_seed(seed)
    x = tg.Tensor((SAMPLES, FEATURES), name="x")
    label = tg.Tensor((SAMPLES,), data_type="int32", name="label")
    graph = tg.Graph()
    h = graph.node(tg.layers.FullyConnected(FEATURES, 5, name="first"), x)
    h = graph.node(tg.layers.BatchNormalization(5), h)
    h = graph.node(tg.layers.Dropout(0.25), h)
    y = graph.node(tg.layers.FullyConnected(5, CLASSES, name="second"), h)
    optimizer = tg.optimizers.Adam(0.01)
    optimizer.schedule = tg.optimizers.Schedule.cosine(0.01, 20)
    training = tg.TrainingGraph([graph], tg.losses.SoftmaxCrossEntropy(), optimizer)
    training.add_inputs({"x": x}, {"label": label})
    training.add_outputs({"y": y})
    training.compile("cpu")
    return training


def steps(training: tg.TrainingGraph, first: int, last: int) -> list[float]:
    losses = []
    for step in range(first, last):
        random = np.random.default_rng(step)
        x = random.standard_normal((SAMPLES, FEATURES), dtype=np.float32)
        label = random.integers(0, CLASSES, SAMPLES, dtype=np.int32)
        losses.append(training.execute({"x": x}, {"label": label}).result().loss)
    return losses


def states_are_equal(a: tg.TrainingGraph, b: tg.TrainingGraph) -> bool:
    left = a.state_dict(with_optimizer=True)
    right = b.state_dict(with_optimizer=True)
    return left.keys() == right.keys() and all(
        np.array_equal(left[name], right[name]) for name in left
    )


CONTINUE = """
import sys
import test_artefacts as test
import traingraph as tg
training = tg.TrainingGraph.load(sys.argv[1], "cpu")
print(repr(test.steps(training, 4, 9)))
training.export_graph(sys.argv[2])
"""


def test_another_process_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    whole = network()
    steps(whole, 0, 4)
    whole.export_graph(tmp_path / "net", metadata={"epoch": "3"})
    assert tg.read_metadata(tmp_path / "net") == {"epoch": "3"}
    output = subprocess.run(
        [sys.executable, "-c", CONTINUE, tmp_path / "net", tmp_path / "next"],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
    ).stdout
    assert output.strip() == repr(steps(whole, 4, 9))
    loaded = tg.TrainingGraph.load(str(tmp_path / "next"), device="cpu")
    assert states_are_equal(loaded, whole)
    assert loaded.random_step == whole.random_step
    assert loaded.optimizer is not None
    assert loaded.optimizer.time_step == 10


def test_without_state_it_begins_as_it_was_built(tmp_path: Path) -> None:
    trained = network()
    steps(trained, 0, 4)
    trained.export_graph(tmp_path / "net", with_state=False)
    trained.export_graph(tmp_path / "full")
    fresh = network()
    losses = steps(fresh, 0, 5)
    loaded = tg.TrainingGraph.load(tmp_path / "net", "cpu")
    assert steps(loaded, 0, 5) == losses
    again = tg.TrainingGraph.load(tmp_path / "full", "cpu", with_state=False)
    assert steps(again, 0, 5) == losses
    assert (tmp_path / "net").stat().st_size < 16_000


def test_inference_form(tmp_path: Path) -> None:
    training = network()
    steps(training, 0, 4)
    training.export_graph(tmp_path / "net")
    inference = tg.InferenceGraph.load(tmp_path / "net", "cpu")
    x = np.ones((SAMPLES, FEATURES), np.float32)
    got = inference.execute({"x": x}).result().outputs["y"]
    expected = training.execute_forward({"x": x}, forward_for_inference=True)
    np.testing.assert_array_equal(got, expected.result().outputs["y"])


def test_tensors_and_gradients_by_name(tmp_path: Path) -> None:
    training = network()
    training.export_graph(tmp_path / "net")
    loaded = tg.TrainingGraph.load(tmp_path / "net", "cpu")
    weights = loaded.tensor("first.weights")
    assert weights.shape == (5, FEATURES)
    x = np.ones((SAMPLES, FEATURES), np.float32)
    label = np.zeros(SAMPLES, np.int32)
    for graph in (training, loaded):
        graph.execute_forward({"x": x}, {"label": label})
        graph.execute_gradient().wait()
    np.testing.assert_array_equal(
        loaded.gradient(weights), training.gradient(training.tensor("first.weights"))
    )
    with pytest.raises(tg.InvalidArgument, match=r'"first.weights"'):
        loaded.tensor("first.weight")


def test_another_batch_size(tmp_path: Path) -> None:
    network().export_graph(tmp_path / "net")
    loaded = tg.TrainingGraph.load(tmp_path / "net", "cpu", batch_size=32)
    assert loaded.tensor("x").shape == (32, FEATURES)
    x = np.ones((32, FEATURES), np.float32)
    result = loaded.execute({"x": x}, {"label": np.zeros(32, np.int32)}).result()
    assert result.outputs["y"].shape == (32, CLASSES)


def test_what_needs_layers_says_so(tmp_path: Path) -> None:
    network().export_graph(tmp_path / "net")
    loaded = tg.TrainingGraph.load(tmp_path / "net", "cpu")
    with pytest.raises(tg.StateError, match="loaded"):
        loaded.compile("cpu")
    with pytest.raises(tg.UnsupportedError, match="loaded"):
        loaded.summarized_dot_description()


def test_errors(tmp_path: Path) -> None:
    training = network()
    training.save(tmp_path / "state")
    with pytest.raises(tg.FileError, match="holds no graph"):
        tg.TrainingGraph.load(tmp_path / "state")
    with pytest.raises(tg.FileError):
        tg.InferenceGraph.load(tmp_path / "nothing")
    with pytest.raises(tg.InvalidArgument, match="another key"):
        training.export_graph(tmp_path / "net", metadata={"traingraph": "x"})
    assert not (tmp_path / "net").exists()
