# SPDX-License-Identifier: MIT
"""Small networks of every kind, with made-up data that can be learned."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import traingraph as tg
from traingraph import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

CLASSES, BATCH = 10, 32
#: Of one network, which belong in the report and do not end the others.
PROBLEMS = (
    ArithmeticError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
#: Of losses on two devices.
TOLERANCE = 1e-3
Array = np.ndarray[Any, Any]


@dataclass
class Network:
    """A step, and what it is given."""

    step: Callable[[], float]
    name: str


def _labels(rng: np.random.Generator, batch: int) -> Array:
    picked = rng.integers(0, CLASSES, batch)
    labels: Array = np.eye(CLASSES, dtype=np.float32)[picked]
    return labels


def _learnable(
    rng: np.random.Generator, labels: Array, shape: tuple[int, ...]
) -> Array:
    """A pattern for each class, and noise."""
    patterns = rng.standard_normal((CLASSES, *shape))
    noise = 0.3 * rng.standard_normal((len(labels), *shape))
    x: Array = (patterns[labels.argmax(1)] + noise).astype(np.float32)
    return x


def layered(
    name: str,
    shape: tuple[int, ...],
    add: Callable[[tg.Graph, tg.Tensor], tg.Tensor],
    optimizer: tg.optimizers.Optimizer,
    device: str,
    batch: int = BATCH,
    **options: Any,
) -> Network:
    """`add` makes logits (batch, CLASSES) of x (batch, *shape)."""
    rng = np.random.default_rng(3)
    x = tg.Tensor((batch, *shape), name="x")
    y = tg.Tensor((batch, CLASSES), name="y")
    graph = tg.Graph()
    add(graph, x)
    training = tg.TrainingGraph(
        [graph], loss=tg.losses.SoftmaxCrossEntropy(), optimizer=optimizer
    )
    training.add_inputs({"x": x}, loss_labels={"y": y})
    training.compile(device, **options)
    labels = _labels(rng, batch)
    data = _learnable(rng, labels, shape)

    def step() -> float:
        result = training.execute({"x": data}, {"y": labels}).result()
        return float(result.loss)

    return Network(step, name)


def _dense(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    h = graph.node(tg.layers.FullyConnected(20, 64), x)
    h = graph.node(tg.layers.ReLU(), h)
    return graph.node(tg.layers.FullyConnected(64, CLASSES), h)


def _convolutional(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    h = graph.node(tg.layers.Convolution(3, 16, kernel_size=3, padding="same"), x)
    h = graph.node(tg.layers.BatchNormalization(16), h)
    h = graph.node(tg.layers.ReLU(), h)
    h = graph.node(tg.layers.MaxPooling(2), h)
    depthwise = tg.layers.Convolution(
        16, 16, kernel_size=3, padding="same", convolution_type="depthwise"
    )
    h = graph.node(depthwise, h)
    h = graph.node(tg.layers.AveragePooling(2), h)
    h = graph.ops.reshape(h, shape=(h.shape[0], -1))
    return graph.node(tg.layers.FullyConnected(16 * 4 * 4, CLASSES), h)


def _lstm(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    h = graph.node(tg.layers.LSTM(8, 16, returns_sequences=False), x)
    h = graph.ops.reshape(h, shape=(h.shape[0], -1))
    return graph.node(tg.layers.FullyConnected(16, CLASSES), h)


def _gru(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    h = graph.node(tg.layers.GRU(8, 16, returns_sequences=False), x)
    h = graph.ops.reshape(h, shape=(h.shape[0], -1))
    return graph.node(tg.layers.FullyConnected(16, CLASSES), h)


def _attention(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    h = graph.node(tg.layers.MultiheadAttention(16, 2), [x, x, x])
    h = graph.node(tg.layers.LayerNormalization((16,)), h)
    h = graph.ops.reshape(h, shape=(h.shape[0], -1))
    return graph.node(tg.layers.FullyConnected(6 * 16, CLASSES), h)


def _filters(device: str) -> Callable[[], float]:
    """The same face as MPSNN's: convolution, pooling, loss, node by node."""
    rng = np.random.default_rng(5)
    adam = tg.optimizers.Adam(1e-2)

    def weights(*shape: int) -> nodes.ConvolutionData:
        values = rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        return nodes.ConvolutionData(values.astype(np.float32), optimizer=adam)

    image = nodes.ImageNode("image", (4, 8, 8))
    labels = nodes.ImageNode("labels", (CLASSES, 1, 1))
    h = nodes.ConvolutionNode(image, weights(8, 3, 3, 4), padding="same").result_image
    h = nodes.PoolingMaxNode(nodes.ReLUNode(h).result_image, 2).result_image
    h = nodes.FullyConnectedNode(h, weights(CLASSES, 4, 4, 8)).result_image
    cross_entropy = nodes.LossDescriptor("softmax_cross_entropy", "sum")
    loss = nodes.LossNode(h, labels, cross_entropy)
    loss.loss_image.handle = "loss"
    leaves = [leaf.result_image for leaf in loss.training_graph()]
    graph = nodes.Graph(device, leaves, batch_size=BATCH)
    given = _labels(rng, BATCH)
    data = {
        "image": _learnable(rng, given, (4, 8, 8)),
        "labels": given[:, :, None, None],
    }
    return lambda: float(np.mean(graph.execute(data).result().output("loss")))


def filters(device: str, verify: str) -> Network:
    """Image graphs know no `verify`: the losses are compared here."""
    step, check = _filters(device), _filters(verify)

    def both() -> float:
        loss, expected = step(), check()
        if not abs(loss - expected) <= TOLERANCE * abs(expected) + TOLERANCE:
            raise RuntimeError(f"the loss is {loss}, on {verify} {expected}")
        return loss

    return Network(both, "filter nodes")


def all_of(device: str, verify: str) -> dict[str, Callable[[], Network]]:
    optimizers = tg.optimizers
    momentum = optimizers.SGD(0.05, momentum_scale=0.9)
    of_layers: list[tuple[str, tuple[int, ...], Any, tg.optimizers.Optimizer]] = [
        ("dense, SGD", (20,), _dense, optimizers.SGD(0.3)),
        ("convolutional, momentum", (3, 16, 16), _convolutional, momentum),
        ("LSTM, Adam", (7, 8), _lstm, optimizers.Adam(2e-2)),
        ("GRU, RMSProp", (7, 8), _gru, optimizers.RMSProp(1e-2)),
        ("attention, AdamW", (6, 16), _attention, optimizers.AdamW(1e-2)),
    ]

    found: dict[str, Callable[[], Network]] = {}
    for name, shape, add, optimizer in of_layers:
        found[name] = functools.partial(
            layered, name, shape, add, optimizer, device, verify=verify
        )
    return {**found, "filter nodes": lambda: filters(device, verify)}
