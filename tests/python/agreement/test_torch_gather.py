# SPDX-License-Identifier: MIT
"""Gather, scatter and embedding against PyTorch.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn
from torch.nn import functional as F

from .torch_support import Gradients, as_numpy, as_torch

# Both sum up to some hundred float32 numbers near 1, in their own order.
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}

EMBEDDINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "padding": {"padding_index": 3},
    "frequency": {"scales_gradient_by_frequency": True},
    "padding and frequency": {
        "padding_index": 0,
        "scales_gradient_by_frequency": True,
    },
    "norm 2": {"maximum_norm": 1.5},
    "norm 1": {"maximum_norm": 2.0, "p_norm": 1.0},
    "norm 3.5": {"maximum_norm": 1.0, "p_norm": 3.5},
    "norm infinity": {"maximum_norm": 0.9, "p_norm": math.inf, "padding_index": 2},
}


def module_of(weights: np.ndarray, options: dict[str, Any]) -> nn.Embedding:
    module = nn.Embedding(
        *weights.shape,
        padding_idx=options.get("padding_index"),
        max_norm=options.get("maximum_norm"),
        norm_type=options.get("p_norm", 2.0),
        scale_grad_by_freq=options.get("scales_gradient_by_frequency", False),
    )
    with torch.no_grad():
        module.weight.copy_(as_torch(weights))
    return module


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_embedding(rng: np.random.Generator, name: str, dtype: str) -> None:
    options = EMBEDDINGS[name]
    weights = rng.standard_normal((20, 6), np.float32)
    tokens = rng.integers(0, 20, (8, 13)).astype(dtype)
    layer = tg.layers.Embedding(20, 6, weights=weights, **options)
    ours = Gradients(
        [tokens],
        lambda graph, s: graph.node(layer, s),
        lambda shape: rng.standard_normal(shape, np.float32),
    )
    module = module_of(weights, options)
    result = module(torch.from_numpy(tokens))
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    np.testing.assert_allclose(
        ours.of(layer.weights), as_numpy(module.weight.grad), **TOLERANCE
    )
    layer.weights.synchronize_data()
    np.testing.assert_allclose(
        layer.weights.numpy(), as_numpy(module.weight), **TOLERANCE
    )


def expect_gradients(
    ours: Gradients, result: torch.Tensor, sources: list[torch.Tensor]
) -> None:
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    for mine, source in zip(ours.of_sources, sources, strict=True):
        np.testing.assert_allclose(mine, as_numpy(source.grad), **TOLERANCE)


def gradient_of(rng: np.random.Generator) -> Any:
    return lambda shape: rng.standard_normal(shape, np.float32)


@pytest.mark.parametrize("axis", [1, 2, -1])
def test_gather_of_elements(rng: np.random.Generator, axis: int) -> None:
    x = rng.standard_normal((4, 5, 6), np.float32)
    shape = list(x.shape)
    shape[axis] = 9
    indices = rng.integers(0, x.shape[axis], shape)
    ours = Gradients(
        [x, indices],
        lambda graph, *s: graph.ops.gather(*s, axis=axis),
        gradient_of(rng),
    )
    source = as_torch(x, with_gradient=True)
    result = torch.gather(source, axis, torch.from_numpy(indices))
    expect_gradients(ours, result, [source])


@pytest.mark.parametrize("axis", [1, 2])
def test_gather_of_slices(rng: np.random.Generator, axis: int) -> None:
    x = rng.standard_normal((4, 5, 6), np.float32)
    indices = rng.integers(0, x.shape[axis], 9)
    constant = tg.Tensor((9,), "int64", data=indices)
    ours = Gradients(
        [x],
        lambda graph, s: graph.ops.gather(s, constant, axis=axis),
        gradient_of(rng),
    )
    source = as_torch(x, with_gradient=True)
    result = torch.index_select(source, axis, torch.from_numpy(indices))
    expect_gradients(ours, result, [source])


@pytest.mark.parametrize("axis", [1, 2])
def test_scatter_sum(rng: np.random.Generator, axis: int) -> None:
    x = rng.standard_normal((4, 5, 6), np.float32)
    shape = list(x.shape)
    shape[axis] = 9
    updates = rng.standard_normal(shape, np.float32)
    indices = rng.integers(0, x.shape[axis], shape)
    ours = Gradients(
        [updates, indices, x],
        lambda graph, u, i, s: graph.ops.scatter(
            u, i, s, axis=axis, reduction_type="sum"
        ),
        gradient_of(rng),
    )
    data = as_torch(x, with_gradient=True)
    source = as_torch(updates, with_gradient=True)
    result = data.scatter_add(axis, torch.from_numpy(indices), source)
    expect_gradients(ours, result, [source, data])


def test_scatter_of_distinct_positions(rng: np.random.Generator) -> None:
    """Where several sources meet, PyTorch's winner and gradient are arbitrary."""
    x = rng.standard_normal((4, 7), np.float32)
    updates = rng.standard_normal((4, 3), np.float32)
    indices = np.stack([rng.permutation(7)[:3] for _ in range(4)])
    ours = Gradients(
        [updates, indices, x],
        lambda graph, u, i, s: graph.ops.scatter(u, i, s, axis=1),
        gradient_of(rng),
    )
    data = as_torch(x, with_gradient=True)
    source = as_torch(updates, with_gradient=True)
    result = data.scatter(1, torch.from_numpy(indices), source)
    expect_gradients(ours, result, [source, data])


OPTIMIZERS: dict[str, tuple[Any, Any]] = {
    "sgd": (lambda: tg.optimizers.SGD(0.5), lambda p: torch.optim.SGD(p, 0.5)),
    "adam": (lambda: tg.optimizers.Adam(0.01), lambda p: torch.optim.Adam(p, 0.01)),
}


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training(rng: np.random.Generator, name: str, is_tied: bool) -> None:
    """A language model of one layer; `is_tied`: rows score the next word, too."""
    words, width = 30, 8
    table = rng.standard_normal((words, width), np.float32)
    tokens = rng.integers(0, words, (6, 5)).astype(np.int32)
    target = rng.integers(0, words, 30)
    labels = np.eye(words, dtype=np.float32)[target]

    weights = tg.Tensor((words, width), data=table, name="table")
    graph = tg.Graph()
    ids = tg.Tensor(tokens.shape, "int32", name="ids")
    label = tg.Tensor(labels.shape, name="label")
    layer = tg.layers.Embedding(words, width, padding_index=2, weights=weights)
    h = graph.ops.reshape(graph.node(layer, ids), shape=(-1, width))
    other = table[::-1].copy()
    out = tg.layers.FullyConnected(
        width, words, weights=weights if is_tied else other, uses_biases=False
    )
    graph.node(out, h)
    optimizer, torch_optimizer = OPTIMIZERS[name]
    training = tg.TrainingGraph(
        [graph], loss=tg.losses.SoftmaxCrossEntropy(), optimizer=optimizer()
    )
    training.add_inputs({"ids": ids}, loss_labels={"label": label})
    training.compile("cpu")

    embedding = nn.Parameter(as_torch(table))
    last = embedding if is_tied else nn.Parameter(as_torch(other))
    step = torch_optimizer([embedding] if is_tied else [embedding, last])
    for _ in range(5):
        run = training.execute({"ids": tokens}, {"label": labels}).result()
        step.zero_grad()
        rows = F.embedding(torch.from_numpy(tokens), embedding, padding_idx=2)
        logits = rows.reshape(-1, width) @ last.T
        loss = F.cross_entropy(logits, torch.from_numpy(target))
        loss.backward()
        step.step()
        np.testing.assert_allclose(run.loss, loss.item(), rtol=1e-5)
    weights.synchronize_data()
    difference = np.abs(weights.numpy() - as_numpy(embedding))
    if name == "adam":
        # Where a gradient is nearly zero, its rounding and the place of epsilon
        # decide the size and the sign of a step.
        assert np.mean(difference < 1e-4) > 0.98
        assert difference.max() < 5 * 0.01
    else:
        assert difference.max() < 1e-5
