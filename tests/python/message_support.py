# SPDX-License-Identifier: MIT
"""What the tables of wrong calls are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

L, S, O, N = tg.layers, tg.losses, tg.optimizers, tg.nodes
F32 = np.float32


class Case(NamedTuple):
    """One wrong call."""

    call: Callable[[], Any]
    error: type[tg.Error]
    parts: list[str]


def tensor(*shape: int, data_type: str = "float32") -> tg.Tensor:
    return tg.Tensor(shape, data_type, label="x")


def node(layer: tg.layers.Layer, *shapes: tuple[int, ...]) -> tg.Tensor:
    return tg.Graph().node(layer, [tg.Tensor(shape) for shape in shapes])


def network(
    labels: tuple[int, ...] = (4, 3),
    data_type: str = "float32",
    loss: Any = None,
    **options: Any,
) -> tg.TrainingGraph:
    """x (4, 6) -> (4, 3), compiled."""
    x, t = tg.Tensor((4, 6), name="x"), tg.Tensor(labels, data_type, name="t")
    graph = tg.Graph()
    y = graph.node(L.FullyConnected(6, 3, label="fc"), x)
    training = tg.TrainingGraph(
        [graph], loss or S.SoftmaxCrossEntropy(label="loss"), O.SGD(0.1)
    )
    training.add_inputs({"x": x}, {"t": t})
    training.add_outputs({"y": y})
    training.compile("cpu", **options)
    return training


X, T = np.zeros((4, 6), F32), np.zeros((4, 3), F32)


def run(x: Any = X, t: Any = T, **options: Any) -> Any:
    return network().execute({"x": x}, {"t": t}, **options).result()


def training() -> tg.TrainingGraph:
    return tg.TrainingGraph([tg.Graph()])
