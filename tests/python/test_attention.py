# SPDX-License-Identifier: MIT
"""Multi-head attention as a user meets it: options, masks, training."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import traingraph as tg

Array = np.ndarray[Any, Any]

N, HEADS, L, S, WIDTH = 4, 2, 3, 5, 8


def random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, np.float32)


def run(layer: tg.layers.MultiheadAttention, *sources: Array) -> Array:
    graph = tg.Graph()
    tensors = {
        f"x{i}": tg.Tensor(
            x.shape,
            x.dtype.name,
            name=f"x{i}",
            batch_axis=None if x.shape[0] == 1 else 0,
        )
        for i, x in enumerate(sources)
    }
    result = graph.node(layer, list(tensors.values()))
    inference = tg.InferenceGraph([graph])
    inference.add_inputs(tensors)
    inference.add_outputs({"y": result})
    inference.compile("cpu")
    data = dict(zip(tensors, sources, strict=True))
    return inference.execute(data).result().output("y").copy()


def expected(layer: tg.layers.MultiheadAttention, x: list[Array], bias: Array) -> Array:
    """The formula in float64; `bias` (N, heads, L, S) is added to the scores."""
    w = [t.numpy().astype(np.float64) for t in layer.weights]
    b = [t.numpy().astype(np.float64) for t in layer.biases or []]
    q, k, v = (
        (x[i] @ w[i].T + b[i]).reshape(N, -1, HEADS, WIDTH // HEADS).swapaxes(1, 2)
        for i in range(3)
    )
    scores = q @ k.swapaxes(2, 3) / np.sqrt(WIDTH // HEADS) + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v).swapaxes(1, 2).reshape(N, L, WIDTH) @ w[3].T + b[3]


@pytest.fixture
def sources(rng: np.random.Generator) -> list[Array]:
    return [random(rng, N, n, WIDTH) for n in (L, S, S)]


@pytest.fixture
def layer(rng: np.random.Generator) -> tg.layers.MultiheadAttention:
    biases = [random(rng, WIDTH) for _ in range(4)]
    return tg.layers.MultiheadAttention(WIDTH, HEADS, biases=biases)


def test_descriptor() -> None:
    descriptor = tg.layers.MultiheadAttentionDescriptor(12, 3, value_dimension=6)
    assert descriptor.model_dimension == descriptor.key_dimension == 12
    assert (descriptor.head_count, descriptor.value_dimension) == (3, 6)
    assert descriptor.uses_biases
    assert not descriptor.uses_attention_biases
    assert not descriptor.adds_zero_attention
    assert descriptor.dropout == 0
    assert copy.copy(descriptor) == descriptor
    layer = tg.layers.MultiheadAttention(descriptor, name="attend")
    assert layer.descriptor == descriptor
    assert [w.shape for w in layer.weights] == [(12, 12), (12, 12), (6, 12), (12, 6)]
    assert layer.weights[0].name == "attend.query_weights"
    assert layer.attention_biases is None
    assert layer.attention_biases_parameters is None
    assert len(layer.weights_parameters) == len(layer.biases_parameters or []) == 4


def test_original_shapes(rng: np.random.Generator, sources: list[Array]) -> None:
    weights = [random(rng, WIDTH, WIDTH) for _ in range(4)]
    plain = tg.layers.MultiheadAttention(WIDTH, HEADS, weights=weights)
    heads = [w.reshape(1, HEADS, WIDTH // HEADS, WIDTH) for w in weights[:3]]
    output = weights[3].reshape(1, 1, WIDTH, WIDTH)
    original = tg.layers.MultiheadAttention(
        plain.descriptor, weights=[*heads, output], biases=plain.biases
    )
    np.testing.assert_array_equal(run(plain, *sources), run(original, *sources))


@pytest.mark.parametrize("kinds", ["", "k", "a", "h", "ka", "hk"])
def test_masks(
    rng: np.random.Generator,
    layer: tg.layers.MultiheadAttention,
    sources: list[Array],
    kinds: str,
) -> None:
    bias = np.zeros((N, HEADS, L, S))
    masks: list[Array] = []
    for kind in kinds:
        if kind == "k":
            masks.append(np.arange(S) >= rng.integers(1, S, (N, 1)))
            bias[:] = np.where(masks[-1][:, None, None], -np.inf, bias)
        elif kind == "a":
            masks.append(random(rng, 1, L, S))
            bias += masks[-1][None]
        else:
            masks.append(rng.random((N * HEADS, L, S)) < 0.4)
            masks[-1][..., 0] = False
            hidden = masks[-1].reshape(bias.shape)
            bias[:] = np.where(hidden, -np.inf, bias)
    np.testing.assert_allclose(
        run(layer, *sources, *masks), expected(layer, sources, bias), atol=1e-5
    )


def test_query_that_sees_no_key(
    layer: tg.layers.MultiheadAttention, sources: list[Array]
) -> None:
    mask = np.zeros((N, S), bool)
    mask[1] = True
    result = run(layer, *sources, mask)
    assert layer.biases is not None
    bias = layer.biases[3].numpy()
    np.testing.assert_array_equal(result[1], np.broadcast_to(bias, (L, WIDTH)))
    assert np.isfinite(result).all()
    assert not np.allclose(result[0], bias)


def test_nothing_is_dropped_in_inference(sources: list[Array]) -> None:
    drops = tg.layers.MultiheadAttention(WIDTH, HEADS, dropout=0.5, seed=3)
    plain = tg.layers.MultiheadAttention(WIDTH, HEADS, weights=drops.weights)
    np.testing.assert_array_equal(run(drops, *sources), run(plain, *sources))


def test_batches_of_any_size(
    layer: tg.layers.MultiheadAttention,
    rng: np.random.Generator,
    sources: list[Array],
) -> None:
    added = tg.layers.MultiheadAttention(
        WIDTH,
        HEADS,
        uses_attention_biases=True,
        adds_zero_attention=True,
        attention_biases=[random(rng, WIDTH), random(rng, WIDTH)],
    )
    masks = [rng.random((N, S)) < 0.3, rng.random((N * HEADS, L, S)) < 0.3]
    for each in (layer, added):
        graph = tg.Graph()
        shapes = [x.shape for x in sources] + [m.shape for m in masks]
        types = ["float32"] * 3 + ["boolean"] * 2
        tensors = {
            f"x{i}": tg.Tensor(shape, data_type, name=f"x{i}")
            for i, (shape, data_type) in enumerate(zip(shapes, types, strict=True))
        }
        result = graph.node(each, list(tensors.values()))
        inference = tg.InferenceGraph([graph])
        inference.add_inputs(tensors)
        inference.add_outputs({"y": result})
        inference.compile("cpu")
        data = dict(zip(tensors, [*sources, *masks], strict=True))
        full = inference.execute(data).result().output("y").copy()
        half = {k: v[: v.shape[0] // 2] for k, v in data.items()}
        part = inference.execute(half, batch_size=N // 2).result().output("y")
        np.testing.assert_allclose(part, full[: N // 2], atol=1e-6)


def train(dropout: float, threads: int, steps: int = 40) -> list[float]:
    """Learns to copy the entry of a sequence that a marker points to."""
    rng = np.random.default_rng(5)
    tg.set_seed(2)
    batch, length, width = 32, 6, 8
    x = rng.standard_normal((batch, length, width), np.float32)
    marked = rng.integers(0, length, batch)
    x[:, :, 0] = 0
    x[np.arange(batch), marked, 0] = 3
    y = np.repeat(x[np.arange(batch), marked][:, None], length, axis=1)
    source = tg.Tensor(x.shape, name="x")
    label = tg.Tensor(y.shape, name="y")
    graph = tg.Graph()
    layer = tg.layers.MultiheadAttention(width, 2, dropout=dropout)
    graph.node(layer, [source, source, source])
    training = tg.TrainingGraph(
        [graph],
        loss=tg.losses.MeanSquaredError(),
        optimizer=tg.optimizers.Adam(2e-2),
    )
    training.add_inputs({"x": source}, loss_labels={"y": label})
    training.compile(tg.Device.cpu(threads=threads))
    return [training.execute({"x": x}, {"y": y}).result().loss for _ in range(steps)]


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_it_learns(dropout: float) -> None:
    losses = train(dropout, threads=1)
    assert losses[-1] < 0.5 * losses[0]
    assert losses == train(dropout, threads=1)


def test_errors() -> None:
    attention = tg.layers.MultiheadAttention
    with pytest.raises(tg.InvalidArgument, match="key_dimension"):
        attention(8, 3)
    with pytest.raises(tg.InvalidArgument, match="dropout"):
        attention(8, 2, dropout=1.0)
    with pytest.raises(tg.InvalidArgument, match="weights"):
        attention(8, 2, weights=[np.zeros((8, 8), np.float32)])
    with pytest.raises(tg.ShapeError, match="value source"):
        tg.Graph().node(
            attention(8, 2), [tg.Tensor((2, 3, n), name=str(n)) for n in (8, 8, 6)]
        )


def test_gradient_op_drops_what_its_forward_op_dropped(
    rng: np.random.Generator, sources: list[Array]
) -> None:
    graph = tg.Graph()
    q, k, v, g = (
        tg.Tensor(x.shape, name=name)
        for x, name in zip([*sources, sources[0]], "qkvg", strict=True)
    )
    state = tg.Tensor((4,), "int32", name="state", batch_axis=None)
    options: dict[str, Any] = {"random_state": state, "head_count": 2, "dropout": 0.5}
    # Each attention of a graph draws its own numbers.
    first, _, _ = graph.ops.attention(q, k, v, **options)
    y, log_sum, _ = graph.ops.attention(q, k, v, **options)
    _, _, dv, _ = graph.ops.attention_gradient(g, q, k, v, y, log_sum, **options)
    inference = tg.TrainingGraph([graph])
    inputs = {"q": q, "k": k, "v": v, "g": g, "state": state}
    inference.add_inputs(inputs)
    inference.add_outputs({"first": first, "y": y, "dv": dv})
    inference.compile("cpu")
    gradient = random(rng, N, L, WIDTH)
    values = [*sources, gradient, np.arange(1, 5, dtype=np.int32)]
    result = inference.execute_forward(dict(zip(inputs, values, strict=True))).result()
    assert not np.allclose(result.output("first"), result.output("y"))
    # y is linear in v.
    np.testing.assert_allclose(
        np.sum(gradient * result.output("y")),
        np.sum(sources[2] * result.output("dv")),
        rtol=1e-4,
    )


def test_empty_lists_are_not_none() -> None:
    for name in ("weights", "biases", "attention_biases"):
        with pytest.raises(tg.InvalidArgument, match=f"{name} are an empty list"):
            tg.layers.MultiheadAttention(WIDTH, HEADS, **{name: []})


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_one_visible_key_moves_no_query(
    rng: np.random.Generator, dropout: float
) -> None:
    """Rounding would be amplified by large queries and keys."""
    query, key, value = (tg.Tensor((N, L, WIDTH)) for _ in range(3))
    mask, label = tg.Tensor((N, L), "bool"), tg.Tensor((N, L, WIDTH))
    graph = tg.Graph()
    layer = tg.layers.MultiheadAttention(WIDTH, HEADS, dropout=dropout)
    graph.node(layer, [query, key, value, mask])
    training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError())
    training.add_inputs({"q": query, "k": key, "v": value, "m": mask}, {"t": label})
    training.compile("cpu", compute_all_gradients=True)
    hidden = np.ones((N, L), bool)
    hidden[:, 1] = False
    data = {
        "q": 1e6 * random(rng, N, L, WIDTH),
        "k": 1e6 * random(rng, N, L, WIDTH),
        "v": random(rng, N, L, WIDTH),
        "m": hidden,
    }
    training.execute(data, {"t": random(rng, N, L, WIDTH)}).wait()
    for source in (query, key):
        gradient = training.gradient_tensor(source)
        assert gradient is not None
        assert not gradient.numpy().any()
    gradient = training.gradient_tensor(value)
    assert gradient is not None
    assert gradient.numpy().any()
