# SPDX-License-Identifier: MIT
"""ML Compute's layers that look up by indices: gather, scatter, embedding."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, evaluated, floats

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

L = tg.layers

ROWS = np.array([2, 0, 2, 1])
TABLE = floats(5, 3)
WORDS = np.array([[0, 4], [2, 0], [3, 0]])


def looked_up(*arrays: Any, layer: tg.layers.Layer) -> Array:
    """The layer's value; sizes that do not follow a batch."""
    return evaluated(lambda g, *s: g.node(layer, list(s)), *arrays, batch_axis=None)


@pytest.mark.parametrize("axis", [1, 2])
def test_gather(axis: int) -> None:
    x = floats(2, 3, 4)
    slices = L.Gather(axis)
    assert slices.axis == axis
    np.testing.assert_array_equal(
        looked_up(x, ROWS, layer=slices), np.take(x, ROWS, axis)
    )
    elements = np.arange(2 * 3 * 4).reshape(2, 3, 4) % x.shape[axis]
    np.testing.assert_array_equal(
        looked_up(x, elements, layer=L.Gather(axis)),
        np.take_along_axis(x, elements, axis),
    )


def test_gather_of_a_graph() -> None:
    x = floats(2, 3, 4)
    by_graph = evaluated(
        lambda g, s, i: g.ops.gather(s, i, axis=1), x, ROWS, batch_axis=None
    )
    np.testing.assert_array_equal(by_graph, x[:, ROWS])


def scattered(name: str, updates: Array, target: Array) -> Array:
    """What is left of rows, one after the other, on axis 1."""
    expected = target.copy()
    for i, row in enumerate(ROWS):
        expected[:, row] = updates[:, i] + (name == "sum") * expected[:, row]
    return expected


@pytest.mark.parametrize("name", ["none", "sum"])
def test_scatter(name: str) -> None:
    updates, target = floats(2, 4, 5), floats(2, 3, 5)
    layer = L.Scatter(1, name)
    assert layer.axis == 1
    assert layer.reduction_type is tg.mlcompute.ReductionType[name]
    expected = scattered(name, updates, target)
    np.testing.assert_allclose(
        looked_up(updates, ROWS, target, layer=layer), expected, **CLOSE
    )
    by_graph = evaluated(
        lambda g, u, i, t: g.ops.scatter(u, i, t, axis=1, reduction_type=name),
        *(updates, ROWS, target),
        batch_axis=None,
    )
    np.testing.assert_allclose(by_graph, expected, **CLOSE)


def test_scatter_takes_two_reductions() -> None:
    assert L.Scatter(1).reduction_type is tg.mlcompute.ReductionType.none
    for case in tg.mlcompute.ReductionType:
        if case.name not in {"none", "sum"}:
            with pytest.raises(tg.InvalidArgument, match="reduction_type"):
                L.Scatter(1, case)


def test_embedding_descriptors() -> None:
    plain = L.EmbeddingDescriptor(5, 3)
    assert (plain.embedding_count, plain.embedding_dimension) == (5, 3)
    assert plain.padding_index is None
    assert plain.maximum_norm is None
    assert plain.p_norm == 2
    assert not plain.scales_gradient_by_frequency
    whole = L.EmbeddingDescriptor(
        5,
        3,
        padding_index=4,
        maximum_norm=1.5,
        p_norm=math.inf,
        scales_gradient_by_frequency=True,
    )
    assert (whole.padding_index, whole.maximum_norm, whole.p_norm) == (4, 1.5, math.inf)
    assert whole.scales_gradient_by_frequency
    assert copy.copy(whole) == whole != plain


def test_embedding() -> None:
    descriptor = L.EmbeddingDescriptor(5, 3)
    layer = L.Embedding(descriptor, weights=TABLE)
    assert layer.descriptor == descriptor
    assert layer.weights_parameter.tensor == layer.weights
    np.testing.assert_array_equal(layer.weights.numpy(), TABLE)
    np.testing.assert_array_equal(looked_up(WORDS, layer=layer), TABLE[WORDS])


@pytest.mark.parametrize("order", [1.0, 2.0, math.inf])
def test_embedding_of_a_maximum_norm(order: float) -> None:
    norms = np.linalg.norm(TABLE, order, axis=1, keepdims=True)
    bound = float(np.median(norms))
    layer = L.Embedding(
        L.EmbeddingDescriptor(5, 3, maximum_norm=bound, p_norm=order), TABLE
    )
    expected = TABLE * np.minimum(1, bound / norms)
    np.testing.assert_allclose(
        looked_up(WORDS, layer=layer), expected[WORDS], rtol=2e-5, atol=5e-6
    )


@pytest.mark.parametrize("scales", [False, True])
@pytest.mark.parametrize("padding", [None, 4])
def test_gradients_of_an_embedding(padding: int | None, *, scales: bool) -> None:
    descriptor = L.EmbeddingDescriptor(
        5, 3, padding_index=padding, scales_gradient_by_frequency=scales
    )
    layer = L.Embedding(descriptor, TABLE)
    graph = tg.Graph()
    words = tg.Tensor(WORDS.shape, "int64", name="words")
    y = graph.node(layer, words)
    training = tg.TrainingGraph([graph])
    training.add_inputs({"words": words})
    user = training.allocate_user_gradient(y)
    training.compile("cpu")
    seeds = floats(*y.shape)
    training.bind_and_write_data({"g": seeds}, {"g": user})
    training.execute_forward({"words": WORDS}).wait()
    training.execute_gradient().wait()
    expected = np.zeros_like(TABLE)
    np.add.at(expected, WORDS, seeds)
    if scales:
        expected /= np.maximum(np.bincount(WORDS.ravel(), minlength=5), 1)[:, None]
    if padding is not None:
        expected[padding] = 0
    np.testing.assert_allclose(training.gradient(layer.weights), expected, **CLOSE)
