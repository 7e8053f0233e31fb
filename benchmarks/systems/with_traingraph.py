# SPDX-License-Identifier: MIT
"""The workloads in traingraph. Variants: "" (one call a step), "phases", "cblas" (as
"", with the package of a build that has this engine)."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
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

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _add(graph: tg.Graph, layers: tuple, x: tg.Tensor, values: list) -> tg.Tensor:
    for layer in layers:
        x = _add_one(graph, layer, x, values)
    return x


def _add_one(graph: tg.Graph, layer: object, x: tg.Tensor, values: list) -> tg.Tensor:
    match layer:
        case Dense():
            weights, biases = values.pop(0), values.pop(0)
            dense = tg.layers.FullyConnected(weights=weights, biases=biases)
            return graph.node(dense, x)
        case Conv(fan_in, fan_out, kernel, stride, bias):
            weights = values.pop(0)
            conv = tg.layers.Convolution(
                fan_in,
                fan_out,
                kernel,
                strides=stride,
                weights=weights,
                biases=values.pop(0) if bias else None,
                uses_biases=bias,
            )
            return graph.node(conv, x)
        case LSTM(fan_in, hidden):
            weights, hidden_weights, biases = (values.pop(0) for _ in range(3))
            lstm = tg.layers.LSTM(
                fan_in,
                hidden,
                returns_sequences=False,
                input_weights=[weights],
                hidden_weights=[hidden_weights],
                biases=[biases],
            )
            return graph.ops.reshape(graph.node(lstm, x), shape=(x.shape[0], hidden))
        case GRU(fan_in, hidden):
            weights, hidden_weights, biases = (values.pop(0) for _ in range(3))
            gru = tg.layers.GRU(
                fan_in,
                hidden,
                returns_sequences=False,
                input_weights=[weights],
                hidden_weights=[hidden_weights],
                biases=[biases],
            )
            for second in gru.secondary_biases_parameters or []:
                second.is_updatable = False
            return graph.ops.reshape(graph.node(gru, x), shape=(x.shape[0], hidden))
        case Embed(count, width):
            table = tg.layers.Embedding(count, width, weights=values.pop(0))
            return graph.node(table, x)
        case Attention(width, heads):
            return graph.node(_attention(width, heads, values), [x, x, x])
        case LayerNorm(width):
            gamma, beta = values.pop(0), values.pop(0)
            norm = tg.layers.LayerNormalization(width, beta=beta, gamma=gamma)
            return graph.node(norm, x)
        case Norm(channels):
            gamma, beta = values.pop(0), values.pop(0)
            norm = tg.layers.BatchNormalization(
                channels,
                mean=np.zeros(channels, np.float32),
                variance=np.ones(channels, np.float32),
                beta=beta,
                gamma=gamma,
                momentum=0.9,
            )
            return graph.node(norm, x)
        case ReLU():
            return graph.node(tg.layers.ReLU(), x)
        case GELU():
            return graph.node(tg.layers.GELU(), x)
        case TokenMean():
            mean = graph.node(tg.layers.Reduction("mean", (1,)), x)
            return graph.ops.reshape(mean, shape=(x.shape[0], -1))
        case MaxPool():
            return graph.node(tg.layers.MaxPooling(2), x)
        case GlobalAverage():
            mean = graph.node(tg.layers.Reduction("mean", (2, 3)), x)
            return graph.ops.reshape(mean, shape=(x.shape[0], -1))
        case Flatten():
            return graph.ops.reshape(x, shape=(x.shape[0], -1))
        case Add(body):
            return graph.ops.binary(x, _add(graph, body, x, values), operation="add")
        case Residual(body, shortcut):
            main = _add(graph, body, x, values)
            side = _add(graph, shortcut, x, values)
            total = graph.node(tg.layers.Arithmetic("add"), [main, side])
            return graph.node(tg.layers.ReLU(), total)
    raise TypeError(layer)


def _attention(width: int, heads: int, values: list) -> tg.layers.MultiheadAttention:
    weights, biases, output_weights, output_biases = (values.pop(0) for _ in range(4))
    return tg.layers.MultiheadAttention(
        width,
        heads,
        weights=[*np.split(weights, 3), output_weights],
        biases=[*np.split(biases, 3), output_biases],
    )


def build(workload: Workload) -> tg.TrainingGraph:
    is_indices = isinstance(workload.layers[0], Embed)
    data_type = tg.DataType.int32 if is_indices else tg.DataType.float32
    image = tg.Tensor((workload.batch, *workload.sample), data_type, name="image")
    label = tg.Tensor((workload.batch, 10), name="label")
    graph = tg.Graph()
    _add(graph, workload.layers, image, workload.first_values())
    optimizer = {
        "adam": lambda: tg.optimizers.Adam(1e-3),
        "sgd": lambda: tg.optimizers.SGD(1e-2),
    }[workload.optimizer]()
    training = tg.TrainingGraph(
        [graph], loss=tg.losses.SoftmaxCrossEntropy(), optimizer=optimizer
    )
    training.add_inputs({"image": image}, loss_labels={"label": label})
    return training


def data_of(
    workload: Workload, part: slice = slice(None)
) -> Iterator[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
    """Inputs and labels of one batch after the other, or of a part of each."""
    one_hot = np.eye(10, dtype=np.float32)
    return itertools.cycle(
        [
            ({"image": images[part]}, {"label": one_hot[classes[part]]})
            for images, classes in workload.batches()
        ]
    )


def steps_of_part(
    workload: Workload, rank: int, ranks: int, **options: Any
) -> Callable[[], float]:
    """Steps of one of several processes, which has its part of each batch."""
    batch = workload.batch // ranks
    training = build(dataclasses.replace(workload, batch=batch))
    training.compile(device="cpu", **options)
    upcoming = data_of(workload, slice(rank * batch, (rank + 1) * batch))
    return lambda: training.execute(*next(upcoming), synchronous=True).result().loss


def rank_steps(
    workload: Workload, ranks: int, *, shards: bool
) -> tuple[int, Callable[[], float]]:
    collective = tg.mpi_collective()
    if collective.size != ranks:
        raise RuntimeError(f"{collective.size} ranks instead of {ranks}")
    options = {"collective": collective, "shard_optimizer": shards}
    return collective.rank, steps_of_part(workload, collective.rank, ranks, **options)


def steps(workload: Workload, variant: str, precision: str) -> Callable[[], float]:
    upcoming = data_of(workload)
    device = repr(tg.Device.cpu())
    if variant == "cblas" and "oneDNN" in device:
        raise RuntimeError(f"the package of --cblas has another engine: {device}")
    training = build(workload)
    training.compile(device="cpu", precision=precision.replace("-", "_"))
    if variant == "phases":

        def step() -> float:
            data = next(upcoming)
            forward = training.execute_forward(*data, synchronous=True)
            training.execute_gradient(synchronous=True)
            training.execute_optimizer_update(synchronous=True)
            return forward.result().loss

        return step
    return lambda: training.execute(*next(upcoming), synchronous=True).result().loss
