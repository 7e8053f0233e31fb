# SPDX-License-Identifier: MIT
"""What LSTM layers and sequence tensors are made of, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

N, T, IN, H = 3, 4, 5, 6


def test_created_parameters() -> None:
    layer = tg.layers.LSTM(IN, H, 2, bidirectional=True)
    assert [t.shape for t in layer.input_weights] == [
        (4 * H, IN),
        (4 * H, 2 * H),
        (4 * H, IN),
        (4 * H, 2 * H),
    ]
    assert [t.shape for t in layer.hidden_weights] == [(4 * H, H)] * 4
    assert layer.biases is not None
    assert all((t.data == 0).all() for t in layer.biases if t.data is not None)
    assert layer.peephole_weights is None
    assert layer.peephole_weights_parameters is None
    assert len(layer.parameters) == 12
    graph = tg.Graph()
    graph.node(layer, tg.Tensor((N, T, IN)))
    assert layer.input_weights[1].name == "lstm.input_weights_2"
    data = layer.input_weights[0].data
    assert data is not None
    bound = np.sqrt(6 / (IN + H))
    assert np.abs(data).max() <= bound
    assert np.abs(data).max() > 0.8 * bound


BAD_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"input_size": 0}, tg.InvalidArgument, "input_size"),
    ({"hidden_size": -1}, tg.InvalidArgument, "hidden_size"),
    ({"layer_count": 0}, tg.InvalidArgument, "layer_count"),
    ({"layer_count": 1025}, tg.InvalidArgument, "1 to 1024"),
    ({"gate_activations": []}, tg.InvalidArgument, "gate_activations are an empty"),
    ({"input_weights": []}, tg.InvalidArgument, "input_weights are an empty list"),
    ({"peephole_weights": []}, tg.InvalidArgument, "or None, got"),
    ({"biases": [], "uses_biases": False}, tg.InvalidArgument, "empty list"),
    ({"dropout": 1.0, "layer_count": 2}, tg.InvalidArgument, "dropout"),
    ({"dropout": 0.5}, tg.InvalidArgument, "between layers"),
    ({"result_mode": "states"}, tg.InvalidArgument, "LSTMResultMode"),
    ({"gate_activations": ["tanh"]}, tg.InvalidArgument, "four"),
    (
        {"biases": [np.zeros(24, np.float32)], "uses_biases": False},
        tg.InvalidArgument,
        "uses_biases",
    ),
    ({"biases": [np.zeros(24, np.float32)] * 2}, tg.InvalidArgument, "4 tensors"),
    ({"biases": [np.zeros(23, np.float32)]}, tg.ShapeError, r"\(24\)"),
    ({"peephole_weights": [np.zeros((24, 6), np.float32)]}, tg.ShapeError, r"\(24\)"),
    (
        {
            "input_weights": [np.zeros((24, 5), np.float32)],
            "hidden_weights": [np.zeros((24, 6), np.float32)],
            "initializer": "xavier",
        },
        tg.InvalidArgument,
        "initializer",
    ),
]


@pytest.mark.parametrize(("options", "error", "text"), BAD_OPTIONS)
def test_bad_options(
    options: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        tg.layers.LSTM(**{"input_size": 5, "hidden_size": 6, **options})


BAD_SOURCES: list[tuple[list[tg.Tensor], type[Exception], str]] = [
    ([tg.Tensor((N, IN))], tg.ShapeError, "batch, time"),
    ([tg.Tensor((N, T, IN + 1))], tg.ShapeError, "batch, time"),
    ([tg.Tensor((N, T, IN)), tg.Tensor((N, H))], tg.ShapeError, "initial hidden"),
    (
        [tg.Tensor((N, T, IN)), tg.Tensor((1, N, H)), tg.Tensor((1, N, H + 1))],
        tg.ShapeError,
        "initial cell",
    ),
    ([tg.Tensor((N, T, IN)), tg.Tensor((T,), "int32")], tg.ShapeError, "lengths"),
    (
        [tg.Tensor((N, T, IN))] + [tg.Tensor((1, N, H))] * 3,
        tg.InvalidArgument,
        "1 to 3",
    ),
]


@pytest.mark.parametrize(("sources", "error", "text"), BAD_SOURCES)
def test_bad_sources(
    sources: list[tg.Tensor], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        tg.Graph().node(tg.layers.LSTM(IN, H), sources)


def test_descriptor() -> None:
    descriptor = tg.layers.LSTMDescriptor(IN, H, 2, bidirectional=True)
    layer = tg.layers.LSTM(descriptor)
    assert layer.descriptor == descriptor
    assert layer.descriptor.result_mode == tg.mlcompute.LSTMResultMode.output
    assert layer.descriptor.batch_first
    assert descriptor != tg.layers.LSTMDescriptor(IN, H, 2)


def test_sequence_tensors() -> None:
    tensor = tg.Tensor.sequence(3, 2, 2)
    assert tensor.shape == (2, 3, 2)
    descriptor = tensor.descriptor
    assert descriptor.sequence_lengths == [3, 3]
    assert descriptor.batch_size_per_sequence_step == [2, 2, 2]
    tensor = tg.Tensor.sequences([3, 2, 1], True, 2)
    assert tensor.shape == (3, 3, 2)
    assert tensor.descriptor.batch_size_per_sequence_step == [3, 2, 1]
    assert tensor.descriptor.sorted_sequences
    filled = tg.Tensor.sequences([1, 2], False, 1, initializer="uniform")
    assert filled.data is not None
    assert not filled.descriptor.sorted_sequences
    given = tg.Tensor.sequence(2, 1, 1, data=[[[1], [2]]])
    assert given.numpy().ravel().tolist() == [1, 2]
    plain = tg.Tensor((2, 3)).descriptor
    assert plain.sequence_lengths is None
    assert plain.batch_size_per_sequence_step is None
    assert tg.TensorDescriptor.sequences((2, 4, 1), [4, 2]).shape == (2, 4, 1)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (((2, 4, 1), [4]), tg.ShapeError),
        (((2, 4), [4, 2]), tg.ShapeError),
        (((2, 4, 1), [5, 2]), tg.ShapeError),
        (((2, 4, 1), [4, 0]), tg.InvalidArgument),
        (((2, 4, 1), [2, 4]), tg.InvalidArgument),
        (((2, 4, 1), []), tg.ShapeError),
    ],
)
def test_bad_sequences(arguments: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        tg.mlcompute.SequenceDescriptor(*arguments)
    with pytest.raises(tg.ShapeError):
        tg.Tensor.sequences([2, 1], True, 1, batch_size=3)


def test_a_sequence_descriptor_makes_sequences() -> None:
    descriptor = tg.mlcompute.SequenceDescriptor((2, 3, 1), [3, 1])
    values = np.arange(6, dtype=np.float32).reshape(2, 3, 1)
    for options in (
        {},
        {"data": values},
        {"fill": 2.0},
        {"initializer": "uniform"},
        {"batch_axis": 0},
    ):
        tensor = tg.Tensor(descriptor, name="words", **options)
        assert tensor.descriptor == descriptor
        assert tensor.descriptor.sequence_lengths == [3, 1]
        assert tensor.name == "words"
    np.testing.assert_array_equal(tg.Tensor(descriptor, data=values).numpy(), values)
    for axis in (1, None):
        with pytest.raises(tg.InvalidArgument, match="another batch axis"):
            tg.Tensor(descriptor, batch_axis=axis)
