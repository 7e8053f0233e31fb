# SPDX-License-Identifier: MIT
"""Attention against PyTorch: results, gradients and accuracy.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn
from torch.nn import functional as F

from .torch_support import Gradients, as_numpy, as_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = np.ndarray[Any, Any]

# Both sum float32 products, up to some 100 of them near 1, in their own order.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-5}

N, HEADS, L, S, WIDTH = 3, 4, 5, 7, 24

KINDS = ["none", "key", "hard", "hard by head", "soft", "soft by head", "both"]


def random(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape, np.float32)


def hidden(rng: np.random.Generator, *shape: int) -> Array:
    """True is masked out, never the first key."""
    mask = rng.random(shape) < 0.4
    mask[..., 0] = False
    return mask


@dataclass
class Masks:
    """The masks of one kind, as both libraries take them."""

    ours: list[Array] = field(default_factory=list)
    key: Array | None = None
    attention: Array | None = None

    @classmethod
    def of(cls, kind: str, rng: np.random.Generator) -> Masks:
        masks = cls()
        if kind in ("key", "both"):
            masks.key = hidden(rng, N, S)
            masks.ours.append(masks.key)
        count = N * HEADS if "by head" in kind else 1
        if "hard" in kind:
            masks.attention = hidden(rng, count, L, S)
        elif "soft" in kind or kind == "both":
            masks.attention = random(rng, count, L, S)
        if masks.attention is not None:
            masks.ours.append(masks.attention)
        return masks

    def theirs(self) -> dict[str, Any]:
        """PyTorch takes one mask for all as (L, S), and both of one type."""
        attention = self.attention
        if attention is not None and attention.shape[0] == 1:
            attention = attention[0]
        key = self.key
        if key is not None and attention is not None and attention.dtype != np.bool_:
            key = np.where(key, -np.inf, 0).astype(np.float32)
        return {
            "key_padding_mask": None if key is None else torch.from_numpy(key),
            "attn_mask": None if attention is None else torch.from_numpy(attention),
        }


def copy_parameters(layer: Any, module: nn.MultiheadAttention) -> None:
    weights = [as_torch(w.numpy()) for w in layer.weights]
    with torch.no_grad():
        if module.in_proj_weight is not None:
            module.in_proj_weight.copy_(torch.cat(weights[:3]))
        else:
            module.q_proj_weight.copy_(weights[0])
            module.k_proj_weight.copy_(weights[1])
            module.v_proj_weight.copy_(weights[2])
        module.out_proj.weight.copy_(weights[3])
        if layer.biases is not None:
            biases = [as_torch(b.numpy()) for b in layer.biases]
            module.in_proj_bias.copy_(torch.cat(biases[:3]))
            module.out_proj.bias.copy_(biases[3])
        if layer.attention_biases is not None:
            module.bias_k.copy_(as_torch(layer.attention_biases[0].numpy()))
            module.bias_v.copy_(as_torch(layer.attention_biases[1].numpy()))


def parameter_gradients(module: nn.MultiheadAttention) -> list[Array]:
    """In the order of the layer's parameters."""
    if module.in_proj_weight is not None:
        found = list(as_numpy(module.in_proj_weight.grad).reshape(3, WIDTH, -1))
    else:
        projections = [
            module.q_proj_weight, module.k_proj_weight, module.v_proj_weight
        ]  # fmt: skip
        found = [as_numpy(p.grad) for p in projections]
    found.append(as_numpy(module.out_proj.weight.grad))
    if module.in_proj_bias is not None:
        found += list(as_numpy(module.in_proj_bias.grad).reshape(3, WIDTH))
        found.append(as_numpy(module.out_proj.bias.grad))
    if module.bias_k is not None:
        found += [as_numpy(module.bias_k.grad), as_numpy(module.bias_v.grad)]
    return found


def check(
    rng: np.random.Generator,
    masks: Masks,
    widths: tuple[int, int] = (WIDTH, WIDTH),
    **options: bool,
) -> None:
    names = {
        "uses_biases": "bias",
        "uses_attention_biases": "add_bias_kv",
        "adds_zero_attention": "add_zero_attn",
    }
    module = nn.MultiheadAttention(
        WIDTH,
        HEADS,
        kdim=widths[0],
        vdim=widths[1],
        batch_first=True,
        **{names[option]: value for option, value in options.items()},
    )
    counts = [WIDTH] * 4 if options.get("uses_biases", True) else []
    added = [WIDTH] * 2 if options.get("uses_attention_biases") else []
    layer = tg.layers.MultiheadAttention(
        WIDTH,
        HEADS,
        biases=[random(rng, n) for n in counts] or None,
        attention_biases=[random(rng, n) for n in added] or None,
        key_source_dimension=widths[0],
        value_source_dimension=widths[1],
        **options,
    )
    copy_parameters(layer, module)
    sources = [
        random(rng, N, L, WIDTH),
        random(rng, N, S, widths[0]),
        random(rng, N, S, widths[1]),
    ]
    ours = Gradients(
        [*sources, *masks.ours],
        lambda graph, *tensors: graph.node(layer, list(tensors)),
        lambda shape: random(rng, *shape),
    )
    theirs = [as_torch(x, with_gradient=True) for x in sources]
    result, _ = module(*theirs, need_weights=False, **masks.theirs())
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    for got, tensor in zip(ours.of_sources, theirs, strict=False):
        np.testing.assert_allclose(got, as_numpy(tensor.grad), **TOLERANCE)
    expected = parameter_gradients(module)
    for tensor, want in zip(layer.parameters, expected, strict=True):
        got = ours.of(tensor.tensor)
        np.testing.assert_allclose(got, want.reshape(got.shape), **TOLERANCE)


@pytest.mark.parametrize("kind", KINDS)
def test_masks(rng: np.random.Generator, kind: str) -> None:
    check(rng, Masks.of(kind, rng))


@pytest.mark.parametrize("kind", ["none", "both", "hard by head"])
@pytest.mark.parametrize("adds_zero_attention", [False, True])
def test_added_rows(
    rng: np.random.Generator, kind: str, adds_zero_attention: bool
) -> None:
    check(
        rng,
        Masks.of(kind, rng),
        uses_attention_biases=True,
        adds_zero_attention=adds_zero_attention,
    )


def test_zero_attention_alone(rng: np.random.Generator) -> None:
    check(rng, Masks.of("key", rng), adds_zero_attention=True)


def test_without_biases(rng: np.random.Generator) -> None:
    check(rng, Masks.of("none", rng), uses_biases=False)


def test_sources_of_other_widths(rng: np.random.Generator) -> None:
    check(rng, Masks.of("key", rng), widths=(10, 6))


def attend(
    sources: Sequence[Array], gradient: Array, heads: int, **options: Any
) -> list[Array]:
    """Output and gradients of query, key and value, of the op."""
    ours = Gradients(
        sources,
        lambda graph, *tensors: graph.ops.attention(
            *tensors, head_count=heads, **options
        )[0],
        lambda _: gradient,
    )
    return [ours.result, *ours.of_sources]


def split(x: Array, heads: int) -> Array:
    """(N, length, heads * width) -> (N, heads, length, width)"""
    n, length, width = x.shape
    return x.reshape(n, length, heads, width // heads).swapaxes(1, 2)


def torch_attend(
    sources: Sequence[Array], gradient: Array, heads: int, dtype: Any
) -> list[Array]:
    tensors = [
        as_torch(split(x, heads).astype(dtype), with_gradient=True) for x in sources
    ]
    result = F.scaled_dot_product_attention(*tensors)
    result.backward(as_torch(split(gradient, heads).astype(dtype)))
    return [as_numpy(result), *(as_numpy(t.grad) for t in tensors)]


# Spread of queries and keys, and mean of the queries: scores of up to some 1,000.
@pytest.mark.parametrize(("spread", "mean"), [(1, 0), (6, 0), (1, 20), (0.01, 100)])
@pytest.mark.parametrize("sizes", [(2, 2, 40, 30, 16), (1, 2, 100, 3000, 64)])
def test_accuracy(
    rng: np.random.Generator,
    spread: float,
    mean: float,
    sizes: tuple[int, int, int, int, int],
) -> None:
    """Errors against float64 are at most twice PyTorch's."""
    n, heads, queries, keys, width = sizes
    sources = [
        (spread * random(rng, n, queries, heads * width) + mean).astype(np.float32),
        (spread * random(rng, n, keys, heads * width)).astype(np.float32),
        random(rng, n, keys, heads * width),
    ]
    gradient = random(rng, n, queries, heads * width)
    exact = torch_attend(sources, gradient, heads, np.float64)
    theirs = torch_attend(sources, gradient, heads, np.float32)
    ours = [split(x, heads) for x in attend(sources, gradient, heads)]
    for x, y, z in zip(ours, theirs, exact, strict=True):
        error, allowed = (np.sqrt(np.mean((v - z) ** 2)) for v in (x, y))
        assert error <= 2 * allowed + 1e-8 * np.abs(z).max()
