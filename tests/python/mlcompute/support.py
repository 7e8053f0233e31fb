# SPDX-License-Identifier: MIT
"""One layer at a time: its value, and its gradients for a gradient of ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]

# A handful of float32 operations on numbers near 1. oneDNN's erf is a polynomial
# that is within 5e-6 of the value.
CLOSE = {"rtol": 2e-5, "atol": 5e-6}


def evaluated(
    build: Callable[..., tg.Tensor], *arrays: Any, batch_axis: int | None = 0
) -> Array:
    """The value of build(graph, *tensors) for these arrays."""
    data = {f"x{i}": np.asarray(array) for i, array in enumerate(arrays)}
    inputs = {
        name: tg.Tensor(a.shape, a.dtype, batch_axis=batch_axis)
        for name, a in data.items()
    }
    graph = tg.Graph()
    result = build(graph, *inputs.values())
    inference = tg.InferenceGraph([graph])
    inference.add_inputs(inputs)
    inference.add_outputs({"y": result})
    inference.compile("cpu")
    return inference.execute(data).result().output("y").copy()


def value_of(layer: tg.layers.Layer, *arrays: Any) -> Array:
    return evaluated(lambda graph, *s: graph.node(layer, list(s)), *arrays)


def floats(*shape: int) -> Array:
    """Values from -1.5 to 2, none of them at a kink."""
    return np.linspace(-1.51, 2.03, int(np.prod(shape)), dtype=np.float32).reshape(
        shape
    )


class Regression:
    """y = x w with x (4, 3), and a mean squared error; w starts at 0.5."""

    def __init__(
        self, optimizer: tg.optimizers.Optimizer | None = None, **compile_options: Any
    ) -> None:
        self.x, self.t = tg.Tensor((4, 3), name="x"), tg.Tensor((4, 1), name="t")
        self.graph = tg.Graph()
        self.layer = tg.layers.FullyConnected(
            3, 1, weights=np.full((1, 3), 0.5, np.float32), uses_biases=False
        )
        self.y = self.graph.node(self.layer, self.x)
        self.training = tg.TrainingGraph(
            [self.graph], tg.losses.MeanSquaredError(), optimizer
        )
        self.training.add_inputs({"x": self.x}, {"t": self.t})
        self.training.add_outputs({"y": self.y})
        self.options = compile_options
        self.data = floats(4, 3)
        self.labels = floats(4, 1) + 1

    def compile(self) -> Regression:
        self.training.compile("cpu", **self.options)
        return self

    def step(self, **options: Any) -> tg.ExecutionResult:
        return self.training.execute(
            {"x": self.data}, {"t": self.labels}, **options
        ).result()

    def gradients(self, weights: Array) -> Array:
        """Of the loss by the weights, in float64."""
        x, t = self.data.astype(np.float64), self.labels.astype(np.float64)
        return 2 * (x @ weights.T - t).T @ x / len(x)
