# SPDX-License-Identifier: MIT
"""The workloads in JAX: one jitted step, its buffers donated, images NHWC."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import lax
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

    import numpy as np


def _apply(layers: tuple, x: jax.Array, values: list, running: list) -> jax.Array:
    for layer in layers:
        x = _apply_one(layer, x, values, running)
    return x


def _apply_one(layer: object, x: jax.Array, values: list, running: list) -> jax.Array:
    match layer:
        case Dense():
            return x @ values.pop(0) + values.pop(0)
        case Conv(_, _, _, stride, bias):
            x = lax.conv_general_dilated(
                x,
                values.pop(0),
                (stride, stride),
                "SAME",
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
            )
            return x + values.pop(0) if bias else x
        case LSTM(_, hidden):
            return _last_state(x, hidden, *(values.pop(0) for _ in range(3)))
        case GRU(_, hidden):
            return _last_state_of_gru(x, hidden, *(values.pop(0) for _ in range(3)))
        case Embed():
            return values.pop(0)[x]
        case Attention(_, heads):
            return _attention(x, heads, *(values.pop(0) for _ in range(4)))
        case LayerNorm():
            centred = x - x.mean(-1, keepdims=True)
            variance = jnp.square(centred).mean(-1, keepdims=True)
            return centred * lax.rsqrt(variance + 1e-5) * values.pop(0) + values.pop(0)
        case Norm():
            mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
            running += [mean, variance]
            gamma, beta = values.pop(0), values.pop(0)
            return (x - mean) * lax.rsqrt(variance + 1e-5) * gamma + beta
        case ReLU():
            return jax.nn.relu(x)
        case GELU():
            return jax.nn.gelu(x, approximate=False)
        case TokenMean():
            return x.mean(1)
        case MaxPool():
            window = (1, 2, 2, 1)
            return lax.reduce_window(x, -jnp.inf, lax.max, window, window, "VALID")
        case GlobalAverage():
            return x.mean((1, 2))
        case Flatten():  # in the order of NCHW, as the weights are
            return x.transpose(0, 3, 1, 2).reshape(len(x), -1)
        case Add(body):
            return x + _apply(body, x, values, running)
        case Residual(body, shortcut):
            main = _apply(body, x, values, running)
            return jax.nn.relu(main + _apply(shortcut, x, values, running))
    raise TypeError(layer)


def _last_state(
    x: jax.Array,
    hidden: int,
    weights: jax.Array,
    recurrent: jax.Array,
    bias: jax.Array,
) -> jax.Array:
    projected = (x @ weights + bias).swapaxes(0, 1)

    def step(state: tuple, u: jax.Array) -> tuple:
        h, c = state
        i, f, g, o = jnp.split(u + h @ recurrent, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zeros = jnp.zeros((len(x), hidden))
    return lax.scan(step, (zeros, zeros), projected)[0][0]


def _last_state_of_gru(
    x: jax.Array,
    hidden: int,
    weights: jax.Array,
    recurrent: jax.Array,
    bias: jax.Array,
) -> jax.Array:
    projected = (x @ weights + bias).swapaxes(0, 1)

    def step(h: jax.Array, u: jax.Array) -> tuple:
        r, z, n = jnp.split(u, 3, axis=1)
        to_r, to_z, to_n = jnp.split(h @ recurrent, 3, axis=1)
        r, z = jax.nn.sigmoid(r + to_r), jax.nn.sigmoid(z + to_z)
        return (1 - z) * jnp.tanh(n + r * to_n) + z * h, None

    return lax.scan(step, jnp.zeros((len(x), hidden)), projected)[0]


def _attention(
    x: jax.Array,
    heads: int,
    weights: jax.Array,
    biases: jax.Array,
    output_weights: jax.Array,
    output_biases: jax.Array,
) -> jax.Array:
    parts = jnp.split(x @ weights + biases, 3, axis=2)
    query, key, value = (p.reshape(*x.shape[:2], heads, -1) for p in parts)
    result = jax.nn.dot_product_attention(query, key, value)
    return result.reshape(x.shape) @ output_weights + output_biases


def _own_layout(value: np.ndarray) -> jax.Array:
    axes = {4: (2, 3, 1, 0), 2: (1, 0), 1: (0,)}[value.ndim]
    return jnp.asarray(value.transpose(axes))


def _channels_last(images: np.ndarray) -> jax.Array:
    return jnp.asarray(images.transpose(0, 2, 3, 1) if images.ndim == 4 else images)


def steps(workload: Workload, variant: str, precision: str) -> Callable[[], float]:
    del variant, precision  # float32
    batches = [
        (_channels_last(images), jnp.eye(10)[classes])
        for images, classes in workload.batches()
    ]
    values = workload.first_values()
    tables = int(isinstance(workload.layers[0], Embed))
    parameters = [jnp.asarray(table) for table in values[:tables]]
    parameters += [_own_layout(value) for value in values[tables:]]

    def loss_of(parameters: list, images: jax.Array, labels: jax.Array) -> tuple:
        running: list = []
        logits = _apply(workload.layers, images, list(parameters), running)
        loss = -(jax.nn.log_softmax(logits) * labels).sum(1).mean()
        return loss, running

    def adam(state: tuple, images: jax.Array, labels: jax.Array) -> tuple:
        parameters, m, v, statistics, t = state
        (loss, new), gradients = jax.value_and_grad(loss_of, has_aux=True)(
            parameters, images, labels
        )
        t = t + 1
        m = [0.9 * a + 0.1 * g for a, g in zip(m, gradients, strict=True)]
        v = [0.999 * a + 0.001 * g * g for a, g in zip(v, gradients, strict=True)]
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        parameters = [
            p - rate * a / (jnp.sqrt(b) + 1e-8)
            for p, a, b in zip(parameters, m, v, strict=True)
        ]
        statistics = [0.9 * a + 0.1 * b for a, b in zip(statistics, new, strict=True)]
        return (parameters, m, v, statistics, t), loss

    def sgd(state: tuple, images: jax.Array, labels: jax.Array) -> tuple:
        (loss, _), gradients = jax.value_and_grad(loss_of, has_aux=True)(
            state, images, labels
        )
        return [p - 1e-2 * g for p, g in zip(state, gradients, strict=True)], loss

    if workload.optimizer == "adam":
        zeros = [jnp.zeros_like(p) for p in parameters]
        more = [jnp.zeros_like(p) for p in parameters]
        statistics = _statistics(workload.layers)
        state = (parameters, zeros, more, statistics, jnp.zeros((), jnp.float32))
        update = jax.jit(adam, donate_argnums=0)
    else:
        state, update = parameters, jax.jit(sgd, donate_argnums=0)

    upcoming = itertools.cycle(batches)

    def step() -> float:
        nonlocal state
        images, labels = next(upcoming)
        state, loss = update(state, images, labels)
        value = float(loss)
        jax.block_until_ready(state)
        return value

    return step


def _statistics(layers: tuple) -> list:
    """A mean and a variance for each normalization."""
    found: list = []
    for layer in layers:
        match layer:
            case Norm(channels):
                found += [jnp.zeros(channels), jnp.ones(channels)]
            case Residual(body, shortcut):
                found += _statistics((*body, *shortcut))
    return found
