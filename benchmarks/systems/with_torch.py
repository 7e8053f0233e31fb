# SPDX-License-Identifier: MIT
"""The workloads in PyTorch. Variants: "channels-last", "compile", both, none.

Mixed precision is autocast, as its documentation has it: around the forward pass
and the loss, with a GradScaler for float16.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING

import torch
from torch import nn
from workloads import (
    GELU,
    GRU,
    LSTM,
    Add,
    Attention,
    Conv,
    Dense,
    Embed,
    Flatten,
    GlobalAverage,
    LayerNorm,
    MaxPool,
    Norm,
    ReLU,
    Residual,
    TokenMean,
    Workload,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class ResidualModule(nn.Module):
    def __init__(self, body: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class LastState(nn.Module):
    """The last hidden state of an LSTM whose second bias stays at zero."""

    def __init__(self, fan_in: int, hidden: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(fan_in, hidden, batch_first=True)
        self.lstm.bias_hh_l0.requires_grad_(requires_grad=False).zero_()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x)[1][0][0]


class LastStateOfGRU(nn.Module):
    """The same of a GRU."""

    def __init__(self, fan_in: int, hidden: int) -> None:
        super().__init__()
        self.gru = nn.GRU(fan_in, hidden, batch_first=True)
        self.gru.bias_hh_l0.requires_grad_(requires_grad=False).zero_()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gru(x)[1][0]


class SelfAttention(nn.Module):
    """As nn.MultiheadAttention's fast path, with nothing around it."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.projection = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.projection(x).unflatten(2, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        result = nn.functional.scaled_dot_product_attention(query, key, value)
        return self.output(result.transpose(1, 2).flatten(2))


class AddModule(nn.Module):
    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


class Mean(nn.Module):
    def __init__(self, *axes: int) -> None:
        super().__init__()
        self.axes = axes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean(self.axes)


class SameConv(nn.Conv2d):
    """TensorFlow's "same": what is left over goes to the end."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        k, s = self.kernel_size[0], self.stride[0]
        total = max((-(-x.shape[2] // s) - 1) * s + k - x.shape[2], 0)
        if total % 2 == 0:
            weight, bias = self.weight, self.bias
            return nn.functional.conv2d(x, weight, bias, s, total // 2)
        x = nn.functional.pad(x, (total // 2, total - total // 2) * 2)
        return super().forward(x)


def _module(layer: object) -> nn.Module:
    match layer:
        case Dense(fan_in, fan_out):
            return nn.Linear(fan_in, fan_out)
        case Conv(fan_in, fan_out, kernel, stride, bias):
            return SameConv(fan_in, fan_out, kernel, stride, bias=bias)
        case LSTM(fan_in, hidden):
            return LastState(fan_in, hidden)
        case GRU(fan_in, hidden):
            return LastStateOfGRU(fan_in, hidden)
        case Embed(count, width):
            return nn.Embedding(count, width)
        case Attention(width, heads):
            return SelfAttention(width, heads)
        case LayerNorm(width):
            return nn.LayerNorm(width)
        case Norm(channels):
            return nn.BatchNorm2d(channels, momentum=0.1)
        case ReLU():
            return nn.ReLU()
        case GELU():
            return nn.GELU()
        case MaxPool():
            return nn.MaxPool2d(2)
        case GlobalAverage():
            return Mean(2, 3)
        case TokenMean():
            return Mean(1)
        case Flatten():
            return nn.Flatten()
        case Add(body):
            return AddModule(_sequence(body))
        case Residual(body, shortcut):
            return ResidualModule(_sequence(body), _sequence(shortcut))
    raise TypeError(layer)


def _sequence(layers: tuple) -> nn.Module:
    return nn.Sequential(*map(_module, layers))


def build(workload: Workload) -> nn.Module:
    model = _sequence(workload.layers)
    with torch.no_grad():
        for parameter, value in zip(
            _trained(model), workload.first_values(), strict=True
        ):
            parameter.copy_(torch.from_numpy(value))
    return model


def optimizer_of(workload: Workload, model: nn.Module) -> torch.optim.Optimizer:
    if workload.optimizer == "adam":
        return torch.optim.Adam(_trained(model), 1e-3, fused=True)
    return torch.optim.SGD(_trained(model), 1e-2, fused=True)


def _trained(model: nn.Module) -> list[nn.Parameter]:
    return [p for p in model.parameters() if p.requires_grad]


AUTOCAST = {"mixed-bfloat16": torch.bfloat16, "mixed-float16": torch.float16}


def steps(workload: Workload, variant: str, precision: str) -> Callable[[], float]:
    if precision == "fast":
        torch.set_float32_matmul_precision("medium")
    low_type = AUTOCAST.get(precision)
    scaler = torch.amp.GradScaler("cpu", enabled=low_type is torch.float16)
    if workload.threads:
        torch.set_num_threads(workload.threads)
    model = build(workload)
    batches = [
        (torch.from_numpy(images), torch.from_numpy(classes))
        for images, classes in workload.batches()
    ]
    if "channels-last" in variant:
        model = model.to(memory_format=torch.channels_last)
        batches = [
            (images.to(memory_format=torch.channels_last), classes)
            for images, classes in batches
        ]
    optimizer = optimizer_of(workload, model)
    if "compile" in variant:
        model = torch.compile(model)

    upcoming = itertools.cycle(batches)

    def step() -> float:
        images, classes = next(upcoming)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", low_type) if low_type else contextlib.nullcontext():
            loss = nn.functional.cross_entropy(model(images), classes)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    return step
