# SPDX-License-Identifier: MIT
"""ML Compute's LSTM and its sequence tensors."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from lstm_reference import LSTM, Weights, sigmoid

import traingraph as tg

from .support import CLOSE, evaluated, floats

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]

L = tg.layers

N, T, IN, H = 2, 3, 4, 2
X = floats(N, T, IN)


def parameters(
    layers: int, directions: int, *, peepholes: bool = False
) -> list[Weights]:
    """All layers forward, then all backward; different values everywhere."""
    sets = []
    for _ in range(directions):
        for layer in range(layers):
            size = IN if layer == 0 else directions * H
            k = 0.5 + 0.25 * len(sets)
            peephole = np.cos(k * np.arange(4 * H, dtype=np.float32))
            sets.append(
                Weights(
                    np.cos(k * floats(4 * H, size) * 9),
                    np.sin(k * floats(4 * H, H) * 9),
                    k * floats(4 * H),
                    peephole if peepholes else None,
                )
            )
    return sets


def per_gate(arrays: Sequence[Array | None]) -> list[Array]:
    """ML Compute's lists: input, forget, cell, output of every layer."""
    return [gate for array in arrays for gate in np.split(np.asarray(array), 4)]


def lists_of(
    sets: list[Weights], *, uses_biases: bool = True
) -> dict[str, list[Array]]:
    lists = {
        "input_weights": per_gate([w.input for w in sets]),
        "hidden_weights": per_gate([w.hidden for w in sets]),
    }
    if uses_biases:
        lists["biases"] = per_gate([w.bias for w in sets])
    if sets[0].peephole is not None:
        lists["peephole_weights"] = per_gate([w.peephole for w in sets])
    return lists


def results_of(
    descriptor: tg.layers.LSTMDescriptor, options: dict[str, Any], *sources: Array
) -> list[Array]:
    """Of a layer of its own for each of them."""
    is_alone = descriptor.result_mode == tg.mlcompute.LSTMResultMode.output

    def result(index: int) -> Array:
        def build(graph: tg.Graph, *tensors: tg.Tensor) -> tg.Tensor:
            layer = L.LSTM(descriptor, **options)
            first = graph.node(layer, list(tensors))
            results = graph.result_tensors(layer)
            assert len(results) == (1 if is_alone else 3)
            assert results[0] == first
            return results[index]

        return evaluated(build, *sources, batch_axis=None)

    return [result(index) for index in range(1 if is_alone else 3)]


def test_lstm_descriptors() -> None:
    plain = L.LSTMDescriptor(IN, H, 3)
    assert (plain.input_size, plain.hidden_size, plain.layer_count) == (IN, H, 3)
    assert L.LSTMDescriptor(IN, H).layer_count == 1
    assert plain.uses_biases
    assert plain.batch_first
    assert not plain.bidirectional
    assert plain.returns_sequences
    assert plain.dropout == 0
    assert plain.result_mode is tg.mlcompute.LSTMResultMode.output
    options: dict[str, Any] = {
        "uses_biases": False,
        "bidirectional": True,
        "dropout": 0.5,
        "batch_first": False,
        "returns_sequences": False,
        "result_mode": tg.mlcompute.LSTMResultMode.output_and_states,
    }
    # From one factory to the next there is one more argument.
    for count in range(3, len(options) + 1):
        given = dict(list(options.items())[:count])
        descriptor = L.LSTMDescriptor(IN, H, 3, **given)
        for name, value in options.items():
            expected = value if name in given else getattr(plain, name)
            assert getattr(descriptor, name) == expected, name
        assert copy.copy(descriptor) == descriptor != plain


@pytest.mark.parametrize("layer_count", [1, 3])
def test_lstm(layer_count: int) -> None:
    sets = parameters(layer_count, 1)
    got = results_of(L.LSTMDescriptor(IN, H, layer_count), lists_of(sets), X)
    np.testing.assert_allclose(got[0], LSTM(sets, layer_count)(X)[0], **CLOSE)


def test_lstm_without_biases() -> None:
    sets = parameters(2, 1)
    lists = lists_of(sets, uses_biases=False)
    descriptor = L.LSTMDescriptor(IN, H, 2, uses_biases=False)
    assert L.LSTM(descriptor, **lists).biases is None
    for each in sets:
        each.bias = None
    got = results_of(descriptor, lists, X)
    np.testing.assert_allclose(got[0], LSTM(sets, 2)(X)[0], **CLOSE)


@pytest.mark.parametrize("returns_sequences", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
def test_lstm_in_both_directions(*, batch_first: bool, returns_sequences: bool) -> None:
    sets = parameters(2, 2)
    descriptor = L.LSTMDescriptor(
        IN,
        H,
        2,
        batch_first=batch_first,
        bidirectional=True,
        returns_sequences=returns_sequences,
    )
    y, states, _ = LSTM(sets, 2)(X)
    if not returns_sequences:
        y = np.concatenate([states[-1, 0], states[-1, 1]], 1)[:, None]
    source = X if batch_first else np.ascontiguousarray(X.swapaxes(0, 1))
    got = results_of(descriptor, lists_of(sets), source)[0]
    got = got if batch_first else got.swapaxes(0, 1)
    np.testing.assert_allclose(got, y, **CLOSE)


def test_lstm_with_states() -> None:
    sets = parameters(2, 2)
    h0, c0 = floats(2, 2, N, H), floats(2, 2, N, H)[::-1].copy()
    descriptor = L.LSTMDescriptor(
        IN, H, 2, bidirectional=True, result_mode="output_and_states"
    )
    for sources in ((X,), (X, h0, c0)):
        got = results_of(descriptor, lists_of(sets), *sources)
        for value, expected in zip(got, LSTM(sets, 2)(*sources), strict=True):
            np.testing.assert_allclose(value, expected, **CLOSE)


def test_lstm_with_peepholes_and_activations() -> None:
    sets = parameters(2, 2, peepholes=True)
    reference = LSTM(sets, 2)
    descriptor = L.LSTMDescriptor(IN, H, 2, bidirectional=True)
    options: dict[str, Any] = dict(lists_of(sets))
    got = results_of(descriptor, options, X)
    np.testing.assert_allclose(got[0], reference(X)[0], **CLOSE)
    options["gate_activations"] = [
        L.ActivationDescriptor("hard_sigmoid"),
        L.ActivationDescriptor("sigmoid"),
        L.ActivationDescriptor("soft_sign"),
        L.ActivationDescriptor("tanh", 0.5, 2.0),
    ]
    options["output_result_activation"] = L.ActivationDescriptor("relu")
    reference.activations = [
        lambda x: np.clip(0.2 * x + 0.5, 0, 1),
        sigmoid,
        lambda x: x / (1 + np.abs(x)),
        lambda x: 0.5 * np.tanh(2 * x),
    ]
    reference.cell_activation = lambda x: np.maximum(x, 0)
    got = results_of(descriptor, options, X)
    np.testing.assert_allclose(got[0], reference(X)[0], **CLOSE)


def test_activations_of_an_lstm() -> None:
    def kinds(descriptors: list[tg.layers.ActivationDescriptor]) -> list[str]:
        return [str(each.activation_type) for each in descriptors]

    plain = L.LSTM(L.LSTMDescriptor(IN, H, 1))
    assert kinds(plain.gate_activations) == ["sigmoid", "sigmoid", "tanh", "sigmoid"]
    assert kinds([plain.output_result_activation]) == ["tanh"]
    gates = ["hard_sigmoid", "sigmoid", "relu", "soft_sign"]
    layer = L.LSTM(
        plain.descriptor, gate_activations=gates, output_result_activation="elu"
    )
    assert kinds(layer.gate_activations) == gates
    assert kinds([layer.output_result_activation]) == ["elu"]


def test_parameters_of_an_lstm() -> None:
    lists = lists_of(parameters(2, 2, peepholes=True))
    layer = L.LSTM(L.LSTMDescriptor(IN, H, 2, bidirectional=True), **lists)
    assert layer.descriptor == L.LSTMDescriptor(IN, H, 2, bidirectional=True)
    held = [
        (layer.input_weights, layer.input_weights_parameters, "input_weights"),
        (layer.hidden_weights, layer.hidden_weights_parameters, "hidden_weights"),
        (layer.peephole_weights, layer.peephole_weights_parameters, "peephole_weights"),
        (layer.biases, layer.biases_parameters, "biases"),
    ]
    for tensors, handles, name in held:
        assert tensors is not None
        assert handles is not None
        assert [handle.tensor for handle in handles] == tensors
        # A tensor per gate, layer and direction.
        assert len(tensors) == 4 * 2 * 2
        for tensor, array in zip(tensors, lists[name], strict=True):
            np.testing.assert_array_equal(tensor.numpy(), array)
    bare = L.LSTM(L.LSTMDescriptor(IN, H, 1, uses_biases=False))
    assert bare.biases_parameters is None
    assert bare.peephole_weights_parameters is None


def test_dropout_between_the_layers_of_an_lstm() -> None:
    """Layers that are the identity for one step: gates open, the cell as it is."""
    size = 500
    zeros, identity = np.zeros((size, size), np.float32), np.eye(size, dtype=np.float32)
    is_open = L.ActivationDescriptor("linear", 0, 1)
    layer = L.LSTM(
        L.LSTMDescriptor(size, size, 2, uses_biases=False, dropout=0.25),
        input_weights=[zeros, zeros, identity, zeros] * 2,
        hidden_weights=[zeros] * 8,
        gate_activations=[is_open, is_open, "none", is_open],
        output_result_activation="none",
    )
    graph = tg.Graph()
    x = tg.Tensor((8, 1, size), name="x")
    y = graph.node(layer, x)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"x": x})
    training.add_outputs({"y": y})
    training.compile("cpu")
    ones = np.ones(x.shape, np.float32)
    kept = training.execute_forward({"x": ones}).result().output("y")
    np.testing.assert_allclose(np.unique(kept), [0, 4 / 3], **CLOSE)
    # The share of zeros deviates by 0.0068 (one standard deviation).
    assert (kept == 0).mean() == pytest.approx(0.25, abs=0.03)


def test_result_modes_of_an_lstm() -> None:
    assert [str(mode) for mode in tg.mlcompute.LSTMResultMode] == [
        "output",
        "output_and_states",
    ]
    assert tg.mlcompute.LSTMResultMode.output == 0
    assert tg.mlcompute.LSTMResultMode.output_and_states == 1


def test_descriptors_of_sequences() -> None:
    descriptor = tg.TensorDescriptor.sequences((3, 4, 2), [4, 2, 2], True, "float32")
    assert descriptor.shape == (3, 4, 2)
    assert descriptor.data_type is tg.DataType.float32
    assert descriptor.sequence_lengths == [4, 2, 2]
    assert descriptor.sorted_sequences
    assert descriptor.batch_size_per_sequence_step == [3, 3, 1, 1]
    other = tg.TensorDescriptor.sequences((2, 4, 2), [1, 3], False, "int32")
    assert other.data_type is tg.DataType.int32
    assert not other.sorted_sequences
    assert other.batch_size_per_sequence_step == [2, 1, 1]
    plain = tg.TensorDescriptor((3, 4, 2))
    assert plain.sequence_lengths is None
    assert not plain.sorted_sequences
    assert plain.batch_size_per_sequence_step is None


def test_tensors_of_sequences() -> None:
    same = tg.Tensor.sequence(3, 2, 4)
    assert same.shape == (4, 3, 2)
    assert same.descriptor.sequence_lengths == [3, 3, 3, 3]
    assert same.descriptor.batch_size_per_sequence_step == [4, 4, 4]
    assert same.data is None
    values = floats(4, 3, 2)
    given = tg.Tensor.sequence(3, 2, 4, data=values)
    np.testing.assert_array_equal(given.numpy(), values)
    lengths = tg.Tensor.sequences([3, 2, 2, 1], True, 2, 4, data=values)
    assert lengths.shape == (4, 3, 2)
    assert lengths.descriptor.sequence_lengths == [3, 2, 2, 1]
    assert lengths.descriptor.sorted_sequences
    assert lengths.descriptor.batch_size_per_sequence_step == [4, 3, 1]
    np.testing.assert_array_equal(lengths.numpy(), values)


def test_random_tensors_of_sequences() -> None:
    for make in (
        lambda: tg.Tensor.sequence(30, 20, 4, initializer="uniform"),
        lambda: tg.Tensor.sequences([3, 30, 2, 2], False, 20, 4, initializer="uniform"),
    ):
        tg.mlcompute.Platform.set_rng_seed(5)
        values = make().numpy()
        tg.mlcompute.Platform.set_rng_seed(5)
        same = tg.Tensor((4, 30, 20), initializer="uniform").numpy()
        np.testing.assert_array_equal(values, same)
        assert values.std() > 0


def test_an_lstm_of_sequences_that_end() -> None:
    sets = parameters(1, 2)
    lengths = np.array([3, 1], np.int32)
    source = tg.Tensor.sequences(lengths.tolist(), True, IN, N, data=X)
    descriptor = L.LSTMDescriptor(IN, H, 1, bidirectional=True)
    got = results_of(descriptor, lists_of(sets), source.numpy(), lengths)[0]
    expected = LSTM(sets)(X, lengths=lengths)[0]
    np.testing.assert_allclose(got, expected, **CLOSE)
    assert not got[1, 1:].any()
