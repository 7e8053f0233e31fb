# SPDX-License-Identifier: MIT
"""Networks as people write them in PyTorch, of which benchmarks/imported.py makes ONNX
files. None was written with this library in mind."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional as F

if TYPE_CHECKING:
    from collections.abc import Callable


class InvertedResidual(nn.Module):
    """Of MobileNetV2."""

    def __init__(self, c_in: int, c_out: int, stride: int, expansion: int) -> None:
        super().__init__()
        hidden = c_in * expansion
        self.is_residual = stride == 1 and c_in == c_out
        parts: list[nn.Module] = []
        if expansion != 1:
            parts += [nn.Conv2d(c_in, hidden, 1, bias=False)]
            parts += [nn.BatchNorm2d(hidden), nn.ReLU6()]
        parts += [nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False)]
        parts += [nn.BatchNorm2d(hidden), nn.ReLU6()]
        parts += [nn.Conv2d(hidden, c_out, 1, bias=False), nn.BatchNorm2d(c_out)]
        self.body = nn.Sequential(*parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.is_residual else self.body(x)


def mobile_net() -> nn.Module:
    """MobileNetV2, width 1, 100 classes."""
    blocks = [
        *((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2)),
        *((6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)),
    ]
    parts: list[nn.Module] = [nn.Conv2d(3, 32, 3, 2, 1, bias=False)]
    parts += [nn.BatchNorm2d(32), nn.ReLU6()]
    c_in = 32
    for expansion, c_out, count, stride in blocks:
        for i in range(count):
            parts += [InvertedResidual(c_in, c_out, stride if i == 0 else 1, expansion)]
            c_in = c_out
    parts += [nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6()]
    parts += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 100)]
    return nn.Sequential(*parts)


class DoubleConv(nn.Module):
    def __init__(self, c_in: int, c_out: int) -> None:
        super().__init__()
        self.first, self.second = (
            nn.Conv2d(c_in, c_out, 3, padding=1),
            nn.Conv2d(c_out, c_out, 3, padding=1),
        )
        self.norm, self.last_norm = nn.GroupNorm(8, c_out), nn.GroupNorm(8, c_out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.silu(self.norm(self.first(x)))
        return F.silu(self.last_norm(self.second(x)))


class UNet(nn.Module):
    def __init__(self, widths: tuple[int, ...] = (32, 64, 128)) -> None:
        super().__init__()
        self.down = nn.ModuleList()
        c_in = 3
        for width in widths:
            self.down.append(DoubleConv(c_in, width))
            c_in = width
        self.up = nn.ModuleList()
        self.join = nn.ModuleList()
        for width in reversed(widths[:-1]):
            self.up.append(nn.ConvTranspose2d(c_in, width, 2, 2))
            self.join.append(DoubleConv(2 * width, width))
            c_in = width
        self.head = nn.Conv2d(c_in, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for block in self.down[:-1]:
            x = block(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.down[-1](x)
        for up, join in zip(self.up, self.join, strict=True):
            x = join(torch.cat([up(x), kept.pop()], 1))
        return self.head(x)


class DilatedBlock(nn.Module):
    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(
            channels, channels, 3, padding=dilation, dilation=dilation
        )
        self.norm = nn.BatchNorm1d(channels)
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mix(F.relu(self.norm(self.conv(x))))


def dilated_stack() -> nn.Module:
    blocks = [DilatedBlock(64, 2**i) for i in range(6)]
    return nn.Sequential(nn.Conv1d(4, 64, 1), *blocks, nn.Conv1d(64, 4, 1))


class GatedBlock(nn.Module):
    """Of WaveNet."""

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(
            channels, 2 * channels, 3, padding=dilation, dilation=dilation
        )
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.conv(x).chunk(2, 1)
        return x + self.mix(torch.tanh(a) * torch.sigmoid(b))


def wave_net() -> nn.Module:
    blocks = [GatedBlock(48, 2**i) for i in range(6)]
    return nn.Sequential(nn.Conv1d(4, 48, 1), *blocks, nn.Conv1d(48, 4, 1))


class Block(nn.Module):
    """Of GPT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, t, width = x.shape
        q, k, v = (
            part.view(n, t, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm(x)).split(width, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(n, t, width))
        return x + self.mlp(self.last_norm(x))


class Gpt(nn.Module):
    def __init__(self, tokens: int = 512, width: int = 192, length: int = 128) -> None:
        super().__init__()
        self.embed = nn.Embedding(tokens, width)
        self.position = nn.Parameter(0.02 * torch.randn(1, length, width))
        self.blocks = nn.Sequential(*(Block(width, 6) for _ in range(4)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 64)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) + self.position
        return self.head(self.norm(self.blocks(x)))


def autoencoder() -> nn.Module:
    sizes = (784, 512, 128, 32, 128, 512, 784)
    parts: list[nn.Module] = []
    for fan_in, fan_out in itertools.pairwise(sizes):
        parts += [nn.Linear(fan_in, fan_out), nn.LeakyReLU(0.1)]
    return nn.Sequential(*parts[:-1], nn.Sigmoid())


class TabularBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.first, self.second = (
            nn.Linear(width, 2 * width),
            nn.Linear(2 * width, width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.second(F.relu(self.first(self.norm(x))))


def tabular() -> nn.Module:
    blocks = [TabularBlock(128) for _ in range(4)]
    return nn.Sequential(
        nn.Linear(40, 128), *blocks, nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 8)
    )


class ConvNextBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.first, self.second = (
            nn.Linear(width, 4 * width),
            nn.Linear(4 * width, width),
        )
        self.scale = nn.Parameter(0.1 * torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.conv(x).permute(0, 2, 3, 1))
        y = self.scale * self.second(F.gelu(self.first(y)))
        return x + y.permute(0, 3, 1, 2)


def conv_next() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 48, 4, 4),
        ConvNextBlock(48),
        ConvNextBlock(48),
        nn.Conv2d(48, 96, 2, 2),
        ConvNextBlock(96),
        ConvNextBlock(96),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(96, 10),
    )


@dataclass(frozen=True)
class Network:
    make: Callable[[], nn.Module]
    sample: tuple[int, ...]
    batch: int
    tokens: int = 0
    """Samples are numbers below it; 0: floats."""

    def data(self) -> tuple[torch.Tensor, torch.Tensor]:
        """A batch and what the network shall make of it."""
        torch.manual_seed(1)
        shape = (self.batch, *self.sample)
        x = torch.randint(self.tokens, shape) if self.tokens else torch.randn(shape)
        with torch.no_grad():
            size = self.make().train()(x).shape
        return x, torch.rand(size)


NETWORKS = {
    "mobilenet": Network(mobile_net, (3, 96, 96), 8),
    "unet": Network(UNet, (3, 48, 48), 4),
    "dilated": Network(dilated_stack, (4, 512), 16),
    "gpt": Network(Gpt, (128,), 4, tokens=512),
    "autoencoder": Network(autoencoder, (784,), 64),
    "tabular": Network(tabular, (40,), 256),
    "wavenet": Network(wave_net, (4, 512), 16),
    "convnext": Network(conv_next, (3, 64, 64), 8),
}
