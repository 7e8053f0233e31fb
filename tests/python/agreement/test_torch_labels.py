# SPDX-License-Identifier: MIT
"""Labels that name classes, and PReLU, against PyTorch: values and gradients.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch.nn import functional as F

from .torch_support import Gradients, as_numpy, as_torch

# Sums of up to 120 elements of a few float32 operations.
SUMMED = {"rtol": 5e-5, "atol": 1e-5}


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("ignored", [-100, 1])
@pytest.mark.parametrize("shape", [(6, 5), (3, 4, 2, 5)], ids=["vectors", "images"])
def test_cross_entropy_of_names(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    ignored: int,
    is_weighted: bool,
    smoothing: float,
    reduction: str,
    index: str,
) -> None:
    y = rng.standard_normal(shape, np.float32)
    names = rng.integers(0, shape[1], (shape[0], *shape[2:])).astype(index)
    names.flat[1] = ignored
    names.flat[0] = 0
    weights = rng.uniform(0.2, 2, shape[1]).astype(np.float32)
    loss = tg.losses.SoftmaxCrossEntropy(
        reduction,
        label_smoothing=smoothing,
        ignore_index=ignored,
        class_weights=weights if is_weighted else None,
    )
    ours = Gradients([y, names], lambda g, a, b: g.node(loss, [a, b]), None)
    source = as_torch(y, with_gradient=True)
    result = F.cross_entropy(
        source,
        torch.from_numpy(names.astype(np.int64)),
        weight=as_torch(weights) if is_weighted else None,
        ignore_index=ignored,
        reduction=reduction,
        label_smoothing=smoothing,
    )
    result.backward(torch.ones_like(result))
    wanted = as_numpy(result).reshape(ours.result.shape)
    np.testing.assert_allclose(ours.result, wanted, **SUMMED)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **SUMMED)


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_cross_entropy_of_shares_with_class_weights(
    rng: np.random.Generator, reduction: str
) -> None:
    y, t = rng.standard_normal((2, 6, 5), np.float32)
    t = np.exp(t) / np.exp(t).sum(1, keepdims=True)
    weights = rng.uniform(0.2, 2, 5).astype(np.float32)
    loss = tg.losses.SoftmaxCrossEntropy(
        reduction, label_smoothing=0.1, class_weights=weights
    )
    ours = Gradients([y, t], lambda g, a, b: g.node(loss, [a, b]), None)
    source = as_torch(y, with_gradient=True)
    result = F.cross_entropy(
        source,
        as_torch(t),
        weight=as_torch(weights),
        reduction=reduction,
        label_smoothing=0.1,
    )
    result.backward(torch.ones_like(result))
    wanted = as_numpy(result).reshape(ours.result.shape)
    np.testing.assert_allclose(ours.result, wanted, **SUMMED)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **SUMMED)


BROADCAST: dict[str, tuple[Any, Any]] = {
    "mean_squared_error": (tg.losses.MeanSquaredError, F.mse_loss),
    "mean_absolute_error": (tg.losses.MeanAbsoluteError, F.l1_loss),
    "huber": (tg.losses.Huber, F.huber_loss),
}


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("labels", [(1, 5, 4), (5, 1), (1,)])
@pytest.mark.parametrize("name", BROADCAST)
def test_labels_broadcast(
    rng: np.random.Generator, name: str, labels: tuple[int, ...]
) -> None:
    make, reference = BROADCAST[name]
    y = rng.standard_normal((6, 5, 4), np.float32)
    t = rng.standard_normal(labels, np.float32)
    ours = Gradients(
        [y], lambda g, a: g.node(make(), [a, tg.Tensor(t.shape, data=t)]), None
    )
    source = as_torch(y, with_gradient=True)
    result = reference(source, as_torch(t))
    result.backward()
    np.testing.assert_allclose(
        ours.result, as_numpy(result).reshape(ours.result.shape), **SUMMED
    )
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **SUMMED)


@pytest.mark.parametrize("count", [1, 4])
def test_prelu(rng: np.random.Generator, count: int) -> None:
    x = rng.standard_normal((3, 4, 5, 2), np.float32)
    x[0, 0, 0] = 0  # the slope there is w, as PyTorch's
    weights = rng.uniform(0.1, 0.5, count).astype(np.float32)
    layer = tg.layers.PReLU(weights=weights)
    ours = Gradients(
        [x],
        lambda graph, s: graph.node(layer, s),
        lambda shape: rng.standard_normal(shape, np.float32),
    )
    source = as_torch(x, with_gradient=True)
    result = F.prelu(source, as_torch(weights))
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **SUMMED)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **SUMMED)
