# SPDX-License-Identifier: MIT
"""Layers that look up by indices, against NumPy."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest

import traingraph as tg

Array = np.ndarray[Any, Any]


def infer(build: Any, **sources: Array) -> Array:
    """The result of a graph of these sources."""
    graph = tg.Graph()
    tensors = {
        name: tg.Tensor(x.shape, x.dtype.name, name=name, batch_axis=None)
        for name, x in sources.items()
    }
    result = build(graph, *tensors.values())
    inference = tg.InferenceGraph([graph])
    inference.add_inputs(tensors)
    inference.add_outputs({"y": result})
    inference.compile("cpu")
    return inference.execute(sources).result().output("y").copy()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_is_take_and_take_along_axis(
    rng: np.random.Generator, axis: int, dtype: type
) -> None:
    x = rng.standard_normal((3, 4, 5), np.float32)
    slices = rng.integers(0, x.shape[axis], 7).astype(dtype)
    taken = infer(lambda g, s, i: g.ops.gather(s, i, axis=axis), x=x, i=slices)
    np.testing.assert_array_equal(taken, np.take(x, slices, axis))
    shape = list(x.shape)
    shape[axis] = 6
    elements = rng.integers(0, x.shape[axis], shape).astype(dtype)
    layer = tg.layers.Gather(axis)
    named = infer(lambda g, s, i: g.node(layer, [s, i]), x=x, i=elements)
    np.testing.assert_array_equal(named, np.take_along_axis(x, elements, axis))


def test_scatter_keeps_the_last_or_adds(rng: np.random.Generator) -> None:
    x = rng.integers(-4, 4, (5, 3)).astype(np.float32)
    updates = rng.integers(-4, 4, (8, 3)).astype(np.float32)
    rows = rng.integers(0, 4, 8)
    last = x.copy()
    for row, update in zip(rows, updates, strict=True):
        last[row] = update
    total = x.copy()
    np.add.at(total, rows, updates)
    sources = {"u": updates, "i": rows, "x": x}
    got = infer(lambda g, u, i, s: g.ops.scatter(u, i, s, axis=0), **sources)
    np.testing.assert_array_equal(got, last)
    layer = tg.layers.Scatter(-2, "sum")
    assert layer.reduction_type == tg.mlcompute.ReductionType.sum
    got = infer(lambda g, *s: g.node(layer, list(s)), **sources)
    np.testing.assert_array_equal(got, total)


def test_embedding_of_any_shape(rng: np.random.Generator) -> None:
    table = rng.standard_normal((9, 4), np.float32)
    ids = rng.integers(0, 9, (2, 3, 5))
    for shape in ((9, 4), (1, 9, 1, 4), (1, 36, 1, 1)):
        layer = tg.layers.Embedding(9, 4, weights=table.reshape(shape))
        got = infer(lambda g, i, layer=layer: g.node(layer, i), ids=ids)
        np.testing.assert_array_equal(got, table[ids])


def test_weights_are_created() -> None:
    tg.set_seed(3)
    layer = tg.layers.Embedding(500, 20, padding_index=7)
    weights = layer.weights.numpy()
    assert weights.shape == (500, 20)
    assert not weights[7].any()
    others = np.delete(weights, 7, axis=0)
    assert abs(others.mean()) < 0.05
    assert abs(others.std() - 1) < 0.05
    bounded = tg.layers.Embedding(500, 20, initializer="glorot_uniform")
    assert np.abs(bounded.weights.numpy()).max() <= math.sqrt(6 / 520)


def test_descriptor() -> None:
    descriptor = tg.layers.EmbeddingDescriptor(
        5, 3, padding_index=1, maximum_norm=2, p_norm=math.inf
    )
    layer = tg.layers.Embedding(descriptor, np.ones((5, 3), np.float32), name="words")
    assert layer.descriptor == descriptor == copy.copy(descriptor)
    assert layer.descriptor.embedding_count == 5
    assert layer.descriptor.embedding_dimension == 3
    assert layer.descriptor.padding_index == 1
    assert layer.descriptor.maximum_norm == 2
    assert layer.descriptor.p_norm == math.inf
    assert not layer.descriptor.scales_gradient_by_frequency
    assert [p.tensor for p in layer.parameters] == [layer.weights]
    assert layer.weights.name == "words.weights"
    plain = tg.layers.EmbeddingDescriptor(5, 3)
    assert plain != descriptor
    assert plain.padding_index is None
    assert plain.maximum_norm is None


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"padding_index": 5}, "padding_index"),
        ({"padding_index": -1}, "padding_index"),
        ({"maximum_norm": 0}, "maximum_norm"),
        ({"maximum_norm": math.inf}, "maximum_norm"),
        ({"maximum_norm": 1, "p_norm": 0}, "p_norm"),
        ({"p_norm": 1}, "p_norm"),
        ({"initializer": "uniform", "weights": np.ones((5, 3), np.float32)}, "initi"),
    ],
)
def test_bad_options(options: dict[str, Any], word: str) -> None:
    with pytest.raises(tg.InvalidArgument, match=word):
        tg.layers.Embedding(5, 3, **options)


def test_bad_weights() -> None:
    flat = np.ones((1, 15, 1, 1), np.float32)
    with pytest.raises(tg.ShapeError, match="weights"):
        tg.layers.Embedding(5, 3, weights=np.ones((5, 4), np.float32))
    with pytest.raises(tg.ShapeError, match="weights"):
        tg.layers.Embedding(5, 3, maximum_norm=1, weights=flat)
    with pytest.raises(tg.DTypeError):
        tg.layers.Embedding(5, 3, weights=np.ones((5, 3), np.complex64))
    with pytest.raises(tg.InvalidArgument, match="embedding_count"):
        tg.layers.Embedding(0, 3)


def test_bad_sources() -> None:
    graph = tg.Graph()
    x = tg.Tensor((4, 5), name="x")
    ids = tg.Tensor((3,), "int32", name="ids")
    with pytest.raises(tg.DTypeError, match="int64 or int32"):
        graph.ops.gather(x, x, axis=1)
    with pytest.raises(tg.InvalidArgument, match="axis"):
        graph.ops.gather(x, ids, axis=2)
    with pytest.raises(tg.ShapeError, match="1 axis for whole slices"):
        graph.ops.gather(x, tg.Tensor((4, 2, 2), "int32"), axis=1)
    with pytest.raises(tg.ShapeError, match="source"):
        graph.ops.scatter(x, ids, x, axis=1)
    with pytest.raises(tg.InvalidArgument, match="none or sum"):
        tg.layers.Scatter(1, "mean")
    with pytest.raises(tg.DTypeError, match="int64 or int32"):
        graph.node(tg.layers.Embedding(5, 3), x)


def test_an_index_out_of_range_is_named() -> None:
    table = np.ones((5, 2), np.float32)
    layer = tg.layers.Embedding(5, 2, weights=table, name="words")
    ids = np.array([[0, 4], [2, 5]], np.int32)
    with pytest.raises(tg.InvalidArgument) as caught:
        infer(lambda g, i: g.node(layer, i), ids=ids)
    assert caught.value.node == "ids"
    assert caught.value.expected == "0 to 4"
    assert caught.value.got == "5"
    assert "(1, 1)" in str(caught.value)
    assert "words" in str(caught.value)
    other = tg.layers.Embedding(5, 2, weights=table)
    with pytest.raises(tg.InvalidArgument, match="-1"):
        infer(lambda g, i: g.node(other, i), ids=-ids // 4)


def test_a_maximum_norm_is_stored_by_training_only() -> None:
    table = np.array([[3, 4], [0.3, 0.4], [6, 8]], np.float32)
    ids = np.array([0, 1, 0], np.int32)
    expected = np.array([[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]], np.float32)
    weights = tg.Tensor((3, 2), data=table)
    layer = tg.layers.Embedding(3, 2, maximum_norm=1, weights=weights)
    got = infer(lambda g, i: g.node(layer, i), ids=ids)
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    weights.synchronize_data()
    np.testing.assert_array_equal(weights.numpy(), table)

    graph = tg.Graph()
    source = tg.Tensor((3,), "int32", name="ids")
    label = tg.Tensor((3, 2), name="label")
    again = tg.layers.Embedding(
        3, 2, maximum_norm=1, weights=tg.Tensor((3, 2), data=table)
    )
    graph.node(again, source)
    training = tg.TrainingGraph(
        [graph], loss=tg.losses.MeanSquaredError(), optimizer=tg.optimizers.SGD(0.0)
    )
    training.add_inputs({"ids": source}, loss_labels={"label": label})
    training.compile("cpu")
    training.execute({"ids": ids}, {"label": expected}).wait()
    again.weights.synchronize_data()
    stored = np.array([[0.6, 0.8], [0.3, 0.4], [6, 8]], np.float32)
    np.testing.assert_allclose(again.weights.numpy(), stored, rtol=1e-6)
