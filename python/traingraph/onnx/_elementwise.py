# SPDX-License-Identifier: MIT
"""Operations that work element by element."""

from __future__ import annotations

from functools import reduce as fold
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper

from .. import layers
from ._node import Node, is_float, maps
from ._problems import Unmappable
from ._read import DATA_TYPES, TYPE_NUMBERS, type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .. import Tensor
    from .._core import (
        ActivationTypeName,
        ArithmeticOperationName,
        ComparisonOperationName,
    )
    from ._load import Importer

FLOAT_MAX = float(np.finfo(np.float32).max)

UNARY: dict[str, ArithmeticOperationName] = {
    "Acos": "acos",
    "Acosh": "acosh",
    "Asin": "asin",
    "Asinh": "asinh",
    "Atan": "atan",
    "Atanh": "atanh",
    "Ceil": "ceil",
    "Cos": "cos",
    "Cosh": "cosh",
    "Erf": "erf",
    "Exp": "exp",
    "Floor": "floor",
    "Log": "log",
    "Round": "round",
    "Sin": "sin",
    "Sinh": "sinh",
    "Sqrt": "sqrt",
    "Tan": "tan",
}

BINARY: dict[str, ArithmeticOperationName] = {
    "Add": "add",
    "Sub": "subtract",
    "Mul": "multiply",
    "Div": "divide",
    "Max": "max",
    "Min": "min",
    "Sum": "add",
}

COMPARE: dict[str, ComparisonOperationName] = {
    "Equal": "equal",
    "Greater": "greater",
    "GreaterOrEqual": "greater_or_equal",
    "Less": "less",
    "LessOrEqual": "less_or_equal",
    "And": "logical_and",
    "Or": "logical_or",
    "Xor": "logical_xor",
}

ACTIVATIONS: dict[str, tuple[ActivationTypeName, float, float]] = {
    "Relu": ("relu", 0.0, 0.0),
    "Sigmoid": ("sigmoid", 0.0, 0.0),
    "Tanh": ("tanh", 1.0, 1.0),
    "Softplus": ("soft_plus", 1.0, 1.0),
    "Softsign": ("soft_sign", 0.0, 0.0),
    "HardSwish": ("hard_swish", 0.0, 0.0),
    "Mish": ("mish", 0.0, 0.0),
}

# Activations with one attribute, alpha, and its default.
WITH_ALPHA: dict[str, tuple[ActivationTypeName, float]] = {
    "LeakyRelu": ("relu", 0.01),
    "Elu": ("elu", 1.0),
    "Celu": ("celu", 1.0),
    "ThresholdedRelu": ("threshold", 1.0),
}

OPS = frozenset(
    {*UNARY, *BINARY, *COMPARE, *ACTIVATIONS, *WITH_ALPHA}
    | {"Neg", "Reciprocal", "Cast", "Identity", "Sign", "Not", "Mean", "Where"}
    | {"Clip", "Dropout", "Abs", "Pow", "Mod", "IsNaN", "IsInf"}
    | {"QuantizeLinear", "DequantizeLinear"}
)
"""Of scalars they make scalars."""


@maps(*UNARY)
def unary(node: Node) -> Tensor:
    return node.unary(UNARY[node.op_type], node.tensor())


@maps(*BINARY)
def binary(node: Node) -> Tensor:
    operation = BINARY[node.op_type]
    first, *rest = node.tensors()
    if not rest:
        return node.scaled(first, 1.0)
    return fold(lambda x, y: node.binary(operation, x, y), rest, first)


@maps("Mean")
def mean(node: Node) -> Tensor:
    first, *rest = node.tensors()
    total = fold(lambda x, y: node.binary("add", x, y), rest, first)
    return node.scaled(total, 1 / (1 + len(rest)))


@maps(*COMPARE)
def compare(node: Node) -> Tensor:
    x, y = node.tensors()
    return node.graph.ops.compare(x, y, operation=COMPARE[node.op_type], name=node.name)


@maps("Not")
def logical_not(node: Node) -> Tensor:
    return node.graph.ops.logical_not(node.tensor(), name=node.name)


@maps("Reciprocal")
def reciprocal(node: Node) -> Tensor:
    x = node.tensor()
    return node.binary("divide", node.number(1, x), x)


@maps("Where")
def where(node: Node) -> Tensor:
    condition, x, y = node.tensors()
    return node.graph.ops.select(condition, x, y)


@maps("Cast", attributes="to saturate round_mode")
def cast(node: Node) -> Tensor:
    number = int(node.required("to"))
    kind = DATA_TYPES.get(number)
    if kind is None:
        raise Unmappable(f"{type_name(number)} is no type of a tensor")
    return node.graph.ops.cast(node.tensor(), data_type=kind, name=node.name)


def as_cast(model: Importer, proto: Any) -> Any:
    """A CastLike: of what the second input is, the type alone counts."""
    like = proto.input[1]
    if like in model.inputs:
        number = TYPE_NUMBERS[model.inputs[like][2]]
    elif model.is_known(like):
        number = helper.np_dtype_to_tensor_dtype(model.host_value(like).dtype)
    else:
        number = TYPE_NUMBERS[model.tensor(like).data_type.name]
    name, outputs = proto.name, proto.output
    return helper.make_node("Cast", proto.input[:1], outputs, name, to=number)


@maps("Identity")
def identity(node: Node) -> Tensor:
    return node.reshaped(node.tensor(), node.shape())


@maps("Dropout", attributes="ratio seed is_test", host=(1, 2))
def dropout(node: Node) -> Sequence[Tensor | None]:
    ratio = float(np.asarray(node.constant_or(1, node.attribute("ratio", 0.5))))
    if not 0 <= ratio < 1:
        raise Unmappable(f"its ratio is {ratio:g}")
    if ratio == 0:
        return [identity(node), None]
    seed = int(node.attribute("seed", 0))
    return [node.layer(layers.Dropout(ratio, seed), node.tensor()), None]


@maps(*ACTIVATIONS)
def activation(node: Node) -> Tensor:
    return node.activation(node.tensor(), *ACTIVATIONS[node.op_type])


@maps(*WITH_ALPHA, attributes="alpha")
def activation_with_alpha(node: Node) -> Tensor:
    kind, default = WITH_ALPHA[node.op_type]
    return node.activation(node.tensor(), kind, node.attribute("alpha", default))


@maps("Selu", attributes="alpha gamma")
def selu(node: Node) -> Tensor:
    if not node.attributes:
        return node.activation(node.tensor(), "selu")
    # The op's constants are fixed; with others it is gamma * ELU.
    alpha = node.attribute("alpha", 1.67326319217681884765625)
    inner = node.activation(node.tensor(), "elu", alpha)
    return node.scaled(inner, node.attribute("gamma", 1.05070102214813232421875))


@maps("HardSigmoid", attributes="alpha beta")
def hard_sigmoid(node: Node) -> Tensor:
    a, b = node.attribute("alpha", 0.2), node.attribute("beta", 0.5)
    return node.activation(node.tensor(), "hard_sigmoid", a, b)


@maps("Gelu", attributes="approximate")
def gelu(node: Node) -> Tensor:
    kinds: dict[str, ActivationTypeName] = {"none": "gelu", "tanh": "gelu_tanh"}
    return node.activation(node.tensor(), kinds[node.attribute("approximate", "none")])


@maps("Swish", attributes="alpha")
def swish(node: Node) -> Tensor:
    x = node.tensor()
    gate = node.scaled(x, node.attribute("alpha", 1.0))
    return node.binary("multiply", x, node.activation(gate, "sigmoid"))


@maps("PRelu")
def prelu(node: Node) -> Tensor:
    x, slope = node.tensors()
    negative = node.binary("min", x, node.graph.ops.fill(shape=(1,), value=0.0))
    positive = node.activation(x, "relu")
    return node.binary("add", positive, node.binary("multiply", negative, slope))


@maps("Shrink", attributes="bias lambd")
def shrink(node: Node) -> Tensor:
    bias, threshold = node.attribute("bias", 0.0), node.attribute("lambd", 0.5)
    if bias == 0:
        return node.activation(node.tensor(), "hard_shrink", threshold)
    if bias != threshold:
        raise Unmappable(f"its bias {bias:g} is neither 0 nor lambd, {threshold:g}")
    return node.activation(node.tensor(), "soft_shrink", threshold)


@maps("Clip", attributes="min max", host=(1, 2))
def clip(node: Node) -> Tensor:
    low = float(np.asarray(node.constant_or(1, node.attribute("min", -FLOAT_MAX))))
    high = float(np.asarray(node.constant_or(2, node.attribute("max", FLOAT_MAX))))
    x = node.tensor()
    if is_float(x) and low <= high:
        return node.activation(x, "clamp", low, high)
    # The activation refuses an empty range; ONNX then means the maximum.
    if low > -FLOAT_MAX:
        x = node.binary("max", x, node.number(low, x))
    if high < FLOAT_MAX:
        x = node.binary("min", x, node.number(high, x))
    return x if x is not node.tensor() else identity(node)
