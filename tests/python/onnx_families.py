# SPDX-License-Identifier: MIT
"""What random networks of `test_onnx_round_trips` have beside `network_families`: more
ops, options and inputs. Each takes tensors of two to four axes, and may refuse them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

L = tg.layers


class Network:
    """A graph while it grows, with the inputs that its nodes asked for."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.graph = tg.Graph()
        self.inputs: dict[str, tg.Tensor] = {}
        self.limits: dict[str, int] = {}

    def source(
        self, shape: tuple[int, ...], axis: int | None, kind: str = "float32"
    ) -> tg.Tensor:
        name = f"in{len(self.inputs)}"
        self.inputs[name] = tg.Tensor(shape, kind, name=name, batch_axis=axis)
        return self.inputs[name]

    def indices(self, shape: tuple[int, ...], limit: int, axis: int | None) -> Any:
        tensor = self.source(shape, axis, self.rng.choice(["int32", "int64"]))
        self.limits[tensor.name] = limit
        return tensor

    def constant(self, *shape: int) -> tg.Tensor:
        values = np.random.default_rng(self.rng.randrange(1 << 30))
        data = values.standard_normal(shape).astype(np.float32)
        name = f"constant{self.rng.randrange(1 << 30)}"
        return tg.Tensor(shape, name=name, data=data, batch_axis=None)

    def flag(self) -> bool:
        return self.rng.random() < 0.5

    def sequence(self, x: tg.Tensor) -> tg.Tensor:
        return self.graph.ops.reshape(x, shape=(*x.shape[:2], -1))


def recurrent(net: Network, x: tg.Tensor) -> tg.Tensor:
    rng, graph = net.rng, net.graph
    x = net.sequence(x)
    samples, steps, width = x.shape
    kind, hidden = rng.choice([L.LSTM, L.GRU, L.RNN]), rng.randint(1, 3)
    layers, directions = rng.randint(1, 2), rng.randint(1, 2)
    options: dict[str, Any] = {}
    if kind is L.GRU:
        options["reset_after"] = net.flag()
    elif kind is L.RNN:
        options["activation"] = rng.choice(["tanh", "relu", "sigmoid"])
    else:
        gate = rng.choice(["sigmoid", "relu"])
        options["gate_activations"] = [gate, gate, "tanh", gate]
    layer = kind(
        width,
        hidden,
        layers,
        bidirectional=directions == 2,
        returns_sequences=net.flag(),
        uses_biases=net.flag(),
        **options,
    )
    sources = [x]
    has_states = net.flag()
    for _ in range((2 if kind is L.LSTM else 1) * has_states):
        shape = (layers, directions, samples, hidden)
        if net.flag():
            sources.append(net.source(shape, 2))
        else:
            sources.append(graph.ops.fill(shape=shape, value=0.25))
    if net.flag():
        sources.append(net.source((samples,), 0, "int32"))
        net.limits[sources[-1].name] = steps + 1
    return graph.node(layer, sources)


def attention(net: Network, x: tg.Tensor) -> tg.Tensor:
    x = net.sequence(x)
    samples, steps, width = x.shape
    heads = net.rng.randint(1, 2)
    layer = L.MultiheadAttention(
        width,
        heads,
        2 * heads,
        4 * heads,
        uses_attention_biases=net.flag(),
        adds_zero_attention=net.flag(),
    )
    sources = [x, x, x]
    if net.flag():
        sources.append(net.source((samples, steps), 0, "boolean"))
    # Whoever loads such a mask does not know how several queries of a sample lie.
    is_single = samples == net.inputs["x"].shape[0]
    of_heads = net.rng.choice([None, False, is_single])
    if of_heads is not None:
        shape = (samples * heads if of_heads else 1, steps, steps)
        axis = 0 if of_heads else None
        sources.append(net.source(shape, axis, net.rng.choice(["boolean", "float32"])))
    return net.graph.node(layer, sources)


def normalization(net: Network, x: tg.Tensor) -> tg.Tensor:
    scale = net.graph.ops.activation(net.source((x.shape[1],), None), type="sigmoid")
    groups = net.rng.choice([1, x.shape[1]])
    return net.graph.ops.sample_norm(x, scale, net.constant(x.shape[1]), groups=groups)[
        0
    ]


def batch_norm(net: Network, x: tg.Tensor) -> tg.Tensor:
    return net.graph.node(L.BatchNormalization(x.shape[1]), x)


def look_up(net: Network, x: tg.Tensor) -> tg.Tensor:
    indices = net.indices((x.shape[0], 2), 5, 0)
    layer = L.Embedding(5, 3, maximum_norm=net.rng.choice([None, 0.5]))
    rows = net.graph.ops.reshape(net.graph.node(layer, indices), shape=(x.shape[0], 6))
    flat = net.graph.ops.reshape(x, shape=(x.shape[0], -1))
    return net.graph.ops.concatenate(flat, rows)


def gather(net: Network, x: tg.Tensor) -> tg.Tensor:
    axis = net.rng.randrange(1, len(x.shape))
    shape: tuple[int, ...] = (2,)
    is_by_element = net.flag()
    if is_by_element:
        shape = (*x.shape[:axis], 2, *x.shape[axis + 1 :])
    indices = net.indices(shape, x.shape[axis], 0 if is_by_element else None)
    return net.graph.ops.gather(x, indices, axis=axis)


def scatter(net: Network, x: tg.Tensor) -> tg.Tensor:
    axis = net.rng.randrange(1, len(x.shape))
    indices = net.indices((2,), x.shape[axis], None)
    source = net.source((*x.shape[:axis], 2, *x.shape[axis + 1 :]), 0)
    return net.graph.ops.scatter(source, indices, x, axis=axis, reduction_type="sum")


def join(net: Network, x: tg.Tensor) -> tg.Tensor:
    """With what is the same for all samples."""
    axis = net.rng.randrange(1, len(x.shape))
    shape = (*x.shape[:axis], net.rng.randint(1, 2), *x.shape[axis + 1 :])
    if net.flag():
        other = net.graph.ops.fill(shape=shape, value=net.rng.choice([0.0, 1.5]))
    else:
        row = net.constant(1, *shape[1:])
        other = net.graph.ops.broadcast_to(row, shape=shape)
    return net.graph.ops.concatenate(x, other, axis=axis)


def choice(net: Network, x: tg.Tensor) -> tg.Tensor:
    zero = net.graph.ops.fill(shape=x.shape, value=0.0)
    above = net.graph.ops.compare(
        x, zero, operation=net.rng.choice(["greater", "less"])
    )
    mask = net.source(x.shape, 0, "boolean")
    kinds = ["less", "greater", "less_or_equal", "greater_or_equal", "logical_nand"]
    both = net.graph.ops.compare(above, mask, operation=net.rng.choice(kinds))
    return net.graph.ops.select(both, x, net.constant(1))


def part(net: Network, x: tg.Tensor) -> tg.Tensor:
    axis = net.rng.randrange(len(x.shape))
    start, end = [0] * len(x.shape), list(x.shape)
    if axis > 0:
        start[axis] = net.rng.randrange(x.shape[axis])
    if net.flag():
        return net.graph.ops.slice(x, start=start, end=end)
    strides = [1, *(net.rng.randint(1, 2) for _ in x.shape[1:])]
    return net.graph.ops.slice(x, start=start, end=end, stride=strides)


def padding(net: Network, x: tg.Tensor) -> tg.Tensor:
    kind = net.rng.choice(["constant", "replicate"])
    sizes = [[0, *(net.rng.randint(0, 1) for _ in x.shape[1:])] for _ in range(2)]
    value = 0.5 if kind == "constant" else 0.0
    before, after = sizes
    return net.graph.ops.pad(x, type=kind, before=before, after=after, value=value)


def sampled(net: Network, x: tg.Tensor) -> tg.Tensor:
    sizes = [net.rng.randint(1, 6) for _ in x.shape[2:]]
    mode = net.rng.choice(["nearest", "linear"])
    aligned = mode == "linear" and net.flag()
    return net.graph.node(L.Upsample(sizes, mode, aligned), x)


def pooling(net: Network, x: tg.Tensor) -> tg.Tensor:
    make = net.rng.choice([L.MaxPooling, L.AveragePooling, L.L2NormPooling])
    dilation = net.rng.randint(1, 2)
    return net.graph.node(
        make(
            net.rng.randint(1, 3),
            net.rng.randint(1, 2),
            net.rng.choice([0, 1, "same"]),
            dilation_rates=dilation,
            # With both, padding may be as large as the window.
            ceil_mode=dilation == 1 and net.flag(),
        ),
        x,
    )


def convolution(net: Network, x: tg.Tensor) -> tg.Tensor:
    channels = x.shape[1]
    groups = net.rng.choice([1, channels])
    return net.graph.node(
        L.Convolution(
            channels,
            groups * net.rng.randint(1, 2),
            (net.rng.randint(1, 3), net.rng.randint(1, 3)),
            strides=net.rng.randint(1, 2),
            dilation_rates=net.rng.randint(1, 2),
            padding=net.rng.choice(["same", "valid"]),
            group_count=groups,
            convolution_type=net.rng.choice(["standard", "transposed"]),
            uses_biases=net.flag(),
        ),
        x,
    )


def turned(net: Network, x: tg.Tensor) -> tg.Tensor:
    """The batch on another axis, and back."""
    order = list(range(len(x.shape)))
    net.rng.shuffle(order)
    y = net.graph.ops.activation(
        net.graph.ops.transpose(x, axes=order), type="soft_sign"
    )
    axis = order.index(0)
    other = net.constant(*(1 if k == axis else n for k, n in enumerate(y.shape)))
    y = net.graph.ops.binary(y, other, operation="max")
    return net.graph.ops.transpose(y, axes=[order.index(k) for k in range(len(order))])


def product(net: Network, x: tg.Tensor) -> tg.Tensor:
    other = net.constant(x.shape[-1], 3)
    if net.flag():
        return net.graph.ops.matmul(x, other, net.constant(3), alpha=0.5)
    return net.graph.ops.matmul(x, x, transposes_y=True) if len(x.shape) > 2 else x


def several(net: Network, x: tg.Tensor) -> tg.Tensor:
    """Goes on with an input of several entries for each sample."""
    many = net.source((x.shape[0] * net.rng.randint(2, 3), 2, 3), 0)
    total = net.graph.ops.reduce(many, type="sum", axes=(1,))
    return net.graph.ops.binary(many, total, operation="subtract")


FAMILIES: dict[str, Callable[[Network, tg.Tensor], tg.Tensor]] = {
    "recurrent": recurrent,
    "attention": attention,
    "normalization": normalization,
    "batch norm": batch_norm,
    "look up": look_up,
    "gather": gather,
    "scatter": scatter,
    "join": join,
    "choice": choice,
    "part": part,
    "padding": padding,
    "sampled": sampled,
    "pooling": pooling,
    "convolution": convolution,
    "turned": turned,
    "product": product,
    "several": several,
}
