# SPDX-License-Identifier: MIT
"""LSTM and attention for random graphs, as in `random_layers`: a value
(N, a, b, c) is read as a sequence of a steps with b c features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

import traingraph as tg

if TYPE_CHECKING:
    from .random_graph import RandomGraph
    from .random_layers import Results

Layers = tg.layers


def as_sequence(
    net: RandomGraph, x: tg.Tensor, there: torch.Tensor
) -> tuple[tg.Tensor, torch.Tensor]:
    shape = (*x.shape[:2], x.shape[2] * x.shape[3])
    return net.graph.ops.reshape(x, shape=shape), there.reshape(shape)


@dataclass
class Weights:
    """Of one layer and direction; gates in rows: input, forget, cell, output."""

    input: torch.Tensor
    hidden: torch.Tensor
    bias: torch.Tensor | None
    peephole: torch.Tensor | None


def lstm(net: RandomGraph, x: tg.Tensor, there: torch.Tensor) -> Results:
    sequence, there = as_sequence(net, x, there)
    n, steps, width = sequence.shape
    hidden, layers = net.choose.randint(1, net.widest), net.choose.randint(1, 2)
    directions = net.choose.randint(1, 2)
    batch_first = net.choose.random() < 0.7
    returns_sequences = net.choose.random() < 0.7
    sets = layers * directions
    inner = directions * hidden
    widths = [width if i % layers == 0 else inner for i in range(sets)]
    layer = Layers.LSTM(
        width,
        hidden,
        layers,
        uses_biases=(uses_biases := net.choose.random() < 0.7),
        batch_first=batch_first,
        bidirectional=directions == 2,
        returns_sequences=returns_sequences,
        result_mode="output_and_states",
        input_weights=[net.weights(4 * hidden, w) for w in widths],
        hidden_weights=[net.weights(4 * hidden, hidden) for _ in widths],
        biases=[net.random(4 * hidden) for _ in widths] if uses_biases else None,
        peephole_weights=[0.5 * net.random(4 * hidden) for _ in widths]
        if net.choose.random() < 0.3
        else None,
    )
    weights = [
        Weights(
            net.twin(layer.input_weights[i]),
            net.twin(layer.hidden_weights[i]),
            net.twin(layer.biases[i]) if layer.biases else None,
            net.twin(layer.peephole_weights[i]) if layer.peephole_weights else None,
        )
        for i in range(sets)
    ]
    if not batch_first:
        sequence = net.graph.ops.transpose(sequence, axes=(1, 0, 2))
    sources, states = [sequence], []
    num_states = net.choose.randint(0, 2)
    for _ in range(num_states):
        tensor, state = net.input((layers, directions, n, hidden), batch_axis=2)
        sources.append(tensor)
        states.append(state)
    lengths = torch.full((n,), steps)
    if net.choose.random() < 0.4:
        tensor, lengths = net.indices((n,), steps + 1, types=("int32",))
        sources.append(tensor)

    output = net.graph.node(layer, sources)
    _, last_hidden, last_cell = net.graph.result_tensors(layer)[:3]
    theirs, hidden_there, cell_there = run_lstm(there, weights, layers, states, lengths)
    if not returns_sequences:
        theirs = hidden_there[-1].permute(1, 0, 2).reshape(n, 1, inner)
    if not batch_first:
        output = net.graph.ops.transpose(output, axes=(1, 0, 2))
    results = [(output, theirs)]
    results += [
        (net.graph.ops.transpose(tensor, axes=(2, 0, 1, 3)), value.permute(2, 0, 1, 3))
        for tensor, value in ((last_hidden, hidden_there), (last_cell, cell_there))
        if net.choose.random() < 0.5
    ]
    return [net.four_axes(*pair) for pair in results]


def run_lstm(
    x: torch.Tensor,
    weights: list[Weights],
    layers: int,
    states: list[torch.Tensor],
    lengths: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Output (N, T, D H), last hidden states and cells (L, D, N, H)."""
    directions = len(weights) // layers
    last: list[list[torch.Tensor]] = [[], []]
    for layer in range(layers):
        outputs = []
        for d in range(directions):
            w = weights[d * layers + layer]
            h = c = x.new_zeros(len(x), w.hidden.shape[1])
            if states:
                h = states[0][layer, d]
            if len(states) == 2:
                c = states[1][layer, d]
            steps = range(x.shape[1])
            output: dict[int, torch.Tensor] = {}
            for t in reversed(steps) if d else steps:
                there = (t < lengths)[:, None]
                new_h, new_c = lstm_step(w, x[:, t], h, c)
                output[t] = torch.where(there, new_h, 0.0)
                h, c = torch.where(there, new_h, h), torch.where(there, new_c, c)
            outputs.append(torch.stack([output[t] for t in steps], 1))
            last[0].append(h)
            last[1].append(c)
        x = torch.cat(outputs, 2)
    last_h, last_c = (
        torch.stack(each).reshape(layers, directions, *each[0].shape) for each in last
    )
    return x, last_h, last_c


def lstm_step(
    w: Weights, x: torch.Tensor, h: torch.Tensor, c: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    gates = F.linear(x, w.input, w.bias) + F.linear(h, w.hidden)
    i, f, g, o = gates.chunk(4, 1)
    peephole = [0.0] * 4 if w.peephole is None else w.peephole.chunk(4)
    i, f = torch.sigmoid(i + peephole[0] * c), torch.sigmoid(f + peephole[1] * c)
    c_new = f * c + i * torch.tanh(g + peephole[2] * c)
    return torch.sigmoid(o + peephole[3] * c_new) * torch.tanh(c_new), c_new


def attention(net: RandomGraph, x: tg.Tensor, there: torch.Tensor) -> Results:
    query, query_there = as_sequence(net, x, there)
    key, key_there = as_sequence(net, *net.choose.choice(net.values))
    fitting = net.others(lambda shape: shape[1] == key.shape[1])
    value, value_there = as_sequence(net, *net.choose.choice(fitting))
    if net.choose.random() < 0.2:
        key = value = query
        key_there = value_there = query_there
    n, length, width = query.shape
    heads = net.choose.randint(1, 3)
    key_width, value_width = (
        heads * net.choose.randint(1, net.widest) for _ in range(2)
    )
    sizes = [
        (key_width, width),
        (key_width, key.shape[2]),
        (value_width, value.shape[2]),
        (width, value_width),
    ]
    uses_biases = net.choose.random() < 0.6
    adds_rows = net.choose.random() < 0.3
    layer = Layers.MultiheadAttention(
        width,
        heads,
        key_width,
        value_width,
        uses_biases=uses_biases,
        uses_attention_biases=adds_rows,
        adds_zero_attention=(adds_zeros := net.choose.random() < 0.3),
        weights=[net.weights(*size) for size in sizes],
        biases=[net.random(size[0]) for size in sizes] if uses_biases else None,
        attention_biases=[net.random(key_width), net.random(value_width)]
        if adds_rows
        else None,
    )
    weights = [net.twin(w) for w in layer.weights]
    biases: list[Any] = [net.twin(b) for b in layer.biases or []] or [None] * 4
    sources = [query, key, value]
    q, k, v = (
        F.linear(there, w, b)
        for there, w, b in zip(
            (query_there, key_there, value_there), weights, biases, strict=False
        )
    )
    keys = key.shape[1]
    mask = q.new_zeros(n, heads, length, keys)
    if net.choose.random() < 0.4:
        tensor, hidden = net.booleans((n, keys))
        sources.append(tensor)
        mask = mask.masked_fill(hidden[:, None, None], -torch.inf)
    if net.choose.random() < 0.4:
        count = net.choose.choice((1, n * heads))
        varies = 0 if count != 1 else None
        shape = (count, length, keys)
        if net.choose.random() < 0.5:
            tensor, hidden = net.booleans(shape, batch_axis=varies)
            hidden = hidden.reshape(-1, heads if count != 1 else 1, length, keys)
            mask = mask.masked_fill(hidden, -torch.inf)
        else:
            tensor, added = net.input(shape, batch_axis=varies)
            mask = mask + added.reshape(-1, heads if count != 1 else 1, length, keys)
        sources.append(tensor)
    if adds_rows:
        added_k, added_v = (net.twin(b) for b in layer.attention_biases or [])
        k = torch.cat([k, added_k.expand(n, 1, -1)], 1)
        v = torch.cat([v, added_v.expand(n, 1, -1)], 1)
    if adds_zeros:
        k, v = F.pad(k, (0, 0, 0, 1)), F.pad(v, (0, 0, 0, 1))
    mask = F.pad(mask, (0, k.shape[1] - keys))
    q, k, v = (t.unflatten(2, (heads, -1)).transpose(1, 2) for t in (q, k, v))
    scores = q @ k.mT / (key_width // heads) ** 0.5 + mask
    # A query that sees no key has attention 0.
    blind = (scores == -torch.inf).all(3, keepdim=True)
    shares = torch.softmax(scores.masked_fill(blind, 0.0), 3).masked_fill(blind, 0.0)
    merged = (shares @ v).transpose(1, 2).flatten(2)
    result = F.linear(merged, weights[3], biases[3])
    return [net.four_axes(net.graph.node(layer, sources), result)]


STEPS = (lstm, lstm, attention, attention)
