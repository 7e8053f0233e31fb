# SPDX-License-Identifier: MIT
"""Layers with the sizes of their sources, and chains of layers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

L = tg.layers

# Of sources, with and without the sizes that these have.
SIZED: dict[str, tuple[list[tuple[int, ...]], Callable[[], L.Layer], Any]] = {
    "FullyConnected": (
        [(2, 6)],
        lambda: L.FullyConnected(6, 5),
        lambda: L.FullyConnected(5),
    ),
    "FullyConnected of sequences": (
        [(2, 3, 6)],
        lambda: L.FullyConnected(6, 5, uses_biases=False),
        lambda: L.FullyConnected(output_feature_channel_count=5, uses_biases=False),
    ),
    "Convolution": (
        [(2, 4, 8, 8)],
        lambda: L.Convolution(4, 8, 3, padding="same", strides=2),
        lambda: L.Convolution(8, 3, padding="same", strides=2),
    ),
    "Convolution in groups": (
        [(2, 4, 8, 8)],
        lambda: L.Convolution(4, 8, kernel_size=(3, 5), group_count=2),
        lambda: L.Convolution(8, kernel_size=(3, 5), group_count=2),
    ),
    "Convolution by depth": (
        [(2, 4, 8, 8)],
        lambda: L.Convolution(4, 8, 3, convolution_type="depthwise"),
        lambda: L.Convolution(8, 3, convolution_type="depthwise"),
    ),
    "BatchNormalization": (
        [(2, 6, 3)],
        lambda: L.BatchNormalization(6, momentum=0.5),
        lambda: L.BatchNormalization(momentum=0.5),
    ),
    "InstanceNormalization": (
        [(2, 6, 3)],
        lambda: L.InstanceNormalization(6),
        L.InstanceNormalization,
    ),
    "GroupNormalization": (
        [(2, 6, 3)],
        lambda: L.GroupNormalization(6, 2),
        lambda: L.GroupNormalization(2),
    ),
    "LayerNormalization": (
        [(2, 3, 6)],
        lambda: L.LayerNormalization((6,)),
        L.LayerNormalization,
    ),
    "LayerNormalization of axes": (
        [(2, 3, 6)],
        lambda: L.LayerNormalization((3, 6), axes=(1, 2)),
        lambda: L.LayerNormalization(axes=(1, 2)),
    ),
    "LSTM": (
        [(2, 5, 6)],
        lambda: L.LSTM(6, 4, 2, bidirectional=True),
        lambda: L.LSTM(4, layer_count=2, bidirectional=True),
    ),
    "GRU": ([(2, 5, 6)], lambda: L.GRU(6, 4), lambda: L.GRU(4, reset_after=True)),
    "RNN": ([(2, 5, 6)], lambda: L.RNN(6, 4), lambda: L.RNN(hidden_size=4)),
    "MultiheadAttention": (
        [(2, 5, 8), (2, 3, 6), (2, 3, 4)],
        lambda: L.MultiheadAttention(
            8, 2, key_source_dimension=6, value_source_dimension=4
        ),
        lambda: L.MultiheadAttention(head_count=2),
    ),
}


def tensors(shapes: list[tuple[int, ...]]) -> list[tg.Tensor]:
    return [tg.Tensor(shape) for shape in shapes]


def state(layer: L.Layer) -> dict[str, np.ndarray[Any, Any]]:
    kept = [p.tensor for p in layer.parameters] + list(layer.statistics)
    return {tensor.name: tensor.numpy().copy() for tensor in kept}


@pytest.mark.parametrize("name", SIZED)
def test_inferred_layers_are_as_given(name: str) -> None:
    shapes, *makes = SIZED[name]
    states, texts = [], []
    for make in makes:
        tg.set_seed(3)
        layer = make()
        tg.Graph().node(layer, tensors(shapes))
        states.append(state(layer))
        texts.append(repr(layer))
        assert layer.is_built
    assert states[0].keys() == states[1].keys()
    for tensor, values in states[0].items():
        np.testing.assert_array_equal(values, states[1][tensor])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", SIZED)
def test_what_has_parameters_raises_before_the_first_node(name: str) -> None:
    layer = SIZED[name][2]()
    layer.name = "own"
    assert not layer.is_built
    text = repr(layer)
    assert '"own"' in text
    assert not re.search(r"=0\b(?!\.)", text)
    held = [
        each
        for each in dir(layer)
        if each.split("_")[0] in ("weights", "biases", "parameters")
        or each.split("_")[0] in ("beta", "gamma", "mean", "input", "hidden")
    ]
    assert "parameters" in held
    for each in held:
        with pytest.raises(tg.StateError, match=r'"own".* no parameters yet'):
            getattr(layer, each)


def test_a_size_that_is_given_is_checked() -> None:
    cases: list[Callable[[], L.Layer]] = [
        lambda: L.FullyConnected(0, 4),
        lambda: L.FullyConnected(0),
        lambda: L.Convolution(0, 4, 3),
        lambda: L.Convolution(4, 0),
        lambda: L.BatchNormalization(0),
        lambda: L.GroupNormalization(0, 2),
        lambda: L.LayerNormalization(()),
        lambda: L.LSTM(0, 4),
        lambda: L.GRU(0, 4),
        lambda: L.RNN(0),
        lambda: L.MultiheadAttention(0, 2),
    ]
    for make in cases:
        with pytest.raises(tg.InvalidArgument, match=r"at least|none|the size"):
            make()


def test_a_failed_node_leaves_the_layer_as_it_was() -> None:
    fc = L.FullyConnected(4, name="fc")
    graph = tg.Graph()
    with pytest.raises(tg.ShapeError, match='"fc"'):
        graph.node(fc, tg.Tensor((3,)))
    with pytest.raises(tg.InvalidArgument, match='"fc"'):
        graph.node(fc, tensors([(2, 6), (2, 6)]))
    assert not fc.is_built
    assert graph.layers == []
    graph.node(fc, tg.Tensor((2, 6)))
    given = L.FullyConnected(6, 4)
    tg.set_seed(7)  # as before each test
    again = L.FullyConnected(6, 4)
    assert not np.array_equal(given.weights.numpy(), again.weights.numpy())
    np.testing.assert_array_equal(fc.weights.numpy(), again.weights.numpy())


def test_a_shared_layer_is_built_once_and_checked_then() -> None:
    fc = L.FullyConnected(4)
    graph = tg.Graph()
    graph.node(fc, tg.Tensor((2, 6)))
    weights = fc.weights
    graph.node(fc, tg.Tensor((2, 3, 6)))
    assert fc.weights == weights
    with pytest.raises(tg.ShapeError, match=r"\(\.\.\., 6\).*\(2, 5\)"):
        graph.node(fc, tg.Tensor((2, 5)))
    assert fc.is_built


SAMPLES = 6


def network(*, is_sized: bool) -> tg.TrainingGraph:
    tg.set_seed(3)
    image = tg.Tensor((SAMPLES, 1, 8, 8), name="image")
    label = tg.Tensor((SAMPLES,), "int64", name="label")
    graph = tg.Graph()
    if is_sized:
        h = graph.node(L.Convolution(1, 4, 3, padding="same"), image)
        h = graph.node(L.BatchNormalization(4), h)
        h = graph.node(L.ReLU(), h)
        h = graph.node(L.MaxPooling(2), h)
        h = graph.ops.reshape(h, shape=(SAMPLES, -1))
        h = graph.node(L.FullyConnected(4 * 4 * 4, 10, name="fc"), h)
    else:
        h = graph.sequence(
            image,
            L.Sequential(
                L.Convolution(4, 3, padding="same"), L.BatchNormalization(), L.ReLU()
            ),
            L.MaxPooling(2),
            lambda x: graph.ops.reshape(x, shape=(SAMPLES, -1)),
            L.FullyConnected(10, name="fc"),
        )
    training = tg.TrainingGraph(
        [graph], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(0.01)
    )
    training.add_inputs({"image": image}, {"label": label})
    training.add_outputs({"scores": h})
    training.compile("cpu")
    return training


def losses(training: tg.TrainingGraph, first: int, last: int) -> list[float]:
    found = []
    for step in range(first, last):
        random = np.random.default_rng(step)
        count = SAMPLES - step % 3  # smaller batches, too
        x = random.standard_normal((count, 1, 8, 8), dtype=np.float32)
        y = random.integers(0, 10, count)
        found.append(training.execute({"image": x}, {"label": y}).result().loss)
    return found


def test_training_goes_the_same_way() -> None:
    given, inferred = network(is_sized=True), network(is_sized=False)
    assert list(given.state_dict()) == list(inferred.state_dict())
    assert "fc.weights" in inferred.state_dict()
    assert losses(given, 0, 6) == losses(inferred, 0, 6)
    assert str(given.report()) == str(inferred.report())


def test_files_of_one_are_of_the_other(tmp_path: Path) -> None:
    given, inferred = network(is_sized=True), network(is_sized=False)
    losses(inferred, 0, 3)
    inferred.save(tmp_path / "net.safetensors")
    inferred.export_graph(tmp_path / "net.tg.safetensors")
    given.restore(tmp_path / "net.safetensors")
    loaded = tg.TrainingGraph.load(tmp_path / "net.tg.safetensors", "cpu")
    expected = losses(inferred, 3, 6)
    assert losses(given, 3, 6) == expected
    assert losses(loaded, 3, 6) == expected


def test_sequential() -> None:
    first, relu, last = L.FullyConnected(5), L.ReLU(), L.FullyConnected(3)
    inner = L.Sequential(relu, last)
    chain = L.Sequential(first, inner)
    assert len(chain) == 2
    assert chain[0] is first
    assert chain[-1] is inner
    assert list(inner) == [relu, last]
    assert repr(chain) == "<Sequential FullyConnected, Sequential>"
    with pytest.raises(IndexError):
        chain[2]
    graph = tg.Graph()
    was_built = chain.is_built
    assert graph.node(chain, tg.Tensor((2, 6))).shape == (2, 3)
    assert (was_built, chain.is_built) == (False, True)
    assert graph.layers == [first, relu, last]
    assert len(chain.parameters) == 4
    with pytest.raises(tg.InvalidArgument, match="one layer or more"):
        L.Sequential()
    with pytest.raises(tg.CallError, match=r"item 1 .*a layer.*ReLU\(\)"):
        L.Sequential(first, L.ReLU)  # type: ignore[arg-type]


def test_sequence_takes_functions() -> None:
    graph = tg.Graph()
    x = tg.Tensor((2, 6))

    def residual(h: tg.Tensor) -> tg.Tensor:
        return graph.ops.binary(h, graph.node(L.FullyConnected(5), h), operation="add")

    y = graph.sequence(x, L.FullyConnected(5), residual, L.ReLU())
    assert y.shape == (2, 5)
    assert graph.sequence(x).name == x.name

    def fails(_: tg.Tensor) -> tg.Tensor:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        graph.sequence(x, L.ReLU(), fails)
    with pytest.raises(tg.CallError, match=r"a function returned another type.*None"):
        graph.sequence(x, lambda _: None)  # type: ignore[arg-type, return-value]


def test_errors_of_a_sequence_name_the_layer_and_its_place() -> None:
    graph = tg.Graph()
    x = tg.Tensor((2, 6), name="x")
    with pytest.raises(
        tg.ShapeError, match=r'"own".*\(layer 3 of 3 in a sequence\).*\(2, 5\)'
    ):
        graph.sequence(
            x, L.FullyConnected(5), L.ReLU(), L.FullyConnected(7, 3, name="own")
        )
    for wrong in (L.ReLU, 3, None):
        with pytest.raises(tg.CallError, match="item 1 has another type"):
            graph.sequence(x, L.ReLU(), wrong)  # type: ignore[arg-type]
    with pytest.raises(tg.CallError, match=r'"source".*a Tensor'):
        graph.sequence(np.zeros((2, 6)), L.ReLU(), L.ReLU())  # type: ignore[arg-type]


def test_lora_wants_a_base_with_parameters() -> None:
    with pytest.raises(tg.StateError, match="no parameters yet"):
        L.LoRA(L.FullyConnected(4), 2, 1.0)
