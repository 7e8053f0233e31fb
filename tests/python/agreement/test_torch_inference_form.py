# SPDX-License-Identifier: MIT
"""Normalizations in inference form beside PyTorch's in eval(), in models that train.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn
from torch.nn import functional as F

import traingraph as tg
from traingraph import layers

# No threads to wait for.
torch.set_num_threads(1)


def make(rng: np.random.Generator, shape: tuple[int, ...], **options: Any) -> Any:
    """Two normalizations, the first in inference form, and the same in PyTorch."""
    x, y = tg.Tensor(shape, name="x"), tg.Tensor((shape[0], 4), name="y")
    graph = tg.Graph()
    frozen = layers.BatchNormalization(momentum=0.9, name="frozen")
    graph.sequence(
        x,
        layers.Convolution(6, kernel_size=3, name="conv"),
        frozen,
        layers.ReLU(),
        layers.BatchNormalization(momentum=0.9, name="norm"),
        layers.Flatten(),
        layers.FullyConnected(4, name="fc"),
    )
    frozen.uses_inference_form = True
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.05, 0.9)
    )
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu", compute_all_gradients=True, **options)
    training.load_state_dict(
        training.state_dict()
        | {
            "frozen.mean": rng.normal(0, 0.5, 6).astype(np.float32),
            "frozen.variance": rng.uniform(0.5, 2, 6).astype(np.float32),
            "frozen.gamma": rng.uniform(0.5, 2, 6).astype(np.float32),
            "frozen.beta": rng.normal(0, 1, 6).astype(np.float32),
        }
    )
    twin = nn.Sequential(
        nn.Conv2d(shape[1], 6, 3, padding="same"),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.BatchNorm2d(6),
        nn.Flatten(),
        nn.Linear(6 * shape[2] * shape[3], 4),
    )
    for name, value in pairs(training, twin).items():
        with torch.no_grad():
            value.copy_(torch.from_numpy(training.state_dict()[name]))
    twin.train()
    twin[1].eval()
    return training, x, twin


def pairs(training: tg.TrainingGraph, twin: nn.Sequential) -> dict[str, Any]:
    conv, frozen, _, norm, _, fc = twin
    found = {
        "conv.weights": conv.weight,
        "conv.biases": conv.bias,
        "fc.weights": fc.weight,
        "fc.biases": fc.bias,
    }
    for name, module in (("frozen", frozen), ("norm", norm)):
        found[f"{name}.gamma"] = module.weight
        found[f"{name}.beta"] = module.bias
        found[f"{name}.mean"] = module.running_mean
        found[f"{name}.variance"] = module.running_var
    assert found.keys() == training.state_dict().keys()
    return found


@pytest.mark.parametrize("fuses", [True, False])
@pytest.mark.parametrize("shape", [(8, 3, 5, 5), (1, 3, 4, 2)])
def test_training_with_running_statistics(
    rng: np.random.Generator, shape: tuple[int, ...], fuses: bool
) -> None:
    training, source, twin = make(rng, shape, disable_layer_fusion=not fuses)
    before = training.state_dict()
    optimizer = torch.optim.SGD(twin.parameters(), 0.05, momentum=0.9)
    for _ in range(3):
        x = rng.standard_normal(shape, dtype=np.float32)
        y = rng.standard_normal((shape[0], 4), dtype=np.float32)
        given = torch.from_numpy(x).requires_grad_()
        loss = F.mse_loss(twin(given), torch.from_numpy(y))
        optimizer.zero_grad()
        loss.backward()
        ours = training.execute_forward({"x": x}, {"y": y}).result().loss
        training.execute_gradient()
        assert ours == pytest.approx(loss.item(), rel=1e-4)
        np.testing.assert_allclose(
            training.gradient_tensor(source).numpy(), given.grad, rtol=1e-3, atol=1e-5
        )
        for parameter in training.parameters:
            theirs = pairs(training, twin)[parameter.name].grad
            np.testing.assert_allclose(
                training.gradient_data(parameter), theirs, rtol=1e-3, atol=1e-5
            )
        training.execute_optimizer_update()
        optimizer.step()
    after = training.state_dict()
    for name, value in pairs(training, twin).items():
        np.testing.assert_allclose(after[name], value.detach(), rtol=1e-3, atol=1e-4)
    for name in ("frozen.mean", "frozen.variance"):
        np.testing.assert_array_equal(after[name], before[name])
    assert not np.array_equal(after["norm.mean"], before["norm.mean"])
