# SPDX-License-Identifier: MIT
"""A network of filter nodes against PyTorch: losses, gradients, three steps.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import nodes

torch = pytest.importorskip("torch", reason="PyTorch is optional")

from torch import nn
from torch.nn import functional as F

from .torch_support import as_numpy, as_torch

Array = np.ndarray[Any, Any]

N, RATE = 8, 0.01

# Both sum up to 500 float32 products near 1, in their own order.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-5}


class Net(nn.Module):
    """Convolution, batch normalization, ELU, LRN, pooling, dense."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8, eps=1e-3, momentum=0.1)
        self.dense = nn.Linear(8 * 3 * 3, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.elu(self.norm(self.conv(x)), alpha=0.5)
        # PyTorch's window is the mirror image of MPSNN's when it is even.
        h = F.local_response_norm(h, 5, alpha=0.1, beta=0.75, k=1.5)
        h = F.avg_pool2d(h, 2)
        return self.dense(h.flatten(1))


def ohwi(weights: Array) -> Array:
    return np.ascontiguousarray(weights.transpose(0, 2, 3, 1))


def dense_weights(net: Net) -> Array:
    """(out, channels * pixels) as a kernel that covers the image."""
    return ohwi(as_numpy(net.dense.weight).reshape(5, 8, 3, 3))


class NodeNet:
    """The same as nodes, with the same parameters."""

    def __init__(self, net: Net) -> None:
        sgd = tg.optimizers.SGD(RATE)
        self.conv = nodes.ConvolutionData(
            ohwi(as_numpy(net.conv.weight)), as_numpy(net.conv.bias), optimizer=sgd
        )
        self.norm = nodes.NormalizationData(
            8,
            as_numpy(net.norm.weight),
            as_numpy(net.norm.bias),
            epsilon=1e-3,
            momentum=0.9,
            optimizer=sgd,
        )
        self.dense = nodes.ConvolutionData(
            dense_weights(net), as_numpy(net.dense.bias), optimizer=sgd
        )
        x = nodes.ImageNode("x", (3, 6, 6))
        t = nodes.ImageNode("t", (5, 1, 1))
        h = nodes.ConvolutionNode(x, self.conv).result_image
        h = nodes.BatchNormalizationNode(h, self.norm).result_image
        h = nodes.ELUNode(h, 0.5).result_image
        h = nodes.CrossChannelNormalizationNode(
            h, 5, alpha=0.1, beta=0.75, delta=1.5
        ).result_image
        h = nodes.PoolingAverageNode(h, 2).result_image
        h = nodes.FullyConnectedNode(h, self.dense).result_image
        loss = nodes.LossNode(
            h, t, nodes.LossDescriptor("softmax_cross_entropy", "sum")
        )
        loss.loss_image.handle = "loss"
        (leaf,) = loss.training_graph()
        leaf.result_image.handle = "dx"
        self.graph = nodes.Graph("cpu", [leaf.result_image], batch_size=N)


def test_a_network(rng: np.random.Generator) -> None:
    torch.manual_seed(3)
    net = Net()
    ours = NodeNet(net)
    optimizer = torch.optim.SGD(net.parameters(), RATE)
    for _ in range(3):
        x = rng.standard_normal((N, 3, 6, 6), np.float32)
        t = np.eye(5, dtype=np.float32)[rng.integers(0, 5, N)]
        source = as_torch(x, with_gradient=True)
        optimizer.zero_grad()
        loss = F.cross_entropy(net(source), as_torch(t), reduction="none")
        loss.sum().backward()
        result = ours.graph.execute({"x": x, "t": t[:, :, None, None]}).result()
        np.testing.assert_allclose(
            result.output("loss").ravel(), as_numpy(loss), **TOLERANCE
        )
        np.testing.assert_allclose(
            result.output("dx"), as_numpy(source.grad), **TOLERANCE
        )
        optimizer.step()
    conv, dense = (ours.graph.weights(data) for data in (ours.conv, ours.dense))
    norm = ours.graph.parameters(ours.norm)
    for got, want in [
        (conv["weights"], ohwi(as_numpy(net.conv.weight))),
        (conv["biases"], as_numpy(net.conv.bias)),
        (dense["weights"], dense_weights(net)),
        (dense["biases"], as_numpy(net.dense.bias)),
        (norm["gamma"], as_numpy(net.norm.weight)),
        (norm["beta"], as_numpy(net.norm.bias)),
        (norm["mean"], as_numpy(net.norm.running_mean)),
        (norm["variance"], as_numpy(net.norm.running_var)),
    ]:
        np.testing.assert_allclose(got, want, **TOLERANCE)
