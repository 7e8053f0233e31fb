# SPDX-License-Identifier: MIT
"""What the tests of recurrent layers against PyTorch's share."""

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
    "bidirectional": {"bidirectional": True},
    "bidirectional layers": {"bidirectional": True, "layer_count": 2},
    "without biases": {"uses_biases": False},
    "time first": {"batch_first": False},
}

Array = np.ndarray[Any, Any]
Layer = tg.layers.LSTM | tg.layers.GRU | tg.layers.RNN


def random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, np.float32)


def names_of(layer: Layer) -> list[str]:
    """PyTorch's names of the layer's weights, and of the biases of the source."""
    d = layer.descriptor
    sets = [
        f"_l{index}{suffix}"
        for suffix in (["", "_reverse"] if d.bidirectional else [""])
        for index in range(d.layer_count)
    ]
    kinds = ["weight_ih", "weight_hh", *(["bias_ih"] if d.uses_biases else [])]
    return [kind + each for kind in kinds for each in sets]


def secondary_biases(layer: Layer) -> dict[str, tg.Tensor]:
    """By PyTorch's names of the biases that have them at their end."""
    biases = getattr(layer, "secondary_biases", None) or []
    names = [n.replace("_ih", "_hh") for n in names_of(layer) if n.startswith("bias")]
    return dict(zip(names, biases, strict=True)) if biases else {}


def weights_of(layer: Layer) -> list[tg.Tensor]:
    return [*layer.input_weights, *layer.hidden_weights, *(layer.biases or [])]


def parameters_of(layer: Layer) -> list[tg.Tensor]:
    return weights_of(layer) + list(secondary_biases(layer).values())


def module_of(layer: Layer) -> Any:
    """PyTorch's with the layer's parameters; of its second biases only those of
    a GRU's candidate are not zero."""
    d = layer.descriptor
    module = getattr(nn, type(layer).__name__)(
        d.input_size,
        d.hidden_size,
        d.layer_count,
        bias=d.uses_biases,
        batch_first=d.batch_first,
        bidirectional=d.bidirectional,
    )
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if name.startswith("bias_hh"):
                parameter.zero_()
        for name, tensor in zip(names_of(layer), weights_of(layer), strict=True):
            getattr(module, name).copy_(torch.from_numpy(tensor.numpy()))
        for name, tensor in secondary_biases(layer).items():
            getattr(module, name)[-d.hidden_size :] = torch.from_numpy(tensor.numpy())
    return module


def gradients_of(layer: Layer, module: Any) -> list[Array]:
    """Of parameters_of(), as PyTorch has them."""
    hidden = layer.descriptor.hidden_size
    own = [as_numpy(getattr(module, name).grad) for name in names_of(layer)]
    more = [
        as_numpy(getattr(module, n).grad)[-hidden:] for n in secondary_biases(layer)
    ]
    return own + more


def randomize_biases(rng: np.random.Generator, layer: Layer) -> None:
    for bias in [*(layer.biases or []), *secondary_biases(layer).values()]:
        bias.set_data(random(rng, *bias.shape))


def run(rng: np.random.Generator, layer: Layer, sources: list[Array]) -> Gradients:
    return Gradients(
        sources,
        lambda graph, *s: graph.node(layer, list(s)),
        lambda shape: random(rng, *shape),
    )


def expect_same(
    layer: Layer, module: Any, ours: Gradients, result: Any, sources: list[Any]
) -> None:
    """Results and gradients, by a backward pass of PyTorch's."""
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    for got, source in zip(ours.of_sources, sources, strict=True):
        np.testing.assert_allclose(got, as_numpy(source.grad), **TOLERANCE)
    expected = gradients_of(layer, module)
    for tensor, want in zip(parameters_of(layer), expected, strict=True):
        np.testing.assert_allclose(ours.of(tensor), want, **TOLERANCE)


def check_layer(rng: np.random.Generator, layer: Layer, num_states: int) -> None:
    """With so many initial states."""
    randomize_biases(rng, layer)
    d = layer.descriptor
    sources = [random(rng, N, T, IN) if d.batch_first else random(rng, T, N, IN)]
    directions = 2 if d.bidirectional else 1
    state = (d.layer_count * directions, N, H)
    sources += [random(rng, *state) for _ in range(num_states)]
    ours = run(rng, layer, sources)
    module = module_of(layer)
    theirs = [as_torch(s, with_gradient=True) for s in sources]
    states = tuple(theirs[1:])
    given = states[0] if num_states == 1 else states or None
    result, _ = module(theirs[0], given)
    expect_same(layer, module, ours, result, theirs)


def check_lengths(rng: np.random.Generator, layer: Layer) -> None:
    randomize_biases(rng, layer)
    x = random(rng, N, T, IN)
    lengths = np.array([3, 7, 1, 5], np.int32)
    ours = run(rng, layer, [x, lengths])
    module = module_of(layer)
    source = as_torch(x, with_gradient=True)
    packed = rnn.pack_padded_sequence(
        source, torch.from_numpy(lengths), batch_first=True, enforce_sorted=False
    )
    result, _ = rnn.pad_packed_sequence(
        module(packed)[0], batch_first=True, total_length=T
    )
    expect_same(layer, module, ours, result, [source])


def rms(x: Array, exact: Array) -> float:
    return float(np.sqrt(np.mean((x.astype(np.float64) - exact) ** 2)))


def rounding_errors(
    rng: np.random.Generator, layer: Layer, steps: int
) -> tuple[Array, Array]:
    """Of results and gradients of one draw against float64: ours, PyTorch's."""
    randomize_biases(rng, layer)
    x = random(rng, 4, steps, layer.descriptor.input_size)
    ours = run(rng, layer, [x])
    results = []
    for dtype in (torch.float32, torch.float64):
        module = module_of(layer).to(dtype)
        source = as_torch(x).to(dtype).requires_grad_()
        result, _ = module(source)
        result.backward(as_torch(ours.gradient).to(dtype))
        own = [as_numpy(t) for t in (result, source.grad)]
        results.append(own + gradients_of(layer, module))
    theirs, exact = results
    got = [ours.result, *ours.of_sources, *map(ours.of, parameters_of(layer))]
    return tuple(
        np.array([rms(one, right) for one, right in zip(all, exact, strict=True)])
        for all in (got, theirs)
    )


def check_rounding_errors(rng: np.random.Generator, layer: Layer, steps: int) -> None:
    """At most twice PyTorch's in float32, over five draws: those of a single one
    depend on the order in which the processor's kernels happen to sum."""
    draws = [rounding_errors(rng, layer, steps) for _ in range(5)]
    mine, theirs = np.mean(draws, axis=0)
    assert (mine <= 2 * theirs + 1e-9).all(), mine / theirs
