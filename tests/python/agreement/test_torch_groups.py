# SPDX-License-Identifier: MIT
"""Parameter groups and micro-batches against PyTorch.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from .torch_support import as_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS, SAMPLES, SIZES = 12, 16, (6, 9, 4)
RATE, SCALE, OTHER_DECAY = 4e-3, 0.3, 0.02

# Ours with a decay, and PyTorch's with the same.
OPTIMIZERS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "sgd": (
        lambda: tg.optimizers.SGD(
            RATE, 0.9, regularization_type="l2", regularization_scale=0.1
        ),
        lambda groups: torch.optim.SGD(groups, RATE, momentum=0.9, weight_decay=0.1),
    ),
    "adam": (
        lambda: tg.optimizers.Adam(
            RATE,
            epsilon=1e-12,
            regularization_type="l2",
            regularization_scale=0.1,
        ),
        lambda groups: torch.optim.Adam(groups, RATE, eps=1e-12, weight_decay=0.1),
    ),
    "adamw": (
        lambda: tg.optimizers.AdamW(RATE, epsilon=1e-12, regularization_scale=0.1),
        lambda groups: torch.optim.AdamW(groups, RATE, eps=1e-12, weight_decay=0.1),
    ),
    "rmsprop": (
        lambda: tg.optimizers.RMSProp(
            RATE,
            0.5,
            epsilon=1e-3,
            regularization_type="l2",
            regularization_scale=0.1,
        ),
        lambda groups: torch.optim.RMSprop(
            groups, RATE, momentum=0.5, eps=1e-3, weight_decay=0.1
        ),
    ),
}


class Twins:
    """Two dense layers with tanh between, here and in PyTorch."""

    def __init__(self, optimizer: Any, *, is_grouped: bool) -> None:
        rng = np.random.default_rng(5)
        self.x = rng.normal(size=(SAMPLES, SIZES[0])).astype(np.float32)
        self.y = rng.normal(size=(SAMPLES, SIZES[2])).astype(np.float32)
        x = tg.Tensor(self.x.shape, name="x")
        label = tg.Tensor(self.y.shape, name="y")
        graph = tg.Graph()
        self.layers, modules, y = [], [], x
        for i, (inner, outer) in enumerate(pairwise(SIZES)):
            module = torch.nn.Linear(inner, outer)
            layer = tg.layers.FullyConnected(
                weights=module.weight.detach().numpy(),
                biases=module.bias.detach().numpy(),
            )
            y = graph.node(layer, y)
            if i == 0:
                y = graph.node(tg.layers.Tanh(), y)
            self.layers.append(layer)
            modules += [module, torch.nn.Tanh()] if i == 0 else [module]
        self.module = torch.nn.Sequential(*modules)
        self.training = tg.TrainingGraph(
            [graph], tg.losses.MeanSquaredError(), optimizer
        )
        self.training.add_inputs({"x": x}, {"y": label})
        if is_grouped:
            first, second = self.layers
            self.training.set_parameter_groups(
                [
                    tg.ParameterGroup([first.weights, first.biases], SCALE),
                    tg.ParameterGroup([second.biases], weight_decay=0),
                    tg.ParameterGroup([second.weights], 2.0, OTHER_DECAY),
                ]
            )
        self.training.compile("cpu", accumulate_gradients=True)

    def their_groups(self) -> list[dict[str, Any]]:
        first, second = self.module[0], self.module[2]
        return [
            {"params": list(first.parameters()), "lr": SCALE * RATE},
            {"params": [second.bias], "weight_decay": 0},
            {"params": [second.weight], "lr": 2 * RATE, "weight_decay": OTHER_DECAY},
        ]

    def assert_same(self, tolerance: float) -> None:
        ours = [t for layer in self.layers for t in (layer.weights, layer.biases)]
        for tensor, parameter in zip(ours, self.module.parameters(), strict=True):
            np.testing.assert_allclose(
                tensor.numpy().reshape(parameter.shape),
                as_numpy(parameter),
                atol=tolerance,
            )


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_groups(name: str) -> None:
    ours, theirs = OPTIMIZERS[name]
    twins = Twins(ours(), is_grouped=True)
    optimizer = theirs(twins.their_groups())
    x, y = torch.from_numpy(twins.x), torch.from_numpy(twins.y)
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(twins.module(x), y).backward()
        optimizer.step()
        twins.training.execute({"x": twins.x}, {"y": twins.y})
    twins.assert_same(2e-5)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_accumulation(name: str) -> None:
    ours, theirs = OPTIMIZERS[name]
    twins = Twins(ours(), is_grouped=False)
    optimizer = theirs(twins.module.parameters())
    x, y = torch.from_numpy(twins.x), torch.from_numpy(twins.y)
    for _ in range(STEPS):
        optimizer.zero_grad()
        for rows in (slice(0, 5), slice(5, 7), slice(7, 16)):
            size = rows.stop - rows.start
            loss = torch.nn.functional.mse_loss(twins.module(x[rows]), y[rows])
            (loss * (size / SAMPLES)).backward()
            twins.training.execute_forward(
                {"x": twins.x[rows]}, {"y": twins.y[rows]}, batch_size=size
            )
            twins.training.execute_gradient(accumulate=True)
        optimizer.step()
        twins.training.execute_optimizer_update()
    twins.assert_same(2e-5)
