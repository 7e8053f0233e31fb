# SPDX-License-Identifier: MIT
"""The workloads in PyTorch. Variants: "channels-last", "compile", both, none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from workloads import (
    LSTM,
    Conv,
    Dense,
    Flatten,
    GlobalAverage,
    MaxPool,
    Norm,
    ReLU,
    Residual,
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


class Mean(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.mean((2, 3))


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
        case Norm(channels):
            return nn.BatchNorm2d(channels, momentum=0.1)
        case ReLU():
            return nn.ReLU()
        case MaxPool():
            return nn.MaxPool2d(2)
        case GlobalAverage():
            return Mean()
        case Flatten():
            return nn.Flatten()
        case Residual(body, shortcut):
            return ResidualModule(_sequence(body), _sequence(shortcut))
    raise TypeError(layer)


def _sequence(layers: tuple) -> nn.Module:
    return nn.Sequential(*map(_module, layers))


def steps(workload: Workload, variant: str) -> Callable[[], float]:
    if workload.threads:
        torch.set_num_threads(workload.threads)
    model = _sequence(workload.layers)
    parameters = [p for p in model.parameters() if p.requires_grad]
    with torch.no_grad():
        for parameter, value in zip(parameters, workload.first_values(), strict=True):
            parameter.copy_(torch.from_numpy(value))
    images, classes = map(torch.from_numpy, workload.data())
    if "channels-last" in variant:
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    if workload.optimizer == "adam":
        optimizer = torch.optim.Adam(parameters, 1e-3, fused=True)
    else:
        optimizer = torch.optim.SGD(parameters, 1e-2, fused=True)
    if "compile" in variant:
        model = torch.compile(model)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(images), classes)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
