# SPDX-License-Identifier: MIT
"""Recurrent operators: their weights become those of a layer, gates reordered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import layers
from ._node import Node, maps
from ._problems import Unmappable

if TYPE_CHECKING:
    from .. import Tensor
    from .._core import ActivationTypeName

    Array = np.ndarray[Any, Any]

ATTRIBUTES = (
    "direction hidden_size layout clip activations activation_alpha activation_beta"
)

ACTIVATIONS: dict[str, ActivationTypeName] = {
    "Sigmoid": "sigmoid",
    "Tanh": "tanh",
    "Relu": "relu",
}
"""Those of ONNX that take no parameters and are the same here."""


def reordered(array: Array) -> Array:
    """Gates input, output, forget, cell as input, forget, cell, output."""
    i, o, f, c = np.split(array, 4)
    return np.concatenate([i, f, c, o])


def all_peepholes(array: Array) -> Array:
    """Orders the peepholes of input, output and forget gate; the cell's are zero."""
    i, o, f = np.split(array, 3)
    return np.concatenate([i, f, np.zeros_like(i), o])


def reset_first(array: Array) -> Array:
    """Gates update, reset, candidate as reset, update, candidate."""
    z, r, h = np.split(array, 3)
    return np.concatenate([r, z, h])


def backward_half(node: Node, x: Tensor, axis: int, size: int) -> Tensor:
    start, ones = [0] * len(x.shape), [1] * len(x.shape)
    start[axis] = size
    return node.graph.ops.slice(x, start=start, end=x.shape, stride=ones)


class Directions:
    """What a node has for each direction, and its results for ONNX.

    The layer has both directions where the node has the backward one alone.
    """

    def __init__(self, node: Node, activations: list[str]) -> None:
        """`activations` are those of a direction when the node names none."""
        self.node = node
        self.is_reverse = node.attribute("direction", "forward") == "reverse"
        self.count = 2 if self.is_reverse else node.constant(1).shape[0]
        self.hidden = int(node.required("hidden_size"))
        if self.hidden != node.constant(2).shape[-1]:
            raise ValueError("hidden_size is not that of the recurrent weights")
        self.is_batch_first = bool(node.attribute("layout", 0))
        self.activations = self._activations(activations)
        for name in ("clip", "activation_alpha", "activation_beta"):
            if node.attribute(name) is not None:
                raise Unmappable(f"there is no {name}")

    def _activations(self, default: list[str]) -> list[ActivationTypeName]:
        """Gives activations as a layer takes them: the same in all directions."""
        given = self.node.attribute("activations")
        if given is None:
            given = default
        # In any case of letters, as ONNX says.
        names = [str(n, "utf-8") if isinstance(n, bytes) else n for n in given]
        known = [ACTIVATIONS.get(n.capitalize()) for n in names]
        first = [kind for kind in known[: len(default)] if kind is not None]
        if not first or known != first * (len(names) // len(default) or 1):
            raise Unmappable(f"its activations are {', '.join(names)}")
        return first

    def sets(self, index: int) -> Array:
        repeats = 2 if self.is_reverse else 1
        return np.repeat(self.node.constant(index), repeats, axis=0)

    def biases(self, gates: int) -> tuple[list[Array], list[Array]]:
        """Gives the biases of the source and those of the state, for each direction."""
        both = np.zeros((self.count, 2 * gates * self.hidden), np.float32)
        if self.node.has(3):
            both = self.sets(3)
        pairs = [np.split(b, 2) for b in both]
        return [w for w, _ in pairs], [r for _, r in pairs]

    def tensors(self, index: int, arrays: list[Array], word: str = "") -> list[Tensor]:
        """Parameters with the names of an input; by direction, where there are two."""
        node = self.node
        given = node.names[index] if node.has(index) else f"{node.name}.bias"
        is_trained = node.has(index) and node.model.is_trained(given)
        names = [given + word]
        if len(arrays) == 2:
            names = [f"{given}{word}.forward", f"{given}{word}.backward"]
        result = []
        for name, array in zip(names, arrays, strict=True):
            unique = node.model.names.tensor(name, given)
            # The forward half of a layer that is read backward alone is no weight.
            is_read = not (self.is_reverse and name.endswith(".forward"))
            tensor = node.model.parameter_tensor(unique, array, is_trained and is_read)
            result.append(tensor)
        return result

    def options(self) -> dict[str, Any]:
        return {
            "bidirectional": self.count == 2,
            "batch_first": self.is_batch_first,
            "result_mode": "output_and_states",
        }

    def states(self, count: int) -> list[Tensor]:
        """Gives the states, or None where all begin with zeros, as a layer does anyway."""
        node = self.node
        given = [i for i in (5, 6)[:count] if node.has(i)]
        if all(node.is_constant(i) and not node.constant(i).any() for i in given):
            return []
        if len(given) < count:
            raise Unmappable("of the initial states one is missing")
        states = [node.tensor(i) for i in given]
        if self.is_batch_first:
            states = [node.graph.ops.transpose(s, axes=(1, 0, 2)) for s in states]
        if self.is_reverse:  # the forward half may begin with anything
            states = [node.graph.ops.concatenate(s, s, axis=0) for s in states]
        return states

    def run(self, layer: layers.Layer, num_states: int) -> list[Tensor]:
        node, hidden = self.node, self.hidden
        lengths = [node.tensor(4)] if node.has(4) else []
        node.layer(layer, node.tensor(0), *self.states(num_states), *lengths)
        y, *lasts = node.graph.result_tensors(layer)
        if self.is_reverse:
            y = backward_half(node, y, axis=2, size=hidden)
            lasts = [backward_half(node, s, axis=1, size=1) for s in lasts]
        return self.results(y, lasts)

    def results(self, y: Tensor, lasts: list[Tensor]) -> list[Tensor]:
        """Gives results as ONNX has them, of all steps (time, N, directions * hidden), or with the
        first two axes exchanged, and of the last ones."""
        node, hidden = self.node, self.hidden
        directions = 1 if self.is_reverse else self.count
        outer = y.shape[:2]
        y = node.reshaped(y, (*outer, directions, hidden))
        samples = outer[0] if self.is_batch_first else outer[1]
        lasts = [node.reshaped(s, (directions, samples, hidden)) for s in lasts]
        if self.is_batch_first:
            lasts = [node.graph.ops.transpose(s, axes=(1, 0, 2)) for s in lasts]
        else:
            y = node.graph.ops.transpose(y, axes=(0, 2, 1, 3))
        return [y, *lasts]


HOST = (1, 2, 3, 7)


@maps("LSTM", attributes=f"input_forget {ATTRIBUTES}", host=HOST)
def lstm(node: Node) -> list[Tensor]:
    if node.attribute("input_forget", 0):
        raise Unmappable("input and forget gate are two")
    d = Directions(node, ["Sigmoid", "Tanh", "Tanh"])
    of_source, of_state = d.biases(4)
    both = [reordered(w + r) for w, r in zip(of_source, of_state, strict=True)]
    peepholes = None
    if node.has(7):
        peepholes = d.tensors(7, [all_peepholes(p) for p in d.sets(7)])
    layer = layers.LSTM(
        node.tensor(0).shape[2],
        d.hidden,
        **d.options(),
        input_weights=d.tensors(1, [reordered(w) for w in d.sets(1)]),
        hidden_weights=d.tensors(2, [reordered(r) for r in d.sets(2)]),
        biases=d.tensors(3, both),
        peephole_weights=peepholes,
        gate_activations=[d.activations[k] for k in (0, 0, 1, 0)],
        output_result_activation=d.activations[2],
    )
    return d.run(layer, num_states=2)


@maps("GRU", attributes=f"linear_before_reset {ATTRIBUTES}", host=HOST)
def gru(node: Node) -> list[Tensor]:
    d = Directions(node, ["Sigmoid", "Tanh"])
    is_after = bool(node.attribute("linear_before_reset", 0))
    biases, secondary = [], []
    for w, r in zip(*d.biases(3), strict=True):
        candidate = np.split(r, 3)[2]
        both = w + r
        if is_after:  # that of the state stays apart
            both[2 * d.hidden :] -= candidate
            secondary.append(candidate)
        biases.append(reset_first(both))
    weights: dict[str, Any] = {
        "input_weights": d.tensors(1, [reset_first(w) for w in d.sets(1)]),
        "hidden_weights": d.tensors(2, [reset_first(r) for r in d.sets(2)]),
        "biases": d.tensors(3, biases),
        "secondary_biases": d.tensors(3, secondary, ".state") if secondary else None,
    }
    if d.activations != ["sigmoid", "tanh"]:
        return gru_of_ops(d, **weights)
    layer = layers.GRU(
        node.tensor(0).shape[2],
        d.hidden,
        **d.options(),
        **weights,
        reset_after=is_after,
    )
    return d.run(layer, num_states=1)


def gru_of_ops(
    d: Directions,
    input_weights: list[Tensor],
    hidden_weights: list[Tensor],
    biases: list[Tensor],
    secondary_biases: list[Tensor] | None,
) -> list[Tensor]:
    """One whose activations the layer does not have."""
    node, graph = d.node, d.node.graph
    x = node.tensor(0)
    if d.is_batch_first:
        x = graph.ops.transpose(x, axes=(1, 0, 2))
    samples = x.shape[1]
    options: dict[str, Any] = {"reset_gate_first": True, "name": node.name}
    kinds = (d.activations[0], d.activations[0], d.activations[1])
    for gate, kind in zip(("update", "reset", "output"), kinds, strict=True):
        options[f"{gate}_gate_activation"] = kind
        options[f"{gate}_gate_a"] = 0.0 if kind == "relu" else 1.0
    outputs, lasts = [], []
    for k in (1,) if d.is_reverse else range(d.count):
        state = [
            graph.ops.slice(s, start=(k, 0, 0), end=(k + 1, samples, d.hidden))
            for s in d.states(1)
        ]
        y, _, last = graph.ops.gru_steps(
            graph.ops.matmul(x, input_weights[k], biases[k], transposes_y=True),
            hidden_weights[k],
            node.reshaped(state[0], (samples, d.hidden)) if state else None,
            secondary_bias=secondary_biases[k] if secondary_biases else None,
            lengths=node.tensor(4) if node.has(4) else None,
            reverse=k == 1,
            reset_after=secondary_biases is not None,
            **options,
        )
        outputs.append(y)
        lasts.append(node.reshaped(last, (1, samples, d.hidden)))
        for group in (input_weights, hidden_weights, biases, secondary_biases):
            if group is not None:
                node.model.train(group[k])
    both = len(outputs) == 2
    y = graph.ops.concatenate(*outputs, axis=2) if both else outputs[0]
    last = graph.ops.concatenate(*lasts, axis=0) if both else lasts[0]
    if d.is_batch_first:
        y = graph.ops.transpose(y, axes=(1, 0, 2))
    return d.results(y, [last])


@maps("RNN", attributes=ATTRIBUTES, host=HOST)
def rnn(node: Node) -> list[Tensor]:
    d = Directions(node, ["Tanh"])
    layer = layers.RNN(
        node.tensor(0).shape[2],
        d.hidden,
        **d.options(),
        input_weights=d.tensors(1, list(d.sets(1))),
        hidden_weights=d.tensors(2, list(d.sets(2))),
        biases=d.tensors(3, [w + r for w, r in zip(*d.biases(1), strict=True)]),
        activation=d.activations[0],
    )
    return d.run(layer, num_states=1)
