# SPDX-License-Identifier: MIT
"""The layers GRU and RNN against PyTorch's: results, gradients, rounding.

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

Layer = tg.layers.GRU | tg.layers.RNN
KINDS: dict[str, Any] = {"gru": tg.layers.GRU, "rnn": tg.layers.RNN}


def random(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.standard_normal(shape, np.float32)


def names_of(layer: Layer) -> list[str]:
    """PyTorch's names of the layer's weights, and of the biases of the source."""
    d = layer.descriptor
    sets = [
        f"_l{index}{suffix}"
        for suffix in (["", "_reverse"] if d.is_bidirectional else [""])
        for index in range(d.layer_count)
    ]
    kinds = ["weight_ih", "weight_hh", *(["bias_ih"] if d.uses_biases else [])]
    return [kind + each for kind in kinds for each in sets]


def parameters_of(layer: Layer) -> list[tg.Tensor]:
    return [*layer.input_weights, *layer.hidden_weights, *(layer.biases or [])]


def secondary_names(layer: Layer) -> list[str]:
    if not layer.secondary_biases:
        return []
    return [n.replace("_ih", "_hh") for n in names_of(layer) if n.startswith("bias")]


def module_of(layer: Layer) -> Any:
    """PyTorch's with the layer's parameters; of its second biases only those of
    the candidate are not zero."""
    d = layer.descriptor
    module = (nn.GRU if isinstance(layer, tg.layers.GRU) else nn.RNN)(
        d.input_size,
        d.hidden_size,
        d.layer_count,
        bias=d.uses_biases,
        batch_first=d.batch_first,
        bidirectional=d.is_bidirectional,
    )
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.startswith("bias_hh"):
                parameter.zero_()
        for name, tensor in zip(names_of(layer), parameters_of(layer), strict=True):
            getattr(module, name).copy_(torch.from_numpy(tensor.numpy()))
        biases = layer.secondary_biases or []
        for name, tensor in zip(secondary_names(layer), biases, strict=True):
            getattr(module, name)[-d.hidden_size :] = torch.from_numpy(tensor.numpy())
    return module


def randomize_biases(rng: np.random.Generator, layer: Layer) -> None:
    for bias in [*(layer.biases or []), *(layer.secondary_biases or [])]:
        bias.set_data(random(rng, *bias.shape))


def gradients_of(layer: Layer, module: Any) -> list[np.ndarray[Any, Any]]:
    hidden = layer.descriptor.hidden_size
    own = [as_numpy(getattr(module, name).grad) for name in names_of(layer)]
    more = [as_numpy(getattr(module, n).grad)[-hidden:] for n in secondary_names(layer)]
    return own + more


def all_parameters(layer: Layer) -> list[tg.Tensor]:
    return parameters_of(layer) + list(layer.secondary_biases or [])


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_layer(
    rng: np.random.Generator, kind: str, options: str, *, has_state: bool
) -> None:
    layer = KINDS[kind](IN, H, **OPTIONS[options])
    randomize_biases(rng, layer)
    d = layer.descriptor
    sources = [random(rng, N, T, IN) if d.batch_first else random(rng, T, N, IN)]
    if has_state:
        directions = 2 if d.is_bidirectional else 1
        sources.append(random(rng, d.layer_count * directions, N, H))
    ours = Gradients(
        sources,
        lambda graph, *s: graph.node(layer, list(s)),
        lambda shape: random(rng, *shape),
    )
    module = module_of(layer)
    theirs = [as_torch(s, with_gradient=True) for s in sources]
    result, _ = module(*theirs)
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    for got, source in zip(ours.of_sources, theirs, strict=True):
        np.testing.assert_allclose(got, as_numpy(source.grad), **TOLERANCE)
    expected = gradients_of(layer, module)
    for tensor, want in zip(all_parameters(layer), expected, strict=True):
        np.testing.assert_allclose(ours.of(tensor), want, **TOLERANCE)


@pytest.mark.parametrize("is_bidirectional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_lengths(
    rng: np.random.Generator, kind: str, *, is_bidirectional: bool
) -> None:
    layer = KINDS[kind](IN, H, 2, is_bidirectional=is_bidirectional)
    randomize_biases(rng, layer)
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
    expected = gradients_of(layer, module)
    for tensor, want in zip(all_parameters(layer), expected, strict=True):
        np.testing.assert_allclose(ours.of(tensor), want, **TOLERANCE)


def rms(x: np.ndarray[Any, Any], exact: np.ndarray[Any, Any]) -> float:
    return float(np.sqrt(np.mean((x.astype(np.float64) - exact) ** 2)))


@pytest.mark.parametrize("steps", [1, 30, 1000])
@pytest.mark.parametrize("hidden", [8, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_errors(
    rng: np.random.Generator, kind: str, steps: int, hidden: int
) -> None:
    """Against float64: at most twice PyTorch's in float32."""
    layer = KINDS[kind](16, hidden)
    randomize_biases(rng, layer)
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
        own = [as_numpy(t) for t in (result, source.grad)]
        results.append(own + gradients_of(layer, module))
    theirs, exact = results
    got = [ours.result, *ours.of_sources, *map(ours.of, all_parameters(layer))]
    for mine, other, right in zip(got, theirs, exact, strict=True):
        assert rms(mine, right) <= 2 * rms(other, right) + 1e-9
