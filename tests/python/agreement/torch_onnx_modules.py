# SPDX-License-Identifier: MIT
"""PyTorch modules of a few families, and their files from both exporters."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BATCH = 4


class ResidualBlock(nn.Module):
    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(
            channels_in, channels, 3, stride=stride, padding=1, bias=False
        )
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.relu = nn.ReLU()
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False),
                nn.BatchNorm2d(channels),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(y)) + self.downsample(x))


def resnet18(width: int = 8) -> nn.Module:
    """ResNet-18 with `width` channels at the first stage, for small images."""
    stages: list[nn.Module] = [
        nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.MaxPool2d(3, stride=2, padding=1),
    ]
    channels = width
    for stage in range(4):
        for block in range(2):
            stride = 2 if stage > 0 and block == 0 else 1
            stages.append(ResidualBlock(channels, width << stage, stride))
            channels = width << stage
    stages += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)]
    return nn.Sequential(*stages)


def lenet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.Tanh(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.Tanh(),
        nn.Linear(120, 10),
    )


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 16), nn.GELU(), nn.Linear(16, 5)
    )


class SequenceClassifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(6, 9, batch_first=True)
        self.head = nn.Linear(9, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output, _ = self.lstm(x)
        return self.head(output[:, -1])


class TransformerBlock(nn.Module):
    def __init__(self, width: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.embedding = nn.Embedding(11, width)
        self.head = nn.Linear(width, 7)

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        samples, length, width = x.shape
        split = self.qkv(x).view(samples, length, 3, self.heads, -1)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out(y.transpose(1, 2).reshape(samples, length, width))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        x = x + self.attention(self.norm1(x))
        x = x + self.down(nn.functional.gelu(self.up(self.norm2(x))))
        return self.head(x.mean(dim=1))


@dataclass
class Family:
    make: Callable[[], nn.Module]
    example: Callable[[], torch.Tensor]


FAMILIES = {
    "mlp": Family(mlp, lambda: torch.randn(BATCH, 12)),
    "lenet": Family(lenet, lambda: torch.randn(BATCH, 1, 28, 28)),
    "resnet18": Family(resnet18, lambda: torch.randn(BATCH, 3, 64, 64)),
    "lstm": Family(SequenceClassifier, lambda: torch.randn(BATCH, 5, 6)),
    "transformer": Family(
        TransformerBlock, lambda: torch.randint(0, 11, (BATCH, 6), dtype=torch.int64)
    ),
}


class Gated(nn.Module):
    """Squeeze and excitation, as mobile networks have it."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(6, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.Hardswish()
        )
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.down, self.up = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = nn.functional.relu6(self.depthwise(self.stem(x)))
        y = nn.functional.relu(self.down(nn.functional.adaptive_avg_pool2d(x, 1)))
        return x * nn.functional.hardsigmoid(self.up(y))


class AroundAndBack(nn.Module):
    """A way down and up again, and one around it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.inner = nn.Conv2d(6, 8, 3, padding=1), nn.Conv2d(8, 8, 3)
        self.up, self.last = nn.ConvTranspose2d(8, 6, 4, 2), nn.Conv2d(12, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        down = nn.functional.max_pool2d(self.first(x), 2)
        up = self.up(nn.functional.leaky_relu(self.inner(down)))
        up = nn.functional.interpolate(up, scale_factor=1.2, mode="bilinear")
        return self.last(torch.cat([x, up], 1))


class Last(nn.Module):
    """The output, or the states, of a recurrent layer."""

    def __init__(self, layer: nn.Module, part: int) -> None:
        super().__init__()
        self.layer, self.part = layer, part

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[self.part]


class Products(nn.Module):
    """Einsum, a mask, GELU, and shapes that are computed."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = torch.einsum("btc,bsc->bts", self.inner(x), x)
        hidden = torch.triu(torch.ones(x.shape[1], x.shape[1]), 1).bool()
        weights = scores.masked_fill(hidden, -1e4).softmax(-1)
        y = nn.functional.gelu(weights @ x).permute(0, 2, 1)
        return y.reshape(x.shape[0], -1).unsqueeze(1).expand(-1, 2, -1)[:, :, ::3]


def images() -> torch.Tensor:
    return torch.randn(BATCH, 6, 12, 12)


def sequences() -> torch.Tensor:
    return torch.randn(BATCH, 7, 8)


# Forward alone, in several versions of the format.
MORE = {
    "gated": Family(Gated, images),
    "around": Family(AroundAndBack, images),
    "norms": Family(
        lambda: nn.Sequential(
            nn.GroupNorm(3, 6), nn.SiLU(), nn.InstanceNorm2d(6, affine=True), nn.Mish()
        ),
        images,
    ),
    "gru": Family(
        lambda: Last(nn.GRU(8, 5, batch_first=True, bidirectional=True), 0), sequences
    ),
    "rnn": Family(lambda: Last(nn.RNN(8, 5, batch_first=True), 1), sequences),
    "products": Family(Products, sequences),
    "encoder": Family(
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), sequences
    ),
}


def export(
    module: nn.Module,
    example: torch.Tensor,
    path: Path,
    *,
    dynamo: bool,
    opset: int | None = None,
) -> None:
    """In the form that trains: normalizations are kept, not folded."""
    options: dict[str, Any] = {
        "input_names": ["x"],
        "output_names": ["y"],
        "dynamo": dynamo,
        "opset_version": opset,
    }
    if dynamo:
        options |= {"dynamic_shapes": ({0: torch.export.Dim("batch")},)}
        options |= {"external_data": False, "verbose": False}
    else:
        options |= {"dynamic_axes": {"x": {0: "batch"}, "y": {0: "batch"}}}
        options |= {
            "do_constant_folding": False,
            "training": torch.onnx.TrainingMode.PRESERVE,
        }
    with warnings.catch_warnings():
        # The exporters tell of their own plans.
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (example,), str(path), **options)
