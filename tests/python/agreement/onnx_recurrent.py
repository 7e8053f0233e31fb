# SPDX-License-Identifier: MIT
"""ONNX's recurrent operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import traingraph as tg

from .onnx_import import Node, maps

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]


def reordered(array: Array) -> Array:
    """Gates input, output, forget, cell as input, forget, cell, output."""
    i, o, f, c = np.split(array, 4)
    return np.concatenate([i, f, c, o])


def all_peepholes(array: Array) -> Array:
    """Those of input, output and forget gate; the cell's are zero."""
    i, o, f = np.split(array, 3)
    return np.concatenate([i, f, np.zeros_like(i), o])


def backward_half(node: Node, x: tg.Tensor, axis: int, size: int) -> tg.Tensor:
    start = [0] * len(x.shape)
    start[axis] = size
    return node.layer(tg.layers.Slice(start, x.shape), x)


class Directions:
    """What a node has for each direction, and its results for ONNX.

    The layer has both directions where the node has the backward one alone.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.is_reverse = node.attribute("direction") == "reverse"
        self.count = 2 if self.is_reverse else node.constant(1).shape[0]
        self.hidden = int(node.attribute("hidden_size"))
        self.is_batch_first = bool(node.attribute("layout", 0))

    def sets(self, index: int) -> Array:
        repeats = 2 if self.is_reverse else 1
        return np.repeat(self.node.constant(index), repeats, axis=0)

    def biases(self, gates: int) -> tuple[list[Array], list[Array]]:
        """Of the source and of the state, for each direction."""
        both = np.zeros((self.count, 2 * gates * self.hidden), np.float32)
        if self.node.has(3):
            both = self.sets(3)
        pairs = [np.split(b, 2) for b in both]
        return [w for w, _ in pairs], [r for _, r in pairs]

    def options(self) -> dict[str, Any]:
        return {
            "is_bidirectional": self.count == 2,
            "batch_first": self.is_batch_first,
            "result_mode": "output_and_states",
        }

    def run(self, layer: tg.layers.Layer, num_states: int) -> list[tg.Tensor]:
        node, hidden = self.node, self.hidden
        states = [node.tensor(i) for i in (5, 6)[:num_states] if node.has(i)]
        lengths = [node.tensor(4)] if node.has(4) else []
        node.graph.node(layer, [node.tensor(0), *states, *lengths])
        y, *lasts = node.graph.result_tensors(layer)
        directions = self.count
        if self.is_reverse:
            assert not states
            directions = 1
            y = backward_half(node, y, axis=2, size=hidden)
            lasts = [backward_half(node, s, axis=1, size=1) for s in lasts]
        outer = y.shape[:2]
        y = node.reshaped(y, (*outer, directions, hidden))
        samples = outer[0] if self.is_batch_first else outer[1]
        lasts = [node.reshaped(s, (directions, samples, hidden)) for s in lasts]
        if self.is_batch_first:
            lasts = [node.graph.transpose((1, 0, 2), s) for s in lasts]
        else:
            y = node.graph.transpose((0, 2, 1, 3), y)
        return [y, *lasts]


@maps("LSTM")
def lstm(node: Node) -> list[tg.Tensor]:
    d = Directions(node)
    of_source, of_state = d.biases(4)
    layer = tg.layers.LSTM(
        node.tensor(0).shape[2],
        d.hidden,
        **d.options(),
        input_weights=[reordered(w) for w in d.sets(1)],
        hidden_weights=[reordered(r) for r in d.sets(2)],
        biases=[reordered(w + r) for w, r in zip(of_source, of_state, strict=True)],
        peephole_weights=[all_peepholes(p) for p in d.sets(7)] if node.has(7) else None,
    )
    return d.run(layer, num_states=2)


def reset_first(array: Array) -> Array:
    """Gates update, reset, candidate as reset, update, candidate."""
    z, r, h = np.split(array, 3)
    return np.concatenate([r, z, h])


@maps("GRU")
def gru(node: Node) -> list[tg.Tensor]:
    d = Directions(node)
    is_after = bool(node.attribute("linear_before_reset", 0))
    biases, secondary = [], []
    for w, r in zip(*d.biases(3), strict=True):
        candidate = np.split(r, 3)[2]
        both = w + r
        if is_after:  # that of the state stays apart
            both[2 * d.hidden :] -= candidate
            secondary.append(candidate)
        biases.append(reset_first(both))
    layer = tg.layers.GRU(
        node.tensor(0).shape[2],
        d.hidden,
        **d.options(),
        input_weights=[reset_first(w) for w in d.sets(1)],
        hidden_weights=[reset_first(r) for r in d.sets(2)],
        biases=biases,
        secondary_biases=secondary or None,
        reset_after=is_after,
    )
    return d.run(layer, num_states=1)


@maps("RNN")
def rnn(node: Node) -> list[tg.Tensor]:
    d = Directions(node)
    layer = tg.layers.RNN(
        node.tensor(0).shape[2],
        d.hidden,
        **d.options(),
        input_weights=list(d.sets(1)),
        hidden_weights=list(d.sets(2)),
        biases=[w + r for w, r in zip(*d.biases(1), strict=True)],
    )
    return d.run(layer, num_states=1)
