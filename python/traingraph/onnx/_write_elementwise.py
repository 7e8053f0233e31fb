# SPDX-License-Identifier: MIT
"""Writes the families elementwise and reduce, and softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._problems import Unmappable
from ._write import Step, exports, proto_type

if TYPE_CHECKING:
    from collections.abc import Callable

FLOAT_MAX = float(np.finfo(np.float32).max)

# One op of ONNX each.
ONE = {
    "floor": "Floor",
    "round": "Round",
    "ceil": "Ceil",
    "sqrt": "Sqrt",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "asin": "Asin",
    "acos": "Acos",
    "atan": "Atan",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "tanh": "Tanh",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "erf": "Erf",
    "exp": "Exp",
    "log": "Log",
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "pow": "Pow",
    "equal": "Equal",
    "less": "Less",
    "greater": "Greater",
    "less_or_equal": "LessOrEqual",
    "greater_or_equal": "GreaterOrEqual",
    "logical_and": "And",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "min": "Min",
    "max": "Max",
}

# The second op is of the first one's result.
TWO = {
    "rsqrt": ("Sqrt", "Reciprocal"),
    "not_equal": ("Equal", "Not"),
    "logical_nand": ("And", "Not"),
    "logical_nor": ("Or", "Not"),
}

# Of Booleans, which ONNX does not order: False is less than True.
ORDER = {
    "less": ("And", 0),
    "greater": ("And", 1),
    "less_or_equal": ("Or", 0),
    "greater_or_equal": ("Or", 1),
}


def boolean_order(step: Step, op: str, negated: int) -> None:
    inputs = step.inputs()
    inputs[negated] = step.node("Not", inputs[negated])
    step.finish(op, *inputs)


@exports("unary", "binary", "compare")
def arithmetic(step: Step) -> None:
    operation = step.attributes["operation"]
    inputs = step.inputs()
    if operation in ORDER and step.data_type() in ("bool", "boolean"):
        boolean_order(step, *ORDER[operation])
    elif operation in ONE:
        step.finish(ONE[operation], *inputs)
    elif operation in TWO:
        first, second = TWO[operation]
        step.finish(second, step.node(first, *inputs))
    elif operation == "exp2":
        step.finish("Pow", step.number(2), *inputs)
    elif operation == "log2":
        step.finish("Mul", step.node("Log", *inputs), step.number(1 / np.log(2)))
    elif operation == "logical_not":
        step.finish("Not", inputs[0])
    elif operation in ("multiply_no_nan", "divide_no_nan"):
        x, y = inputs
        zero = step.number(0)
        z = step.node("Mul" if operation == "multiply_no_nan" else "Div", x, y)
        step.finish("Where", step.node("Equal", y, zero), zero, z)
    else:
        raise Unmappable(f"there is no {operation}")


@exports("logical_not")
def logical_not(step: Step) -> None:
    step.finish("Not", step.input())


@exports("select")
def select(step: Step) -> None:
    step.finish("Where", *step.inputs())


@exports("cast")
def cast(step: Step) -> None:
    step.finish("Cast", step.input(), to=proto_type(step.attributes["data_type"]))


@exports("dropout", "stop_gradient")
def pass_on(step: Step) -> None:
    step.pass_on()


def scaled(step: Step, x: str, scale: float) -> str:
    return x if scale == 1 else step.node("Mul", x, step.number(scale))


def finish_scaled(step: Step, x: str, scale: float, op: str, **attributes: Any) -> None:
    """scale * op(x)"""
    if scale == 1:
        step.finish(op, x, **attributes)
    else:
        step.finish("Mul", step.node(op, x, **attributes), step.number(scale))


def linear(step: Step, x: str, a: float, b: float) -> None:
    if b == 0:
        step.finish("Mul", x, step.number(a))
    else:
        step.finish("Add", scaled(step, x, a), step.number(b))


def relu(step: Step, x: str, a: float, _: float) -> None:
    if a == 0:
        step.finish("Relu", x)
    else:
        step.finish("LeakyRelu", x, alpha=a)


def relun(step: Step, x: str, a: float, b: float) -> None:
    step.finish("Min", step.node("LeakyRelu", x, alpha=a), step.number(b))


def tanh(step: Step, x: str, a: float, b: float) -> None:
    finish_scaled(step, scaled(step, x, b), a, "Tanh")


def soft_plus(step: Step, x: str, a: float, b: float) -> None:
    finish_scaled(step, scaled(step, x, b), a, "Softplus")


def log_sigmoid(step: Step, x: str, _: float, __: float) -> None:
    step.finish("Neg", step.node("Softplus", step.node("Neg", x)))


def tanh_shrink(step: Step, x: str, _: float, __: float) -> None:
    step.finish("Sub", x, step.node("Tanh", x))


def threshold(step: Step, x: str, a: float, b: float) -> None:
    above = step.node("Greater", x, step.number(a))
    step.finish("Where", above, x, step.number(b))


def gelu(step: Step, x: str, _: float, __: float) -> None:
    erf = step.node("Erf", step.node("Mul", x, step.number(np.sqrt(0.5))))
    share = step.node("Add", erf, step.number(1))
    half = step.node("Mul", x, step.number(0.5))
    step.finish("Mul", half, share)


def gelu_tanh(step: Step, x: str, _: float, __: float) -> None:
    square = step.node("Mul", x, x)
    bend = step.node("Mul", square, step.number(0.044715))
    inner = step.node("Mul", x, step.node("Add", bend, step.number(1)))
    wave = step.node("Tanh", step.node("Mul", inner, step.number(np.sqrt(2 / np.pi))))
    half = step.node("Mul", x, step.number(0.5))
    step.finish("Mul", half, step.node("Add", wave, step.number(1)))


def silu(step: Step, x: str, _: float, __: float) -> None:
    step.finish("Mul", x, step.node("Sigmoid", x))


def mish(step: Step, x: str, _: float, __: float) -> None:
    step.finish("Mul", x, step.node("Tanh", step.node("Softplus", x)))


def clamp(step: Step, x: str, a: float, b: float) -> None:
    step.finish("Clip", x, step.number(a), step.number(b))


def hard_shrink(step: Step, x: str, a: float, _: float) -> None:
    step.finish("Shrink", x, lambd=a, bias=0.0)


def soft_shrink(step: Step, x: str, a: float, _: float) -> None:
    step.finish("Shrink", x, lambd=a, bias=a)


def hard_sigmoid(step: Step, x: str, a: float, b: float) -> None:
    step.finish("HardSigmoid", x, alpha=a, beta=b)


def with_alpha(op: str) -> Callable[[Step, str, float, float], None]:
    return lambda step, x, a, _: step.finish(op, x, alpha=a)


def plain(op: str) -> Callable[[Step, str, float, float], None]:
    return lambda step, x, _, __: step.finish(op, x)


ACTIVATIONS: dict[str, Callable[[Step, str, float, float], None]] = {
    "none": plain("Identity"),
    "relu": relu,
    "linear": linear,
    "sigmoid": plain("Sigmoid"),
    "hard_sigmoid": hard_sigmoid,
    "tanh": tanh,
    "absolute": plain("Abs"),
    "soft_plus": soft_plus,
    "soft_sign": plain("Softsign"),
    "elu": with_alpha("Elu"),
    "relun": relun,
    "log_sigmoid": log_sigmoid,
    "selu": plain("Selu"),
    "celu": with_alpha("Celu"),
    "hard_shrink": hard_shrink,
    "soft_shrink": soft_shrink,
    "tanh_shrink": tanh_shrink,
    "threshold": threshold,
    "gelu": gelu,
    "hard_swish": plain("HardSwish"),
    "clamp": clamp,
    "gelu_tanh": gelu_tanh,
    "silu": silu,
    "mish": mish,
}


@exports("activation")
def activation(step: Step) -> None:
    write = ACTIVATIONS[step.attributes["type"]]
    write(step, step.input(), step.attributes["a"], step.attributes["b"])


@exports("softmax")
def softmax(step: Step) -> None:
    op = {"softmax": "Softmax", "log_softmax": "LogSoftmax"}
    operation, axis = step.attributes["operation"], step.attributes["axis"]
    step.finish(op[operation], step.input(), axis=axis)


REDUCTIONS = {
    "sum": "ReduceSum",
    "mean": "ReduceMean",
    "max": "ReduceMax",
    "min": "ReduceMin",
    "l1_norm": "ReduceL1",
}


@exports("reduce")
def reduce(step: Step) -> None:
    kind, x = step.attributes["type"], step.input()
    axes = list(step.attributes["axes"]) or list(range(len(step.shape())))
    if kind == "none":
        step.pass_on()
    elif kind in REDUCTIONS:
        inputs, attributes = step.reduction(REDUCTIONS[kind], x, axes)
        step.finish(REDUCTIONS[kind], *inputs, **attributes)
    elif kind in ("arg_max", "arg_min"):
        op = {"arg_max": "ArgMax", "arg_min": "ArgMin"}[kind]
        found = step.node(op, x, axis=axes[0])
        step.finish("Cast", found, to=proto_type("int32"))
    elif kind in ("any", "all"):
        number = step.node("Cast", x, to=proto_type("float32"))
        op = {"any": "ReduceMax", "all": "ReduceMin"}[kind]
        inputs, attributes = step.reduction(op, number, axes)
        found = step.node(op, *inputs, **attributes)
        step.finish("Cast", found, to=proto_type("bool"))
    else:
        raise Unmappable(f"there is no {kind}")


@exports("cumulative_sum")
def cumulative_sum(step: Step) -> None:
    axis = step.writer.constant(np.asarray(step.attributes["axis"], np.int64), "axis")
    step.finish(
        "CumSum",
        step.input(),
        axis,
        exclusive=int(step.attributes["is_exclusive"]),
        reverse=int(step.attributes["reverse"]),
    )


@exports("squared_norm")
def squared_norm(step: Step) -> None:
    step.finish(
        "Reshape",
        step.node("ReduceSumSquare", step.input()),
        step.integers([1], "shape"),
    )
