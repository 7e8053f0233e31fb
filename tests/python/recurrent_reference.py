# SPDX-License-Identifier: MIT
"""MPSGraph's recurrent ops in float64, written from their formulas.

Gradients are central differences of the forward.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Inputs = dict[str, Array]

GATES = {"gru": 3, "lstm": 4, "single_gate_rnn": 1}


def activate(name: str, x: Array) -> Array:
    if name == "relu":
        return np.maximum(x, 0)
    if name == "tanh":
        return np.tanh(x)
    if name == "sigmoid":
        return 1 / (1 + np.exp(-x))
    if name == "hard_sigmoid":
        return np.clip(0.2 * x + 0.5, 0, 1)
    assert name == "none"
    return x


def block(x: Array, index: int, size: int) -> Array:
    return x[..., index * size : (index + 1) * size]


class Direction:
    """One direction: all inputs are its own parts."""

    def __init__(self, options: dict[str, Any], inputs: Inputs, reverse: bool) -> None:
        self.options, self.inputs, self.reverse = options, inputs, reverse
        self.weight = inputs["recurrent_weight"]
        self.size = self.weight.shape[1]

    def activation(self, gate: str, default: str) -> str:
        name = f"{gate}_activation" if gate else "activation"
        return str(self.options.get(name, default))

    def run(self, op: str) -> list[Array]:
        x = self.inputs["x"]
        steps, samples, _ = x.shape
        zeros = np.zeros((samples, self.size))
        self.h = self.inputs.get("init_state", zeros)
        self.c = self.inputs.get("init_cell", zeros)
        rows: list[list[Array]] = [[] for _ in range(steps)]
        order = range(steps - 1, -1, -1) if self.reverse else range(steps)
        for t in order:
            k = self.h * self.inputs.get("mask", np.ones(()))
            rows[t] = list(getattr(self, op)(x[t], k))
        return [np.stack([row[i] for row in rows]) for i in range(len(rows[0]))]

    def single_gate_rnn(self, x: Array, k: Array) -> tuple[Array, ...]:
        u = x + k @ self.weight.T
        self.h = activate(self.activation("", "relu"), u)
        return self.h, u

    def lstm(self, x: Array, k: Array) -> tuple[Array, ...]:
        u = x + k @ self.weight.T
        if "peephole" in self.inputs:
            u = u + self.inputs["peephole"] * np.tile(self.c, 4)
        names = ["input_gate", "forget_gate", "cell_gate", "output_gate"]
        if self.options.get("forget_gate_last"):
            names[1:3] = ["cell_gate", "forget_gate"]
        gate = {
            name: activate(
                self.activation(name, "tanh" if name == "cell_gate" else "sigmoid"),
                block(u, i, self.size),
            )
            for i, name in enumerate(names)
        }
        self.c = gate["forget_gate"] * self.c + gate["input_gate"] * gate["cell_gate"]
        self.h = gate["output_gate"] * activate(self.activation("", "tanh"), self.c)
        return self.h, self.c, np.concatenate([gate[name] for name in names], 1)

    def gru(self, x: Array, k: Array) -> tuple[Array, ...]:
        size, options = self.size, self.options
        z_at, r_at = (1, 0) if options.get("reset_gate_first") else (0, 1)

        def weight(at: int) -> Array:
            return self.weight[at * size : (at + 1) * size].T

        z = activate(
            self.activation("update_gate", "sigmoid"),
            block(x, z_at, size) + k @ weight(z_at),
        )
        r = activate(
            self.activation("reset_gate", "sigmoid"),
            block(x, r_at, size) + k @ weight(r_at),
        )
        if options.get("reset_after"):
            u = (k @ weight(2) + self.inputs.get("secondary_bias", np.zeros(()))) * r
        else:
            u = (k * r) @ weight(2)
        o = activate(self.activation("output_gate", "tanh"), block(x, 2, size) + u)
        kept = 1 - z if options.get("flip_z") else z
        self.h = kept * self.h + (1 - kept) * o
        gates = [r, z, o] if options.get("reset_gate_first") else [z, r, o]
        return self.h, np.concatenate(gates, 1)


def forward(op: str, options: dict[str, Any], inputs: Inputs) -> list[Array]:
    """States, of the LSTM cells, and the training state."""
    directions = 2 if options.get("bidirectional") else 1
    x = inputs["source"]
    if "input_weight" in inputs:
        x = x @ inputs["input_weight"].T
    x = x + inputs.get("bias", np.zeros(()))
    results = []
    for d in range(directions):
        own = {"x": np.split(x, directions, -1)[d]}
        for name, value in inputs.items():
            if name == "recurrent_weight":
                own[name] = value[d] if directions == 2 else value
            elif name == "peephole":
                own[name] = value.reshape(directions, -1)[d]
            elif name == "mask":
                full = np.broadcast_to(value, (x.shape[1], value.shape[-1]))
                own[name] = np.split(full, directions, -1)[d]
            elif name in {"init_state", "init_cell", "secondary_bias"}:
                own[name] = np.split(value, directions, -1)[d]
        reverse = d == 1 if directions == 2 else bool(options.get("reverse"))
        results.append(Direction(options, own, reverse).run(op))
    return [np.concatenate(parts, -1) for parts in zip(*results, strict=True)]


def last(options: dict[str, Any], states: Array) -> Array:
    """What of the sequence comes last, of each direction."""
    if options.get("bidirectional"):
        ahead, back = np.split(states, 2, -1)
        return np.concatenate([ahead[-1], back[0]], -1)
    return np.asarray(states[0] if options.get("reverse") else states[-1])


def loss(op: str, options: dict[str, Any], inputs: Inputs, given: Inputs) -> float:
    results = forward(op, options, inputs)
    total = float(np.sum(results[0] * given["source_gradient"]))
    if "state_gradient" in given:
        total += float(np.sum(last(options, results[0]) * given["state_gradient"]))
    if "cell_gradient" in given:
        total += float(np.sum(last(options, results[1]) * given["cell_gradient"]))
    return total


def gradient(
    op: str, options: dict[str, Any], inputs: Inputs, given: Inputs, name: str
) -> Array:
    step = 1e-5
    result = np.zeros(inputs[name].shape)
    for at in np.ndindex(*result.shape):
        sides = []
        for sign in (1, -1):
            moved = dict(inputs)
            moved[name] = inputs[name].copy()
            moved[name][at] += sign * step
            sides.append(loss(op, options, moved, given))
        result[at] = (sides[0] - sides[1]) / (2 * step)
    return result
