# SPDX-License-Identifier: MIT
"""The LSTM layer against PyTorch's: results, gradients and rounding errors.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn
from torch.nn.utils import rnn

from .torch_support import Gradients, as_numpy, as_torch

# Some ten recurrent steps, each a sum of some twenty float32 products.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-5}

N, T, IN, H = 4, 7, 5, 6

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "layers": {"layer_count": 3},
    "bidirectional": {"is_bidirectional": True},
    "bidirectional layers": {"is_bidirectional": True, "layer_count": 2},
    "without biases": {"uses_biases": False},
    "time first": {"batch_first": False},
}


def module_of(layer: tg.layers.LSTM) -> nn.LSTM:
    """PyTorch's with the layer's parameters; its second bias is zero."""
    d = layer.descriptor
    module = nn.LSTM(
        d.input_size,
        d.hidden_size,
        d.layer_count,
        bias=d.uses_biases,
        batch_first=d.batch_first,
        bidirectional=d.is_bidirectional,
    )
    with torch.no_grad():
        for name, array in zip(names_of(layer), arrays_of(layer), strict=True):
            getattr(module, name).copy_(torch.from_numpy(array))
        for name, parameter in module.named_parameters():
            if name.startswith("bias_hh"):
                parameter.zero_()
    return module


def names_of(layer: tg.layers.LSTM) -> list[str]:
    """PyTorch's names of the layer's parameters."""
    d = layer.descriptor
    sets = [
        f"_l{index}{suffix}"
        for suffix in (["", "_reverse"] if d.is_bidirectional else [""])
        for index in range(d.layer_count)
    ]
    kinds = ["weight_ih", "weight_hh", *(["bias_ih"] if d.uses_biases else [])]
    return [kind + each for kind in kinds for each in sets]


def parameters_of(layer: tg.layers.LSTM) -> list[tg.Tensor]:
    return [*layer.input_weights, *layer.hidden_weights, *(layer.biases or [])]


def arrays_of(layer: tg.layers.LSTM) -> list[np.ndarray[Any, Any]]:
    return [t.numpy() for t in parameters_of(layer)]


def random(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.standard_normal(shape, np.float32)


@pytest.mark.parametrize("has_states", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_lstm(rng: np.random.Generator, options: str, *, has_states: bool) -> None:
    layer = tg.layers.LSTM(IN, H, **OPTIONS[options])
    for bias in layer.biases or []:
        bias.set_data(random(rng, 4 * H))
    d = layer.descriptor
    sources = [random(rng, N, T, IN) if d.batch_first else random(rng, T, N, IN)]
    if has_states:
        directions = 2 if d.is_bidirectional else 1
        shape = (d.layer_count * directions, N, H)
        sources += [random(rng, *shape), random(rng, *shape)]
    ours = Gradients(
        sources,
        lambda graph, *s: graph.node(layer, list(s)),
        lambda shape: random(rng, *shape),
    )
    module = module_of(layer)
    theirs = [as_torch(s, with_gradient=True) for s in sources]
    result, _ = module(theirs[0], tuple(theirs[1:]) or None)
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    for got, source in zip(ours.of_sources, theirs, strict=True):
        np.testing.assert_allclose(got, as_numpy(source.grad), **TOLERANCE)
    for name, tensor in zip(names_of(layer), parameters_of(layer), strict=True):
        expected = as_numpy(getattr(module, name).grad)
        np.testing.assert_allclose(ours.of(tensor), expected, **TOLERANCE)


@pytest.mark.parametrize("is_bidirectional", [False, True])
def test_lengths(rng: np.random.Generator, *, is_bidirectional: bool) -> None:
    layer = tg.layers.LSTM(IN, H, 2, is_bidirectional=is_bidirectional)
    x = random(rng, N, T, IN)
    lengths = np.array([3, 7, 1, 5], np.int32)
    ours = Gradients(
        [x, lengths],
        lambda graph, *s: graph.node(layer, list(s)),
        lambda shape: random(rng, *shape),
    )
    module = module_of(layer)
    source = as_torch(x, with_gradient=True)
    packed = rnn.pack_padded_sequence(
        source, torch.from_numpy(lengths), batch_first=True, enforce_sorted=False
    )
    result, _ = rnn.pad_packed_sequence(
        module(packed)[0], batch_first=True, total_length=T
    )
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **TOLERANCE)
    for name, tensor in zip(names_of(layer), parameters_of(layer), strict=True):
        expected = as_numpy(getattr(module, name).grad)
        np.testing.assert_allclose(ours.of(tensor), expected, **TOLERANCE)


def rms(x: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> float:
    return float(np.sqrt(np.mean((x.astype(np.float64) - exact) ** 2)))


@pytest.mark.parametrize("steps", [1, 30, 1000])
@pytest.mark.parametrize("hidden", [8, 64])
def test_rounding_errors(rng: np.random.Generator, steps: int, hidden: int) -> None:
    """Against float64: at most twice PyTorch's in float32."""
    layer = tg.layers.LSTM(16, hidden)
    x = random(rng, 4, steps, 16)
    ours = Gradients(
        [x], lambda graph, s: graph.node(layer, s), lambda shape: random(rng, *shape)
    )
    results = []
    for dtype in (torch.float32, torch.float64):
        module = module_of(layer).to(dtype)
        source = as_torch(x).to(dtype).requires_grad_()
        result, _ = module(source)
        result.backward(as_torch(ours.gradient).to(dtype))
        gradients = [getattr(module, name).grad for name in names_of(layer)]
        results.append([as_numpy(t) for t in (result, source.grad, *gradients)])
    theirs, exact = results
    got = [ours.result, *ours.of_sources, *map(ours.of, parameters_of(layer))]
    for mine, other, right in zip(got, theirs, exact, strict=True):
        assert rms(mine, right) <= 2 * rms(other, right) + 1e-9
