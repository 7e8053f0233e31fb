# SPDX-License-Identifier: MIT
"""The table of `random_ops`: a row for each op and layer, by name.

Each function draws shapes and options, builds the op here and spells it out in
PyTorch. Rows of `RandomGraph`, `random_layers` and `random_sequences` are the same
functions as those of random graphs; activations, functions and losses are the
tables of their own tests.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

import traingraph as tg

from . import random_layers, random_sequences
from .random_op_windows import ROWS as WINDOWS
from .random_ops import Row
from .test_torch_agreement import MATCHES
from .test_torch_losses import ACTIVATIONS, BINARY, LOSSES, UNARY, data_for, reduced
from .torch_recurrent import (
    module_of,
    names_of,
    randomize_biases,
    secondary_biases,
    weights_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .random_graph import RandomGraph
    from .random_ops import Results

    Build = Callable[[RandomGraph], Results]

Layers = tg.layers
ALL = ("float32", "mixed_bfloat16", "mixed_float16")


def step(function: Callable[..., Results]) -> Build:
    """A step of random graphs, over one or two values of their own."""

    def build(net: RandomGraph) -> Results:
        results: Results = []
        while not results:  # some refuse what they find
            net.batch = net.choose.choice((1, 2, 5, 16))
            net.widest = net.choose.choice((3, 5, 9, 24))
            net.values.clear()
            for _ in range(net.choose.choice((1, 1, 2))):
                net.add_source()
            results = function(net, *net.values[-1])
        return results

    return build


def of_net(name: str) -> Build:
    return step(lambda net, *pair: getattr(net, name)(*pair))


def activation(name: str) -> Build:
    layer, reference = ACTIVATIONS[name]

    def build(net: RandomGraph) -> Results:
        tensor, there = some_input(net, scale=3)
        one = Layers.Activation(layer.descriptor)
        return [(net.graph.node(one, tensor), reference(there))]

    return build


def some_shape(net: RandomGraph, ranks: tuple[int, ...] = (1, 2, 3, 4)) -> list[int]:
    ends = (1, 2, 3, 7, 16, 33)
    return [net.choose.choice(ends) for _ in range(net.choose.choice(ranks))]


def some_input(
    net: RandomGraph,
    shape: list[int] | None = None,
    *,
    scale: float = 1,
    between: tuple[float, float] | None = None,
) -> tuple[tg.Tensor, torch.Tensor]:
    shape = some_shape(net) if shape is None else shape
    values = scale * net.random(*shape)
    if between is not None:
        values = net.rng.uniform(*between, shape).astype("float32")
    tensor = tg.Tensor(values.shape, name=f"x{len(net.sources)}")
    net.sources.append((tensor, net.leaf(values)))
    return net.sources[-1]


def unary(name: str) -> Build:
    def build(net: RandomGraph) -> Results:
        x, there = some_input(net, between=UNARY[name])
        y = net.graph.ops.unary(x, operation=name)
        return [(y, getattr(torch, name)(there))]

    return build


def binary(name: str) -> Build:
    def build(net: RandomGraph) -> Results:
        shape = some_shape(net)
        other = [n if net.choose.random() < 0.7 else 1 for n in shape]
        other = other[net.choose.randint(0, len(other) - 1) :]
        (x, x_there), (y, y_there) = (
            some_input(net, s, between=(0.5, 2)) for s in (shape, other)
        )
        result = net.graph.ops.binary(x, y, operation=name)
        return [(result, BINARY[name](x_there, y_there))]

    return build


def loss(name: str) -> Build:
    kind, make, reference = LOSSES[name]
    if name == "log":
        reference = log_loss

    def build(net: RandomGraph) -> Results:
        shape = net.choose.choice(((6, 5), (1, 3), (33, 10), (3, 4, 2, 5)))
        if kind == "unit":
            shape = shape[:2]
        reduction = net.choose.choice(("none", "sum", "mean"))
        y, labels = data_for(kind, net.rng, shape)
        tensor = tg.Tensor(shape, name="x0")
        net.sources.append((tensor, net.leaf(y)))
        there = net.sources[-1][1]
        result = net.graph.ops.loss(
            tensor, net.constant(labels, 0), **loss_options(make(reduction))
        )
        theirs = reference(there, torch.from_numpy(labels).to(there.dtype), reduction)
        return [(result, theirs.reshape(result.shape))]

    return build


def log_loss(y: torch.Tensor, t: torch.Tensor, reduction: str) -> torch.Tensor:
    """With the 1e-7 that PyTorch's own lacks."""
    elements = -(t * (y + 1e-7).log() + (1 - t) * (1 - y + 1e-7).log())
    return reduced(elements, reduction)


def loss_options(made: Any) -> dict[str, Any]:
    d = made.descriptor
    return {
        "type": d.loss_type,
        "reduction": d.reduction_type,
        "label_smoothing": d.label_smoothing,
        "epsilon": d.epsilon,
        "delta": d.delta,
    }


def reduce(kind: str) -> Build:
    def build(net: RandomGraph) -> Results:
        x, there = some_input(net)
        rank = len(x.shape)
        axes = sorted(net.choose.sample(range(rank), net.choose.randint(1, rank)))
        y = net.graph.ops.reduce(x, type=kind, axes=axes)
        theirs = {
            "sum": lambda: there.sum(axes, keepdim=True),
            "mean": lambda: there.mean(axes, keepdim=True),
            "max": lambda: there.amax(axes, keepdim=True),
            "min": lambda: there.amin(axes, keepdim=True),
            "l1_norm": lambda: there.abs().sum(axes, keepdim=True),
        }[kind]()
        return [(y, theirs)]

    return build


def squared_norm(net: RandomGraph) -> Results:
    x, there = some_input(net)
    y = net.graph.ops.squared_norm(x)
    return [(y, there.detach().square().sum().reshape(y.shape))]


def cumulative_sum(net: RandomGraph) -> Results:
    x, there = some_input(net)
    axis = len(x.shape) - 1
    y = net.graph.ops.cumulative_sum(x, axis=axis, reverse=True)
    return [(y, there.flip(axis).cumsum(axis).flip(axis))]


def broadcast_to(net: RandomGraph) -> Results:
    shape = some_shape(net)
    x, there = some_input(net, [n if net.choose.random() < 0.5 else 1 for n in shape])
    return [(net.graph.ops.broadcast_to(x, shape=shape), there.expand(shape))]


def conditions(net: RandomGraph) -> Results:
    """Comparisons, their negation and choices by them, casts and constants."""
    shape = some_shape(net)
    (x, x_there), (y, y_there) = (some_input(net, shape) for _ in range(2))
    name = net.choose.choice(("less", "greater", "less_or_equal", "greater_or_equal"))
    function = {
        "less": torch.lt,
        "greater": torch.gt,
        "less_or_equal": torch.le,
        "greater_or_equal": torch.ge,
    }[name]
    condition = net.graph.ops.compare(x, y, operation=name)
    there = function(x_there, y_there)
    if net.choose.random() < 0.5:
        condition, there = net.graph.ops.logical_not(condition), ~there
    half = net.graph.ops.fill(shape=(1,), value=0.5)
    other = net.graph.ops.binary(y, half, operation="multiply")
    mask = net.graph.ops.cast(condition, data_type="float32")
    result = net.graph.ops.select(condition, x, other)
    return [
        (result, torch.where(there, x_there, 0.5 * y_there)),
        (mask, there.to(x_there.dtype)),
    ]


def matmul(net: RandomGraph) -> Results:
    sizes = (1, 2, 5, 16, 31, 64, 130, 300)
    m, n, k = (net.choose.choice(sizes) for _ in range(3))
    lead = net.choose.choice(([], [3], [2, 3]))
    turns = [net.choose.random() < 0.5 for _ in range(2)]
    alpha = net.choose.choice((1.0, 0.3))
    x, x_there = some_input(net, lead + ([k, m] if turns[0] else [m, k]))
    y, y_there = some_input(net, lead + ([n, k] if turns[1] else [k, n]))
    result = net.graph.ops.matmul(
        x, y, alpha=alpha, transposes_x=turns[0], transposes_y=turns[1]
    )
    left = x_there.mT if turns[0] else x_there
    right = y_there.mT if turns[1] else y_there
    return [(result, alpha * torch.matmul(left, right))]


def dense(net: RandomGraph, samples: int | None = None) -> Results:
    sizes = (1, 2, 5, 16, 31, 64, 130, 300)
    n, width, count = (net.choose.choice(sizes) for _ in range(3))
    shape = [*net.choose.choice(([], [3])), n, width]
    x, there = some_input(net, [samples, width] if samples else shape)
    layer = make_dense(net, width, count)
    weights = net.twin(layer.weights)
    biases = net.twin(layer.biases) if layer.biases is not None else None
    return [(net.graph.node(layer, x), F.linear(there, weights, biases))]


def make_dense(net: RandomGraph, width: int, count: int) -> Any:
    weights = net.weights(count, width)
    if net.choose.random() < 0.3:
        return Layers.FullyConnected(weights=weights, uses_biases=False)
    return Layers.FullyConnected(weights=weights, biases=net.random(count))


def lora(net: RandomGraph) -> Results:
    width, count = (net.choose.choice((2, 5, 16, 40)) for _ in range(2))
    rank = net.choose.randint(1, min(width, count))
    x, there = some_input(net, [net.choose.choice((1, 7, 32)), width])
    base = make_dense(net, width, count)
    layer = Layers.LoRA(base, rank, alpha := net.choose.choice((1.0, 16.0)))
    layer.up.set_data(net.weights(count, rank))
    frozen = net.leaf(base.weights.numpy()).detach()
    bias = None if base.biases is None else net.leaf(base.biases.numpy()).detach()
    down, up = net.twin(layer.down), net.twin(layer.up)
    result = F.linear(there, frozen, bias)
    result = result + alpha / rank * F.linear(F.linear(there, down), up)
    return [(net.graph.node(layer, x), result)]


def prelu(net: RandomGraph) -> Results:
    shape = some_shape(net, (2, 4))
    x, there = some_input(net, shape)
    count = net.choose.choice((1, shape[1]))
    layer = Layers.PReLU(weights=net.random(count))
    slopes = net.twin(layer.weights)
    return [(net.graph.node(layer, x), F.prelu(there, slopes.reshape(-1)))]


def gram(net: RandomGraph) -> Results:
    n, channels = net.choose.choice((1, 3)), net.choose.choice((1, 3, 16, 48, 64, 70))
    x, there = some_input(
        net, [n, channels, *(net.choose.choice((1, 5, 14)) for _ in range(2))]
    )
    scale = net.choose.choice((1.0, 0.01))
    maps = there.flatten(2)
    result = net.graph.node(Layers.GramMatrix(scale), x)
    return [(result, (scale * (maps @ maps.mT)).reshape(result.shape))]


def recurrent(cls: Any) -> Build:
    def build(net: RandomGraph) -> Results:
        n, steps = net.choose.choice((1, 3, 8)), net.choose.choice((1, 4, 9))
        width, hidden = (net.choose.choice((1, 3, 16, 24)) for _ in range(2))
        layer = cls(
            width,
            hidden,
            net.choose.choice((1, 2)),
            uses_biases=net.choose.random() < 0.7,
            batch_first=net.choose.random() < 0.7,
            bidirectional=net.choose.random() < 0.4,
        )
        randomize_biases(net.rng, layer)
        d = layer.descriptor
        x, there = some_input(
            net, [n, steps, width] if d.batch_first else [steps, n, width]
        )
        module = module_of(layer).to(net.data_type)
        twins = dict(module.named_parameters())
        for name, tensor in zip(names_of(layer), weights_of(layer), strict=True):
            twins[name] = net.twin(tensor)
        for name, tensor in secondary_biases(layer).items():
            zeros = torch.zeros(2 * hidden, dtype=net.data_type)
            twins[name] = torch.cat([zeros, net.twin(tensor)])
        result, _ = torch.func.functional_call(module, twins, (there,))
        return [(net.graph.node(layer, x), result)]

    return build


ROWS: dict[str, Row] = {
    **{f"activation {name}": Row(activation(name)) for name in ACTIVATIONS},
    **{f"unary {name}": Row(unary(name)) for name in UNARY},
    **{f"binary {name}": Row(binary(name)) for name in BINARY},
    **{f"loss {name}": Row(loss(name)) for name in LOSSES},
    **{
        f"reduce {kind}": Row(reduce(kind))
        for kind in ("sum", "mean", "max", "min", "l1_norm")
    },
    **{
        name: Row(of_net(name))
        for name in (
            "concatenation",
            "split",
            "slice",
            "transpose",
            "reshape",
            "softmax",
            "normalization",
            "selection",
        )
    },
    **{
        function.__name__: Row(step(function))
        for function in random_layers.STEPS
        if function is not random_layers.dense
    },
    "squared_norm": Row(squared_norm),
    "cumulative_sum": Row(cumulative_sum),
    "broadcast_to": Row(broadcast_to),
    "conditions": Row(conditions),
    "prelu": Row(prelu),
    "matmul": Row(matmul, ALL),
    "dense": Row(dense, ALL),
    "lora": Row(lora, ALL),
    "gram": Row(gram, ALL),
    "lstm": Row(step(random_sequences.lstm), ALL),
    "attention": Row(step(random_sequences.attention), ALL),
    # PyTorch's own has no float16 on a CPU; "lstm" is spelled out.
    "LSTM": Row(recurrent(Layers.LSTM), ALL[:2]),
    "GRU": Row(recurrent(Layers.GRU), ALL),
    "RNN": Row(recurrent(Layers.RNN), ALL),
    # Gradients of one sample, products of two numbers: an adaptive update blows up
    # what is wrong with a small sum of large terms.
    **{
        f"optimizer {name}": Row(partial(dense, samples=1), match=m)
        for name, m in MATCHES.items()
    },
    **WINDOWS,
}
