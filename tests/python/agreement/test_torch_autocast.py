# SPDX-License-Identifier: MIT
"""Gradients in 16 bits beside PyTorch's autocast, both against float64.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn

import traingraph as tg

from .torch_support import Twins, as_numpy, as_torch

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]
    Pairs = list[tuple[Any, nn.Module]]


def dense(depth: int) -> Callable[[], Pairs]:
    def build() -> Pairs:
        pairs: Pairs = [(tg.layers.FullyConnected(48, 96), nn.Linear(48, 96))]
        for _ in range(depth):
            pairs.append((tg.layers.ReLU(), nn.ReLU()))
            pairs.append((tg.layers.FullyConnected(96, 96), nn.Linear(96, 96)))
        pairs.append((tg.layers.FullyConnected(96, 10), nn.Linear(96, 10)))
        return pairs

    return build


def images(*, norm: bool, channels: int = 16) -> Callable[[], Pairs]:
    def build() -> Pairs:
        pairs: Pairs = []
        for fan_in in (1, channels):
            conv = tg.layers.Convolution(fan_in, channels, kernel_size=3)
            pairs.append((conv, nn.Conv2d(fan_in, channels, 3, padding="same")))
            if norm:
                layer = tg.layers.BatchNormalization(channels)
                pairs.append((layer, nn.BatchNorm2d(channels)))
            pairs.append((tg.layers.ReLU(), nn.ReLU()))
        pairs.append((tg.layers.MaxPooling(2), nn.MaxPool2d(2)))
        pairs.append((tg.layers.Flatten(), nn.Flatten()))
        size = channels * 4 * 4
        pairs.append((tg.layers.FullyConnected(size, 10), nn.Linear(size, 10)))
        return pairs

    return build


NETWORKS = {
    "dense1": (dense(1), (32, 48)),
    "dense4": (dense(4), (32, 48)),
    "images": (images(norm=False), (32, 1, 8, 8)),
    "odd_channels": (images(norm=False, channels=13), (32, 1, 8, 8)),
    "normalized": (images(norm=True), (32, 1, 8, 8)),
}
TYPES = {"mixed_bfloat16": torch.bfloat16, "mixed_float16": torch.float16}
SEEDS = range(5)


def distance(got: list[Array], exact: list[Array]) -> float:
    """Of all gradients together, relative."""
    difference = sum(
        float(np.sum((a - b) ** 2)) for a, b in zip(got, exact, strict=True)
    )
    return float(np.sqrt(difference / sum(float(np.sum(b**2)) for b in exact)))


def their_gradients(twins: Twins, dtype: torch.dtype) -> list[Array]:
    """In this type, float64 or as autocast mixes it, with a scaled loss."""
    scale = 1024.0
    keeps = copy.deepcopy(twins.module.state_dict())
    if dtype == torch.float64:
        twins.module.double()
        logits = twins.module(as_torch(twins.x).double())
    else:
        with torch.autocast("cpu", dtype=dtype):
            logits = twins.module(as_torch(twins.x))
    loss = nn.functional.cross_entropy(
        logits if dtype == torch.float64 else logits.float(), as_torch(twins.y)
    )
    twins.module.zero_grad()
    (loss * scale).backward()
    found = [as_numpy(p.grad) / scale for _, p, _ in twins.matches]
    twins.module.float()
    twins.module.load_state_dict(keeps)
    return found


@pytest.mark.parametrize("precision", TYPES)
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_are_as_good(name: str, precision: str) -> None:
    """At most 1.5 times autocast's error, over several draws: of one draw the ratio
    is that of two random numbers."""
    build, shape = NETWORKS[name]
    ours, theirs = 0.0, 0.0
    for seed in SEEDS:
        tg.set_seed(seed + 1)
        rng = np.random.default_rng(seed)
        x = rng.standard_normal(shape).astype(np.float32)
        y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, shape[0])]
        twins = Twins(build(), (x, y), precision=precision)
        if precision == "mixed_float16":
            twins.training.loss_scale = 1024
        twins.training.execute_forward({"x": x}, {"y": y})
        twins.training.execute_gradient().wait()
        got = [
            twins.training.gradient(t).astype(np.float64) for t, _, _ in twins.matches
        ]
        exact = their_gradients(twins, torch.float64)
        ours += distance(got, exact)
        theirs += distance(their_gradients(twins, TYPES[precision]), exact)
    print(
        f"{name} {precision}: {ours / len(SEEDS):.2e}, PyTorch {theirs / len(SEEDS):.2e}"
    )
    assert ours <= 1.5 * theirs
