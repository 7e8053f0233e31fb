# SPDX-License-Identifier: MIT
"""Upsampling, windows in ceil mode and over sequences, against PyTorch.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn
from torch.nn import functional as F

from .torch_support import Gradients, as_numpy, as_torch, copy_weights

if TYPE_CHECKING:
    from collections.abc import Callable

# Both sum float32 products, up to some 100 of them near 1, in their own order.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-5}

Layers = tg.layers


def random(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, np.float32)


def check(
    rng: np.random.Generator,
    layer: tg.layers.Layer,
    reference: Callable[[torch.Tensor], torch.Tensor],
    *shape: int,
) -> Gradients:
    x = random(rng, *shape)
    ours = Gradients(
        [x], lambda graph, s: graph.node(layer, s), lambda s: random(rng, *s)
    )
    source = as_torch(x, with_gradient=True)
    result = reference(source)
    result.backward(as_torch(ours.gradient))
    np.testing.assert_allclose(ours.result, as_numpy(result), **TOLERANCE)
    np.testing.assert_allclose(ours.of_sources[0], as_numpy(source.grad), **TOLERANCE)
    return ours


# Whole ratios, others, the same size, down and single samples.
SIZES = [(14, 12), (10, 9), (7, 6), (3, 4), (1, 13), (21, 1)]


@pytest.mark.parametrize("size", SIZES)
def test_nearest(rng: np.random.Generator, size: tuple[int, int]) -> None:
    # PyTorch's "nearest" takes samples at floor(i in / out) instead.
    check(
        rng,
        Layers.Upsample(size),
        lambda x: F.interpolate(x, size, mode="nearest-exact"),
        *(2, 3, 7, 6),
    )


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_bilinear(
    rng: np.random.Generator, size: tuple[int, int], aligned: bool
) -> None:
    check(
        rng,
        Layers.Upsample(size, "linear", aligned),
        lambda x: F.interpolate(x, size, mode="bilinear", align_corners=aligned),
        *(2, 3, 7, 6),
    )


@pytest.mark.parametrize("aligned", [False, True])
def test_linear_of_sequences(rng: np.random.Generator, aligned: bool) -> None:
    check(
        rng,
        Layers.Upsample(17, "linear", aligned),
        lambda x: F.interpolate(x, 17, mode="linear", align_corners=aligned),
        *(2, 3, 7),
    )


def test_nearest_by_whole_factors_is_both_of_pytorchs(rng: np.random.Generator) -> None:
    check(
        rng,
        Layers.Upsample((14, 18)),
        lambda x: F.interpolate(x, scale_factor=(2, 3), mode="nearest"),
        *(2, 3, 7, 6),
    )


def error_of(got: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(got - expected).max())


@pytest.mark.parametrize(
    ("shape", "size"), [((1, 1), (999, 1001)), ((40, 3), (9, 900))]
)
def test_gradients_are_as_accurate(
    rng: np.random.Generator, shape: tuple[int, int], size: tuple[int, int]
) -> None:
    """At most twice PyTorch's error, in sums of up to a million."""
    ours = Gradients(
        [random(rng, 1, 2, *shape)],
        lambda graph, s: graph.node(Layers.Upsample(size, "linear"), s),
        lambda s: random(rng, *s) + 1,
    )

    def gradient(dtype: torch.dtype) -> np.ndarray:
        x = torch.zeros((1, 2, *shape), dtype=dtype, requires_grad=True)
        y = F.interpolate(x, size, mode="bilinear", align_corners=False)
        y.backward(as_torch(ours.gradient).to(dtype))
        return as_numpy(x.grad)

    exact = gradient(torch.float64)
    theirs = error_of(gradient(torch.float32), exact)
    rounding = np.abs(exact).max() * 1e-7
    assert error_of(ours.of_sources[0], exact) <= 2 * theirs + rounding


def windows(rng: np.random.Generator) -> tuple[int, int, int, int]:
    """Kernel, stride, padding and size of one axis, as PyTorch takes them."""
    kernel = int(rng.integers(1, 5))
    stride = int(rng.integers(1, 5))
    padding = int(rng.integers(0, kernel // 2 + 1))
    return kernel, stride, padding, int(rng.integers(kernel, 12))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", ["max", "average", "average with padding", "l2_norm"])
def test_ceil_mode(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel, stride, padding, size = zip(windows(rng), windows(rng), strict=True)
    if kind == "l2_norm":
        padding = (0, 0)  # PyTorch has none
    counts = kind == "average with padding"
    layer = Layers.Pooling(
        kind.split(maxsplit=1)[0],
        kernel,
        stride,
        padding,
        count_includes_padding=counts,
        ceil_mode=True,
    )
    assert layer.descriptor.ceil_mode

    def reference(x: torch.Tensor) -> torch.Tensor:
        if kind == "max":
            return F.max_pool2d(x, kernel, stride, padding, ceil_mode=True)
        if kind == "l2_norm":
            # As PyTorch's lp_pool2d, but whatever its average counts.
            squares = F.avg_pool2d(
                F.pad(x**2, (0, 9, 0, 9)), kernel, stride, divisor_override=1
            )
            shape = F.max_pool2d(x, kernel, stride, ceil_mode=True).shape
            return squares[:, :, : shape[2], : shape[3]].sqrt()
        return F.avg_pool2d(x, kernel, stride, padding, True, counts)

    check(rng, layer, reference, 2, 3, *size)


@pytest.mark.parametrize("seed", range(4))
def test_ceil_mode_with_dilation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dilation, stride = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    check(
        rng,
        Layers.MaxPooling(3, stride, 1, dilation_rates=dilation, ceil_mode=True),
        lambda x: F.max_pool2d(x, 3, stride, 1, dilation, ceil_mode=True),
        *(2, 3, 10 + seed, 13 - seed),
    )


SEQUENCES: dict[str, tuple[tg.layers.Layer, Callable[..., torch.Tensor]]] = {
    "max": (Layers.MaxPooling(3, 2, 1), lambda x: F.max_pool1d(x, 3, 2, 1)),
    "average": (
        Layers.AveragePooling(4, 3, 2, True, ceil_mode=True),
        lambda x: F.avg_pool1d(x, 4, 3, 2, ceil_mode=True),
    ),
    "l2 norm": (Layers.L2NormPooling((1, 3)), lambda x: F.lp_pool1d(x, 2.0, 3)),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_pooling_of_sequences(rng: np.random.Generator, name: str) -> None:
    layer, reference = SEQUENCES[name]
    check(rng, layer, reference, 2, 3, 12)


@pytest.mark.parametrize(
    "options",
    [{}, {"stride": 2, "padding": 2}, {"dilation": 3, "padding": 1}, {"groups": 2}],
)
@pytest.mark.parametrize("is_transposed", [False, True])
def test_convolution_of_sequences(
    rng: np.random.Generator, is_transposed: bool, options: dict[str, Any]
) -> None:
    kind = nn.ConvTranspose2d if is_transposed else nn.Conv2d
    layer = Layers.Convolution(
        4,
        6,
        (1, 3),
        convolution_type="transposed" if is_transposed else "standard",
        strides=options.get("stride", 1),
        dilation_rates=options.get("dilation", 1),
        group_count=options.get("groups", 1),
        padding=options.get("padding", 0),
    )
    module = kind(
        4,
        6,
        (1, 3),
        **{
            k: v if k == "groups" else (int(k != "padding"), v)
            for k, v in options.items()
        },
    )
    copy_weights(layer, module)
    # An image of one row, which PyTorch calls by another name.
    ours = check(rng, layer, lambda x: module(x[:, :, None])[:, :, 0], 2, 4, 11)
    np.testing.assert_allclose(
        ours.of(layer.biases), as_numpy(module.bias.grad), **TOLERANCE
    )


@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_gram_matrix(rng: np.random.Generator, scale: float) -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        maps = x.flatten(2)
        return (scale * maps @ maps.mT)[:, :, None]

    check(rng, Layers.GramMatrix(scale), reference, 2, 5, 6, 7)
