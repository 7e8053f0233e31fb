# SPDX-License-Identifier: MIT
"""The layers GRU and RNN against float64: every option, alone and together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from recurrent_reference import Array, forward, last

import traingraph as tg

# A few recurrent steps of float32 sums.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}

N, T, IN, H = 3, 4, 5, 6

LAYERS: dict[str, Any] = {"gru": tg.layers.GRU, "rnn": tg.layers.RNN}
OPTIONS: list[dict[str, Any]] = [
    {"layer_count": 2},
    {"uses_biases": False},
    {"batch_first": False},
    {"bidirectional": True},
    {"returns_sequences": False},
    {"result_mode": "output_and_states"},
]
PAIRS = [{}, *OPTIONS, *(a | b for a, b in itertools.combinations(OPTIONS, 2))]


def reference(layer: Any, x: Array, h0: Array | None) -> tuple[Array, list[Array]]:
    """The output (time, batch, features), and the last states of all sets."""
    d = layer.descriptor
    directions = 2 if d.bidirectional else 1
    is_gru = isinstance(layer, tg.layers.GRU)
    lasts = []
    for i in range(d.layer_count):
        sets = [i + direction * d.layer_count for direction in range(directions)]

        def of(tensors: list[tg.Tensor], sets: list[int] = sets) -> list[Array]:
            return [tensors[s].numpy().astype(np.float64) for s in sets]

        weights = of(layer.hidden_weights)
        inputs = {
            "source": x,
            "input_weight": np.concatenate(of(layer.input_weights)),
            "recurrent_weight": np.stack(weights) if directions == 2 else weights[0],
        }
        if layer.biases:
            inputs["bias"] = np.concatenate(of(layer.biases))
        if layer.secondary_biases:
            inputs["secondary_bias"] = np.concatenate(of(layer.secondary_biases))
        if h0 is not None:
            inputs["init_state"] = np.concatenate(list(h0[i]), -1)
        options: dict[str, Any] = {"bidirectional": d.bidirectional}
        if is_gru:
            options |= {"reset_gate_first": True, "reset_after": layer.reset_after}
        else:
            options["activation"] = "tanh"
        x = forward("gru" if is_gru else "single_gate_rnn", options, inputs)[0]
        final = last(options, x)
        lasts += np.split(final, directions, -1)
    return (x if d.returns_sequences else final[None]), lasts


def run(layer: Any, sources: list[Array]) -> list[Array]:
    graph = tg.Graph()
    axis = 0 if layer.descriptor.batch_first else 1
    tensors = [tg.Tensor(sources[0].shape, name="x", batch_axis=axis)]
    for i, source in enumerate(sources[1:]):
        axis = 2 if source.ndim == 4 else 0
        dtype = source.dtype.name
        tensors.append(tg.Tensor(source.shape, dtype, name=f"s{i}", batch_axis=axis))
    graph.node(layer, tensors)
    results = graph.result_tensors(layer)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({t.name: t for t in tensors})
    inference.add_outputs({f"y{i}": t for i, t in enumerate(results)})
    inference.compile(device="cpu")
    data = {t.name: s for t, s in zip(tensors, sources, strict=True)}
    outputs = inference.execute(data).result().outputs
    return [outputs[f"y{i}"].copy() for i in range(len(results))]


def random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, np.float32) * np.float32(0.5)


def make(rng: np.random.Generator, kind: str, options: dict[str, Any]) -> Any:
    layer = LAYERS[kind](IN, H, **options)
    for bias in [*(layer.biases or []), *(layer.secondary_biases or [])]:
        bias.set_data(random(rng, *bias.shape))
    return layer


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("kind", LAYERS)
def test_every_option_with_every_other_one(
    rng: np.random.Generator, kind: str, *, has_state: bool
) -> None:
    for options in PAIRS:
        layer = make(rng, kind, options)
        d = layer.descriptor
        directions = 2 if d.bidirectional else 1
        x = random(rng, T, N, IN)
        h0 = random(rng, d.layer_count, directions, N, H) if has_state else None
        source = x.swapaxes(0, 1).copy() if d.batch_first else x
        y, *states = run(layer, [source, *([] if h0 is None else [h0])])
        output, lasts = reference(layer, x.astype(np.float64), h0)
        want = output.swapaxes(0, 1) if d.batch_first else output
        np.testing.assert_allclose(y, want, **TOLERANCE, err_msg=str(options))
        assert len(states) == (
            d.result_mode == tg.mlcompute.LSTMResultMode.output_and_states
        )
        for got in states:
            np.testing.assert_allclose(
                got.reshape(-1, N, H), np.stack(lasts), **TOLERANCE
            )


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", LAYERS)
def test_lengths(rng: np.random.Generator, kind: str, *, bidirectional: bool) -> None:
    """Each sequence as if it were alone; zeros beyond its end."""
    options = {"bidirectional": bidirectional, "layer_count": 2}
    layer = make(rng, kind, options)
    x = random(rng, N, T, IN)
    lengths = np.array([2, 4, 1], np.int32)
    (y,) = run(layer, [x, lengths])
    for n, length in enumerate(lengths):
        alone = x[n : n + 1, :length].swapaxes(0, 1).astype(np.float64)
        output, _ = reference(layer, alone, None)
        np.testing.assert_allclose(y[n, :length], output[:, 0], **TOLERANCE)
        assert not y[n, length:].any()


@pytest.mark.parametrize("kind", LAYERS)
def test_training_learns_the_sum_of_a_sequence(
    rng: np.random.Generator, kind: str
) -> None:
    graph = tg.Graph()
    x = tg.Tensor((32, 6, 2), name="x")
    label = tg.Tensor((32, 1), name="label")
    layer = LAYERS[kind](2, 16, returns_sequences=False)
    h = graph.ops.reshape(graph.node(layer, x), shape=(32, 16))
    graph.node(tg.layers.FullyConnected(16, 1), h)
    training = tg.TrainingGraph(
        [graph], loss=tg.losses.MeanSquaredError(), optimizer=tg.optimizers.Adam(1e-2)
    )
    training.add_inputs({"x": x}, loss_labels={"label": label})
    training.compile(device="cpu")
    losses = []
    for _ in range(300):
        data = rng.uniform(-0.5, 0.5, (32, 6, 2)).astype(np.float32)
        target = data.sum((1, 2))[:, None]
        losses.append(training.execute({"x": data}, {"label": target}).result().loss)
    assert np.mean(losses[-20:]) < 0.05 * np.mean(losses[:5])


def test_what_does_not_fit() -> None:
    with pytest.raises(tg.InvalidArgument, match=r"\[GRU.*secondary_biases"):
        tg.layers.GRU(2, 3, reset_after=False, secondary_biases=[np.zeros(3, "f")])
    for layer in (tg.layers.LSTM, tg.layers.GRU, tg.layers.RNN):
        with pytest.raises(tg.InvalidArgument, match=rf"\[{layer.__name__}\] hidden"):
            layer(2, 0)
        with pytest.raises(tg.InvalidArgument, match=rf"\[{layer.__name__}\] drop"):
            layer(2, 3, dropout=0.5)
    with pytest.raises(tg.InvalidArgument, match=r"\[LSTMDescriptor\] layer_count"):
        tg.layers.LSTMDescriptor(2, 3, 0)
    with pytest.raises(tg.InvalidArgument, match=r"input_weights.*2 tensors"):
        tg.layers.RNN(2, 3, 2, input_weights=[np.zeros((3, 2), "f")])
    with pytest.raises(tg.ShapeError, match=r"hidden_weights.*\(9, 3\)"):
        tg.layers.GRU(2, 3, hidden_weights=[np.zeros((3, 9), "f")])
    graph = tg.Graph()
    x = tg.Tensor((4, 5, 2))
    with pytest.raises(tg.ShapeError, match="the initial state has the wrong shape"):
        graph.node(tg.layers.RNN(2, 3), [x, tg.Tensor((4, 3))])
    with pytest.raises(tg.ShapeError, match="the source does not fit the layer"):
        graph.node(tg.layers.GRU(3, 3), x)
