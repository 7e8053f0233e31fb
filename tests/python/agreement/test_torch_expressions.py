# SPDX-License-Identifier: MIT
"""Expressions on results against the same lines of PyTorch, with gradients.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from .torch_support import Gradients, as_numpy, as_torch

if TYPE_CHECKING:
    from collections.abc import Callable

    import traingraph as tg

# Both sum up to some dozen float32 numbers near 1, in their own order.
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}


def layer_norm(x: Any, y: Any) -> Any:
    centered = x - x.mean(axis=-1, keepdims=True)
    variance = (centered**2).mean(axis=-1, keepdims=True)
    return centered / (variance + 1e-5).sqrt() * y[:, :1] + 0.1


def attention(x: Any, y: Any) -> Any:
    # What NumPy and we call transpose.
    transposed = getattr(y, "permute", None) or y.transpose
    scores = (x @ transposed(0, 2, 1) / 8**0.5).exp()
    return scores / scores.sum(axis=-1, keepdims=True) @ y


def gates(x: Any, y: Any) -> Any:
    keep = (x[..., :4] + y[..., 4:]).sigmoid()
    return keep * y[..., :4].tanh() + (1 - keep) * x[..., 4:].relu()


def focal(x: Any, y: Any) -> Any:
    p = x.sigmoid()
    return (-((1 - p) ** 2.5) * (p + 1e-6).log() * abs(y)).mean(axis=(1, 2))


def pieces(x: Any, y: Any) -> Any:
    first, rest = x[:, 0], y[:, 1::2]
    return (first[:, None] * rest).reshape(3, -1) ** 2 / (
        2 + first.sum(axis=1)[:, None] ** 2
    )


BUILDS = [layer_norm, attention, gates, focal, pieces]


@pytest.mark.parametrize("build", BUILDS, ids=lambda f: f.__name__)
def test_expressions(rng: np.random.Generator, build: Callable[..., Any]) -> None:
    x, y = (rng.standard_normal((3, 5, 8), np.float32) for _ in range(2))

    def ours(graph: tg.Graph, *inputs: tg.Tensor) -> tg.Tensor:
        return build(*(graph.ops.reshape(each, shape=each.shape) for each in inputs))

    got = Gradients([x, y], ours, lambda shape: rng.standard_normal(shape, np.float32))
    tensors = [as_torch(each, with_gradient=True) for each in (x, y)]
    result = build(*tensors)
    result.backward(as_torch(got.gradient))
    np.testing.assert_allclose(got.result, as_numpy(result), **TOLERANCE)
    for own, tensor in zip(got.of_sources, tensors, strict=True):
        np.testing.assert_allclose(own, as_numpy(tensor.grad), **TOLERANCE)
