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


@maps("LSTM")
def lstm(node: Node) -> list[tg.Tensor]:
    # The backward half of both directions, which the layer has.
    is_reverse = node.attribute("direction") == "reverse"
    directions = 2 if is_reverse else node.constant(1).shape[0]

    def sets(index: int) -> Array:
        return np.repeat(node.constant(index), 2 if is_reverse else 1, axis=0)

    hidden = int(node.attribute("hidden_size"))
    is_batch_first = bool(node.attribute("layout", 0))
    no_biases = np.zeros((directions, 8 * hidden), np.float32)
    biases = sets(3) if node.has(3) else no_biases
    x = node.tensor(0)
    layer = tg.layers.LSTM(
        x.shape[2],
        hidden,
        is_bidirectional=directions == 2,
        batch_first=is_batch_first,
        result_mode="output_and_states",
        input_weights=[reordered(w) for w in sets(1)],
        hidden_weights=[reordered(r) for r in sets(2)],
        biases=[reordered(sum(np.split(b, 2))) for b in biases],
        peephole_weights=[all_peepholes(p) for p in sets(7)] if node.has(7) else None,
    )
    states = [node.tensor(i) for i in (5, 6) if node.has(i)]
    lengths = [node.tensor(4)] if node.has(4) else []
    node.graph.node(layer, [x, *states, *lengths])
    y, h, c = node.graph.result_tensors(layer)
    if is_reverse:
        assert not states
        directions = 1
        y = backward_half(node, y, axis=2, size=hidden)
        h, c = (backward_half(node, s, axis=1, size=1) for s in (h, c))
    outer = y.shape[:2]
    y = node.reshaped(y, (*outer, directions, hidden))
    samples = outer[0] if is_batch_first else outer[1]
    h, c = (node.reshaped(s, (directions, samples, hidden)) for s in (h, c))
    if is_batch_first:
        h, c = (node.graph.transpose((1, 0, 2), s) for s in (h, c))
    else:
        y = node.graph.transpose((0, 2, 1, 3), y)
    return [y, h, c]
