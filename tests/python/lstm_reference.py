# SPDX-License-Identifier: MIT
"""An LSTM in NumPy and float64: all layers, directions and options.

Gradients are central differences: no step of it is shared with the library.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Array = np.ndarray[Any, Any]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


@dataclass
class Weights:
    """One layer and direction; gates in rows: input, forget, cell, output."""

    input: Array
    hidden: Array
    bias: Array | None = None
    peephole: Array | None = None


@dataclass
class LSTM:
    sets: list[Weights]  # all layers forward, then all backward
    layer_count: int = 1
    activations: list[Callable[[Array], Array]] = field(
        default_factory=lambda: [sigmoid, sigmoid, np.tanh, sigmoid]
    )
    cell_activation: Callable[[Array], Array] = np.tanh

    def __call__(
        self,
        x: Array,
        h0: Array | None = None,
        c0: Array | None = None,
        lengths: Array | None = None,
    ) -> tuple[Array, Array, Array]:
        """Output (N, T, D H), last hidden states and cells (L, D, N, H)."""
        samples, steps, _ = x.shape
        directions = len(self.sets) // self.layer_count
        hidden = self.sets[0].hidden.shape[1]
        shape = (self.layer_count, directions, samples, hidden)
        if lengths is None:
            lengths = np.full(samples, steps)
        last_h, last_c = np.zeros(shape), np.zeros(shape)
        for layer in range(self.layer_count):
            y = np.zeros((samples, steps, directions * hidden))
            for d in range(directions):
                weights = self.sets[d * self.layer_count + layer]
                for n in range(samples):
                    h = np.zeros(hidden) if h0 is None else h0[layer, d, n]
                    c = np.zeros(hidden) if c0 is None else c0[layer, d, n]
                    order = list(range(min(max(lengths[n], 0), steps)))
                    for t in order[::-1] if d else order:
                        h, c = self._step(weights, x[n, t], h, c)
                        y[n, t, d * hidden : (d + 1) * hidden] = h
                    last_h[layer, d, n], last_c[layer, d, n] = h, c
            x = y
        return x, last_h, last_c

    def _step(self, w: Weights, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        size = len(h)
        u = w.input @ x + w.hidden @ h
        if w.bias is not None:
            u = u + w.bias
        ui, uf, ug, uo = u.reshape(4, size)
        pi, pf, pg, po = (
            np.zeros((4, size)) if w.peephole is None else (w.peephole.reshape(4, size))
        )
        act = self.activations
        i, f, g = act[0](ui + pi * c), act[1](uf + pf * c), act[2](ug + pg * c)
        c = f * c + i * g
        return act[3](uo + po * c) * self.cell_activation(c), c
