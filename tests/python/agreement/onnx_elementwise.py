# SPDX-License-Identifier: MIT
"""ONNX operations that work element by element, and reductions."""

from __future__ import annotations

from functools import reduce as fold
from typing import TYPE_CHECKING

import numpy as np

import traingraph as tg

from .onnx_import import Node, maps

if TYPE_CHECKING:
    from collections.abc import Sequence

FLOAT_MAX = float(np.finfo(np.float32).max)

UNARY = {
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Exp": "exp",
    "Floor": "floor",
    "Log": "log",
    "Round": "round",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
}

BINARY = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Div": "divide",
    "Pow": "pow",
    "Max": "max",
    "Min": "min",
    "Sum": "add",
}

COMPARE = {
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_or_equal",
    "Less": "less",
    "LessOrEqual": "less_or_equal",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
}

ACTIVATIONS = {
    "Abs": tg.layers.Absolute,
    "Relu": tg.layers.ReLU,
    "Sigmoid": tg.layers.Sigmoid,
    "Tanh": tg.layers.Tanh,
    "Softplus": tg.layers.SoftPlus,
    "Softsign": tg.layers.SoftSign,
    "HardSwish": tg.layers.HardSwish,
}


@maps(*UNARY)
def unary(node: Node) -> tg.Tensor:
    return node.graph.unary(node.tensor(), operation=UNARY[node.op_type])


@maps(*BINARY)
def binary(node: Node) -> tg.Tensor:
    operation = BINARY[node.op_type]
    first, *rest = node.tensors()
    if not rest:
        return node.scaled(first, 1.0)
    return fold(lambda x, y: node.binary(operation, x, y), rest, first)


@maps("Mean")
def mean(node: Node) -> tg.Tensor:
    first, *rest = node.tensors()
    total = fold(lambda x, y: node.binary("add", x, y), rest, first)
    return node.scaled(total, 1 / (1 + len(rest)))


@maps(*COMPARE)
def compare(node: Node) -> tg.Tensor:
    x, y = node.tensors()
    return node.graph.compare(x, y, operation=COMPARE[node.op_type])


@maps("Not")
def logical_not(node: Node) -> tg.Tensor:
    return node.graph.logical_not(node.tensor())


@maps("Neg")
def negate(node: Node) -> tg.Tensor:
    return node.scaled(node.tensor(), -1.0)


@maps("Reciprocal")
def reciprocal(node: Node) -> tg.Tensor:
    one = node.graph.fill(shape=(1,), value=1.0)
    return node.binary("divide", one, node.tensor())


@maps("Sign")
def sign(node: Node) -> tg.Tensor:
    x, graph = node.tensor(), node.graph
    zero = graph.fill(shape=(1,), value=0.0)
    above, below = (
        graph.cast(graph.compare(x, zero, operation=operation), data_type="float32")
        for operation in ("greater", "less")
    )
    return node.binary("subtract", above, below)


@maps("Where")
def where(node: Node) -> tg.Tensor:
    condition, x, y = node.tensors()
    return node.graph.select([x, y], condition)


@maps("Cast")
def cast(node: Node) -> tg.Tensor:
    names = {1: "float32", 6: "int32", 7: "int64", 9: "boolean"}
    return node.graph.cast(node.tensor(), data_type=names[node.attribute("to")])


@maps("Identity")
def identity(node: Node) -> tg.Tensor:
    return node.reshaped(node.tensor(), node.tensor().shape)


@maps("Dropout")
def dropout(node: Node) -> Sequence[tg.Tensor | None]:
    rate = float(node.constant_or(1, node.attribute("ratio", 0.5)))
    # The mask is no result here; it is all true in inference.
    return [node.layer(tg.layers.Dropout(rate), node.tensor()), None]


@maps(*ACTIVATIONS)
def activation(node: Node) -> tg.Tensor:
    return node.layer(ACTIVATIONS[node.op_type](), node.tensor())


@maps("LeakyRelu", "Elu", "Celu", "ThresholdedRelu")
def activation_with_alpha(node: Node) -> tg.Tensor:
    alpha = node.attribute("alpha")
    layer = {
        "LeakyRelu": lambda a=0.01: tg.layers.LeakyReLU(a),
        "Elu": lambda a=1.0: tg.layers.ELU(a),
        "Celu": lambda a=1.0: tg.layers.CELU(a),
        "ThresholdedRelu": lambda a=1.0: tg.layers.Threshold(a, 0.0),
    }[node.op_type]
    return node.layer(layer() if alpha is None else layer(alpha), node.tensor())


@maps("Selu")
def selu(node: Node) -> tg.Tensor:
    if not node.attributes:
        return node.layer(tg.layers.SELU(), node.tensor())
    # The layer's constants are fixed; with others it is gamma * ELU.
    inner = node.layer(tg.layers.ELU(node.attribute("alpha")), node.tensor())
    return node.scaled(inner, node.attribute("gamma"))


@maps("HardSigmoid")
def hard_sigmoid(node: Node) -> tg.Tensor:
    if not node.attributes:
        return node.layer(tg.layers.HardSigmoid(), node.tensor())
    a, b = node.attribute("alpha"), node.attribute("beta")
    return node.layer(tg.layers.Activation("hard_sigmoid", a, b), node.tensor())


@maps("Gelu")
def gelu(node: Node) -> tg.Tensor:
    is_tanh = node.attribute("approximate", "none") == "tanh"
    return node.layer(tg.layers.GELU(is_tanh), node.tensor())


@maps("Swish")
def swish(node: Node) -> tg.Tensor:
    x = node.tensor()
    gate = node.scaled(x, node.attribute("alpha", 1.0))
    return node.binary("multiply", x, node.layer(tg.layers.Sigmoid(), gate))


@maps("PRelu")
def prelu(node: Node) -> tg.Tensor:
    x, slope = node.tensors()
    negative = node.binary("min", x, node.graph.fill(shape=(1,)))
    positive = node.layer(tg.layers.ReLU(), x)
    return node.binary("add", positive, node.binary("multiply", negative, slope))


@maps("Shrink")
def shrink(node: Node) -> tg.Tensor:
    bias, threshold = node.attribute("bias", 0.0), node.attribute("lambd", 0.5)
    if bias == 0:
        return node.layer(tg.layers.HardShrink(threshold), node.tensor())
    assert bias == threshold
    return node.layer(tg.layers.SoftShrink(threshold), node.tensor())


@maps("Clip")
def clip(node: Node) -> tg.Tensor:
    low = float(node.constant_or(1, -FLOAT_MAX))
    high = float(node.constant_or(2, FLOAT_MAX))
    if low > high:
        # The layer refuses an empty range; ONNX then means the maximum.
        bound = node.graph.fill(shape=(1,), value=low)
        raised = node.binary("max", node.tensor(), bound)
        return node.binary("min", raised, node.graph.fill(shape=(1,), value=high))
    return node.layer(tg.layers.Clamp(low, high), node.tensor())


def axes_of(node: Node) -> list[int]:
    axes = node.constant_or(1, node.attribute("axes", []))
    return [int(axis) % len(node.tensor().shape) for axis in axes]


def keep_or_drop(node: Node, y: tg.Tensor, axes: Sequence[int]) -> tg.Tensor:
    """Reduced axes stay here; ONNX can drop them."""
    if node.attribute("keepdims", 1):
        return y
    dropped = axes or range(len(y.shape))
    return node.reshaped(y, [n for i, n in enumerate(y.shape) if i not in dropped])


REDUCTIONS = {
    "ReduceSum": "sum",
    "ReduceMean": "mean",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceL1": "l1_norm",
}


@maps(*REDUCTIONS)
def reduction(node: Node) -> tg.Tensor:
    x, axes = node.tensor(), axes_of(node)
    if not axes and node.attribute("noop_with_empty_axes", 0):
        return node.graph.reduce(x, type="none")
    kind = REDUCTIONS[node.op_type]
    if x.data_type == tg.DataType.boolean:
        kind = {"max": "any", "min": "all"}[kind]
    return keep_or_drop(node, node.graph.reduce(x, type=kind, axes=axes), axes)


@maps("ReduceSumSquare", "ReduceL2", "ReduceLogSum")
def composed_reduction(node: Node) -> tg.Tensor:
    x, axes = node.tensor(), axes_of(node)
    if node.op_type != "ReduceLogSum":
        x = node.binary("multiply", x, x)
    y = node.graph.reduce(x, type="sum", axes=axes)
    last = {"ReduceL2": "sqrt", "ReduceLogSum": "log"}.get(node.op_type)
    if last is not None:
        y = node.graph.unary(y, operation=last)
    return keep_or_drop(node, y, axes)


@maps("ArgMax", "ArgMin")
def arg_reduction(node: Node) -> tg.Tensor:
    x = node.tensor()
    axes = [node.attribute("axis", 0) % len(x.shape)]
    kind = {"ArgMax": "arg_max", "ArgMin": "arg_min"}[node.op_type]
    return keep_or_drop(node, node.graph.reduce(x, type=kind, axes=axes), axes)
