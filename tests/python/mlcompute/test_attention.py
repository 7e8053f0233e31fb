# SPDX-License-Identifier: MIT
"""ML Compute's multi-head attention."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, floats, value_of

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

L = tg.layers

N, QUERIES, KEYS = 2, 3, 4
MODEL, HEADS, KEY, VALUE = 6, 2, 4, 8
SOURCES = [floats(N, n, MODEL) for n in (QUERIES, KEYS, KEYS)]
# As ML Compute has them: heads, then rows of each, then columns.
WEIGHTS = [
    np.cos(5 * floats(1, HEADS, KEY // HEADS, MODEL)),
    np.sin(7 * floats(1, HEADS, KEY // HEADS, MODEL)),
    np.cos(9 * floats(1, HEADS, VALUE // HEADS, MODEL)),
    np.sin(4 * floats(1, 1, MODEL, VALUE)),
]
BIASES = [floats(n) for n in (KEY, KEY, VALUE, MODEL)]
ATTENTION_BIASES = [0.5 + floats(KEY), floats(VALUE) - 0.5]


def attended(
    biases: list[Array] | None = None,
    attention_biases: list[Array] | None = None,
    *,
    adds_zero_attention: bool = False,
) -> Array:
    """The formula in float64, for one sample and head after the other."""
    x = [source.astype(np.float64) for source in SOURCES]
    w = [
        weights.astype(np.float64).reshape(rows, -1)
        for weights, rows in zip(WEIGHTS, (KEY, KEY, VALUE, MODEL), strict=True)
    ]
    b = biases or [np.zeros(len(rows)) for rows in w]
    y = np.zeros((N, QUERIES, MODEL))
    for n in range(N):
        q, k, v = (x[i][n] @ w[i].T + b[i] for i in range(3))
        if attention_biases:
            k, v = (
                np.vstack([k, attention_biases[0]]),
                np.vstack([v, attention_biases[1]]),
            )
        if adds_zero_attention:
            k, v = np.vstack([k, np.zeros(KEY)]), np.vstack([v, np.zeros(VALUE)])
        heads = []
        for of_q, of_k, of_v in zip(
            *(np.split(part, HEADS, 1) for part in (q, k, v)), strict=True
        ):
            scores = np.exp(of_q @ of_k.T / np.sqrt(KEY // HEADS))
            heads.append(scores / scores.sum(1, keepdims=True) @ of_v)
        y[n] = np.hstack(heads) @ w[3].T + b[3]
    return y


def test_attention_descriptors() -> None:
    plain = L.MultiheadAttentionDescriptor(MODEL, HEADS)
    assert (plain.model_dimension, plain.head_count) == (MODEL, HEADS)
    assert (plain.key_dimension, plain.value_dimension) == (MODEL, MODEL)
    assert plain.dropout == 0
    assert plain.uses_biases
    assert not plain.uses_attention_biases
    assert not plain.adds_zero_attention
    whole = L.MultiheadAttentionDescriptor(
        MODEL,
        HEADS,
        key_dimension=KEY,
        value_dimension=VALUE,
        dropout=0.5,
        uses_biases=False,
        uses_attention_biases=True,
        adds_zero_attention=True,
    )
    assert (whole.key_dimension, whole.value_dimension) == (KEY, VALUE)
    assert whole.dropout == 0.5
    assert not whole.uses_biases
    assert whole.uses_attention_biases
    assert whole.adds_zero_attention
    assert copy.copy(whole) == whole != plain


@pytest.mark.parametrize("adds_zero_attention", [False, True])
@pytest.mark.parametrize("uses_attention_biases", [False, True])
@pytest.mark.parametrize("uses_biases", [False, True])
def test_attention(
    *, uses_biases: bool, uses_attention_biases: bool, adds_zero_attention: bool
) -> None:
    descriptor = L.MultiheadAttentionDescriptor(
        MODEL,
        HEADS,
        key_dimension=KEY,
        value_dimension=VALUE,
        uses_biases=uses_biases,
        uses_attention_biases=uses_attention_biases,
        adds_zero_attention=adds_zero_attention,
    )
    biases = BIASES if uses_biases else None
    added = ATTENTION_BIASES if uses_attention_biases else None
    layer = L.MultiheadAttention(
        descriptor, weights=WEIGHTS, biases=biases, attention_biases=added
    )
    assert layer.descriptor == descriptor
    assert (layer.biases is None) is not uses_biases
    assert (layer.attention_biases is None) is not uses_attention_biases
    expected = attended(biases, added, adds_zero_attention=adds_zero_attention)
    np.testing.assert_allclose(value_of(layer, *SOURCES), expected, **CLOSE)


def test_parameters_of_attention() -> None:
    descriptor = L.MultiheadAttentionDescriptor(
        MODEL,
        HEADS,
        key_dimension=KEY,
        value_dimension=VALUE,
        uses_attention_biases=True,
    )
    layer = L.MultiheadAttention(
        descriptor, weights=WEIGHTS, biases=BIASES, attention_biases=ATTENTION_BIASES
    )
    assert layer.biases is not None
    assert layer.biases_parameters is not None
    assert layer.attention_biases is not None
    held = [
        (layer.weights, WEIGHTS),
        (layer.biases, BIASES),
        (layer.attention_biases, ATTENTION_BIASES),
    ]
    for tensors, arrays in held:
        for tensor, array in zip(tensors, arrays, strict=True):
            np.testing.assert_array_equal(tensor.numpy(), array)
    assert [handle.tensor for handle in layer.weights_parameters] == layer.weights
    assert [handle.tensor for handle in layer.biases_parameters] == layer.biases
    bare = L.MultiheadAttention(
        L.MultiheadAttentionDescriptor(MODEL, HEADS, uses_biases=False)
    )
    assert bare.biases_parameters is None
    assert bare.attention_biases is None


def test_dropout_of_attention() -> None:
    """One key has the weight 1, which is dropped or scaled."""
    identity = np.eye(2, dtype=np.float32)
    layer = L.MultiheadAttention(
        L.MultiheadAttentionDescriptor(2, 2, dropout=0.25, uses_biases=False),
        weights=[identity] * 4,
    )
    graph = tg.Graph()
    sources = {
        name: tg.Tensor((2, count, 2), name=name)
        for name, count in (("query", 1000), ("key", 1), ("value", 1))
    }
    y = graph.node(layer, list(sources.values()))
    training = tg.TrainingGraph([graph])
    training.add_inputs(sources)
    training.add_outputs({"y": y})
    training.compile("cpu")
    ones = {name: np.ones(x.shape, np.float32) for name, x in sources.items()}
    kept = training.execute_forward(ones).result().output("y")
    np.testing.assert_allclose(np.unique(kept), [0, 4 / 3], **CLOSE)
    # The share of zeros deviates by 0.0068 (one standard deviation).
    assert (kept == 0).mean() == pytest.approx(0.25, abs=0.03)
