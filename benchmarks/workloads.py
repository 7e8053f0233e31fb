# SPDX-License-Identifier: MIT
"""Networks that every system builds alike, from the same first values.

A network is a tuple of the layers below; images are NCHW. `first_values` lists
the parameters in the order of the layers: weights (out, in, ...) before biases,
gamma before beta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Dense:
    fan_in: int
    fan_out: int


@dataclass(frozen=True)
class Conv:
    """Padding as TensorFlow's "same"; no bias where a normalization follows."""

    fan_in: int
    fan_out: int
    kernel: int = 3
    stride: int = 1
    bias: bool = True


@dataclass(frozen=True)
class Norm:
    """Batch normalization; epsilon 1e-5, running statistics keep 0.9."""

    channels: int


@dataclass(frozen=True)
class LSTM:
    """(N, T, in) -> (N, hidden): the last state; gates input, forget, cell, output.

    One bias: the second one that some systems have stays at zero.
    """

    fan_in: int
    hidden: int


@dataclass(frozen=True)
class GRU:
    """(N, T, in) -> (N, hidden): the last state; gates reset, update, candidate, the
    reset gate after the recurrent product.

    One bias: the second one that some systems have stays at zero.
    """

    fan_in: int
    hidden: int


@dataclass(frozen=True)
class Embed:
    """Indices (N, T) -> (N, T, width): rows of a table. The first layer."""

    count: int
    width: int


@dataclass(frozen=True)
class LayerNorm:
    """Over the last axis; epsilon 1e-5."""

    width: int


@dataclass(frozen=True)
class Attention:
    """(N, T, width): of all tokens to all; weights of query, key and value in one,
    (3 width, width)."""

    width: int
    heads: int


@dataclass(frozen=True)
class ReLU:
    pass


@dataclass(frozen=True)
class GELU:
    """By erf."""


@dataclass(frozen=True)
class MaxPool:
    """2x2, stride 2."""


@dataclass(frozen=True)
class GlobalAverage:
    """(N, C, H, W) -> (N, C)."""


@dataclass(frozen=True)
class Flatten:
    pass


@dataclass(frozen=True)
class TokenMean:
    """(N, T, width) -> (N, width)."""


@dataclass(frozen=True)
class Residual:
    """relu(body(x) + shortcut(x))."""

    body: tuple
    shortcut: tuple = ()


@dataclass(frozen=True)
class Add:
    """x + body(x)."""

    body: tuple


@dataclass(frozen=True)
class Workload:
    layers: tuple
    sample: tuple[int, ...]
    batch: int
    optimizer: str = "adam"
    threads: int | None = None  # None: all
    #: Steps that are timed in a row.
    block: int = 20

    def first_values(self) -> list[np.ndarray]:
        random = np.random.default_rng(0)
        return [value for layer in self.layers for value in _values_of(layer, random)]

    def batches(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What the steps take in turn. Which rows of a table a step reads decides
        what it costs, so there are many batches of indices; of all else one."""
        count = 64 if isinstance(self.layers[0], Embed) else 1
        return [self.data(seed) for seed in range(1, count + 1)]

    def data(self, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
        """Made-up images, sequences or indices, and classes of one batch."""
        random = np.random.default_rng(seed)
        shape = (self.batch, *self.sample)
        match self.layers[0]:
            case Embed(count):
                images = random.integers(0, count, shape, dtype=np.int32)
            case _:
                images = random.standard_normal(shape, dtype=np.float32)
        return images, random.integers(0, 10, self.batch)


def _values_of(layer: object, random: np.random.Generator) -> list[np.ndarray]:
    def uniform(*shape: int) -> np.ndarray:
        limit = np.prod(shape[1:]) ** -0.5
        return random.uniform(-limit, limit, shape).astype(np.float32)

    match layer:
        case Dense(fan_in, fan_out):
            return [uniform(fan_out, fan_in), np.zeros(fan_out, np.float32)]
        case Conv(fan_in, fan_out, kernel, _, bias):
            weights = uniform(fan_out, fan_in, kernel, kernel)
            return [weights, np.zeros(fan_out, np.float32)] if bias else [weights]
        case LSTM(fan_in, hidden):
            weights = [uniform(4 * hidden, fan_in), uniform(4 * hidden, hidden)]
            return [*weights, np.zeros(4 * hidden, np.float32)]
        case GRU(fan_in, hidden):
            weights = [uniform(3 * hidden, fan_in), uniform(3 * hidden, hidden)]
            return [*weights, np.zeros(3 * hidden, np.float32)]
        case Embed(count, width):
            return [random.standard_normal((count, width), dtype=np.float32)]
        case Attention(width):
            weights = [uniform(3 * width, width), uniform(width, width)]
            biases = [np.zeros(n * width, np.float32) for n in (3, 1)]
            return [weights[0], biases[0], weights[1], biases[1]]
        case Norm(channels) | LayerNorm(channels):
            return [np.ones(channels, np.float32), np.zeros(channels, np.float32)]
        case Add(body):
            return [v for each in body for v in _values_of(each, random)]
        case Residual(body, shortcut):
            return [v for each in (*body, *shortcut) for v in _values_of(each, random)]
    return []


def _block(fan_in: int, fan_out: int, stride: int) -> Residual:
    body = (
        Conv(fan_in, fan_out, 3, stride, bias=False),
        Norm(fan_out),
        ReLU(),
        Conv(fan_out, fan_out, bias=False),
        Norm(fan_out),
    )
    if stride == 1 and fan_in == fan_out:
        return Residual(body)
    shortcut = (Conv(fan_in, fan_out, 1, stride, bias=False), Norm(fan_out))
    return Residual(body, shortcut)


def _transformer_layer(width: int, heads: int, inner: int) -> tuple:
    feed_forward = (Dense(width, inner), GELU(), Dense(inner, width))
    return (
        Add((LayerNorm(width), Attention(width, heads))),
        Add((LayerNorm(width), *feed_forward)),
    )


WORKLOADS = {
    "mlp-tiny": Workload(
        (Dense(32, 64), ReLU(), Dense(64, 10)),
        sample=(32,),
        batch=32,
        optimizer="sgd",
        threads=1,
        block=2000,
    ),
    "mlp-small": Workload(
        (Dense(784, 256), ReLU(), Dense(256, 10)),
        sample=(784,),
        batch=32,
        block=300,
    ),
    "mlp-large": Workload(
        (Dense(784, 1024), ReLU(), Dense(1024, 1024), ReLU(), Dense(1024, 10)),
        sample=(784,),
        batch=256,
        block=20,
    ),
    "cnn-mnist": Workload(
        (
            *(Conv(1, 32), ReLU(), MaxPool()),
            *(Conv(32, 64), ReLU(), MaxPool()),
            *(Flatten(), Dense(64 * 7 * 7, 128), ReLU(), Dense(128, 10)),
        ),
        sample=(1, 28, 28),
        batch=64,
        block=20,
    ),
    "resnet-cifar": Workload(
        (
            *(Conv(3, 32, bias=False), Norm(32), ReLU()),
            *(_block(32, 32, 1), _block(32, 32, 1)),
            *(_block(32, 64, 2), _block(64, 64, 1)),
            *(_block(64, 128, 2), _block(128, 128, 1)),
            *(GlobalAverage(), Dense(128, 10)),
        ),
        sample=(3, 32, 32),
        batch=32,
        block=4,
    ),
    "lstm": Workload(
        (LSTM(128, 256), Dense(256, 10)),
        sample=(64, 128),
        batch=32,
        block=10,
    ),
    "gru": Workload(
        (GRU(128, 256), Dense(256, 10)),
        sample=(64, 128),
        batch=32,
        block=10,
    ),
    "gru-stream": Workload(
        (GRU(32, 64), Dense(64, 10)),
        sample=(16, 32),
        batch=1,
        threads=1,
        block=500,
    ),
    "transformer": Workload(
        (
            *_transformer_layer(256, 8, 1024),
            *_transformer_layer(256, 8, 1024),
            *(LayerNorm(256), TokenMean(), Dense(256, 10)),
        ),
        sample=(128, 256),
        batch=8,
        block=5,
    ),
    "embedding": Workload(
        (Embed(50_000, 128), TokenMean(), Dense(128, 10)),
        sample=(128,),
        batch=32,
        block=10,
    ),
}
