# SPDX-License-Identifier: MIT
"""What the table of wrong calls, wrong_calls.txt, is made of."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import traingraph as tg

L, S, O, N = tg.layers, tg.losses, tg.optimizers, tg.nodes
F32 = np.float32


class Case(NamedTuple):
    """One wrong call."""

    error: type[tg.Error]
    parts: list[str]


def tensor(*shape: int, data_type: str = "float32") -> tg.Tensor:
    return tg.Tensor(shape, data_type, name="x")


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
    y = graph.node(L.FullyConnected(6, 3, name="fc"), x)
    training = tg.TrainingGraph(
        [graph], loss or S.SoftmaxCrossEntropy(name="loss"), O.SGD(0.1)
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


def undeclared() -> tg.TrainingGraph:
    graph = tg.Graph()
    graph.node(L.FullyConnected(2, 2), tensor(2, 2))
    return tg.TrainingGraph([graph])


def accumulate(graph: tg.TrainingGraph) -> None:
    graph.execute_forward({"x": X}, {"t": T})
    graph.execute_gradient(accumulate=True)


def cases() -> dict[str, Case]:
    """By the text of the call."""
    text = Path(__file__).with_name("wrong_calls.txt").read_text()
    lines = [line for line in text.split("\n") if line and not line.startswith("#")]
    told = [line.strip().split(": ", 1) for line in lines[1::2]]
    return {
        call: Case(getattr(tg, error), parts.split(" | "))
        for call, (error, parts) in zip(lines[::2], told, strict=True)
    }


def make(call: str) -> Any:
    return eval(call, {**globals(), "np": np, "copy": copy})
