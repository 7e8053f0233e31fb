# SPDX-License-Identifier: MIT
"""Every case of ML Compute's elementwise and reducing operations, by value.

Gradients and the GPU: the cases of tests/cpp/ops, on every device.
"""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, evaluated, floats, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

L = tg.layers
erf = np.vectorize(math.erf)

# name: layers that mean the same, and the function
ACTIVATIONS: dict[str, tuple[list[tg.layers.Layer], Callable[[Any], Any]]] = {
    "none": ([L.Activation("none")], lambda x: x),
    "relu": ([L.ReLU(), L.Activation("relu", a=0)], lambda x: np.maximum(x, 0)),
    "relu6": ([L.ReLU6()], lambda x: np.clip(x, 0, 6)),
    "leaky_relu": (
        [L.LeakyReLU(), L.Activation("relu", a=0.01)],
        lambda x: np.where(x < 0, 0.01 * x, x),
    ),
    "leaky_relu, slope": ([L.LeakyReLU(0.3)], lambda x: np.where(x < 0, 0.3 * x, x)),
    "linear": ([L.Affine(-1.5, 0.25)], lambda x: -1.5 * x + 0.25),
    "sigmoid": ([L.Sigmoid()], lambda x: 1 / (1 + np.exp(-x))),
    "hard_sigmoid": ([L.HardSigmoid()], lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    "tanh": ([L.Tanh(), L.Activation("tanh", a=1, b=1)], np.tanh),
    "absolute": ([L.Absolute()], np.abs),
    "soft_plus": ([L.SoftPlus(), L.SoftPlus(1)], lambda x: np.log1p(np.exp(x))),
    "soft_plus, beta": (
        [L.SoftPlus(2), L.Activation("soft_plus", a=0.5, b=2)],
        lambda x: np.log1p(np.exp(2 * x)) / 2,
    ),
    "soft_sign": ([L.SoftSign()], lambda x: x / (1 + np.abs(x))),
    "elu": ([L.ELU(), L.ELU(1)], lambda x: np.where(x < 0, np.expm1(x), x)),
    "elu, a": ([L.ELU(0.7)], lambda x: np.where(x < 0, 0.7 * np.expm1(x), x)),
    "relun": (
        [L.ReLUN(0.1, 1.5)],
        lambda x: np.minimum(np.where(x < 0, 0.1 * x, x), 1.5),
    ),
    "log_sigmoid": ([L.LogSigmoid()], lambda x: -np.log1p(np.exp(-x))),
    "selu": (
        [L.SELU()],
        lambda x: (
            1.0507009873554805 * np.where(x < 0, 1.6732632423543772 * np.expm1(x), x)
        ),
    ),
    "celu": ([L.CELU(), L.CELU(1)], lambda x: np.where(x < 0, np.expm1(x), x)),
    "celu, a": ([L.CELU(0.6)], lambda x: np.where(x < 0, 0.6 * np.expm1(x / 0.6), x)),
    "hard_shrink": (
        [L.HardShrink(), L.HardShrink(0.5)],
        lambda x: np.where(np.abs(x) > 0.5, x, 0),
    ),
    "hard_shrink, a": ([L.HardShrink(1)], lambda x: np.where(np.abs(x) > 1, x, 0)),
    "soft_shrink": (
        [L.SoftShrink(), L.SoftShrink(0.5)],
        lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0),
    ),
    "soft_shrink, a": (
        [L.SoftShrink(1)],
        lambda x: np.sign(x) * np.maximum(np.abs(x) - 1, 0),
    ),
    "tanh_shrink": ([L.TanhShrink()], lambda x: x - np.tanh(x)),
    "threshold": ([L.Threshold(0.3, -2)], lambda x: np.where(x > 0.3, x, -2)),
    "gelu": ([L.GELU()], lambda x: x * (1 + erf(x / math.sqrt(2))) / 2),
    "gelu_tanh": (
        [L.GELU(True)],
        lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    ),
    "silu": ([L.SiLU()], lambda x: x / (1 + np.exp(-x))),
    "mish": ([L.Mish()], lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "hard_swish": (
        [L.HardSwish()],
        lambda x: np.where(x > 3, x, x * np.maximum(x + 3, 0) / 6),
    ),
    "clamp": ([L.Clamp(-0.5, 1.2)], lambda x: np.clip(x, -0.5, 1.2)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name: str) -> None:
    layers, function = ACTIVATIONS[name]
    x = 3 * floats(4, 10)
    for layer in layers:
        same = L.Activation(layer.descriptor)  # type: ignore[attr-defined]
        for face in (layer, same):
            np.testing.assert_allclose(
                value_of(face, x), function(x.astype(np.float64)), **CLOSE
            )


def test_every_activation_is_evaluated() -> None:
    layers = [layer for row in ACTIVATIONS.values() for layer in row[0]]
    kinds = {layer.descriptor.activation_type for layer in layers}
    assert kinds == set(tg.mlcompute.ActivationType)


def test_activation_descriptors() -> None:
    relun = L.ActivationDescriptor("relun", a=0.1, b=1.5, c=1)
    assert relun.activation_type is tg.mlcompute.ActivationType.relun
    assert (relun.a, relun.b, relun.c) == (pytest.approx(0.1), 1.5, 1)
    assert (copy.copy(relun).a, copy.copy(relun).b) == (relun.a, relun.b)
    x = floats(8)
    expected = np.minimum(np.where(x < 0, np.float32(0.1) * x, x), 1.5)
    np.testing.assert_allclose(value_of(L.Activation(relun), x), expected, **CLOSE)
    elu = L.Activation(L.ActivationDescriptor("elu", a=0.5)).descriptor
    assert (elu.activation_type, elu.a) == (tg.mlcompute.ActivationType.elu, 0.5)
    # ML Compute's defaults of hard sigmoid.
    assert L.ActivationDescriptor("hard_sigmoid").b == 0.5
    with pytest.raises(tg.InvalidArgument, match="c is"):
        L.ActivationDescriptor("relu", 0, 1, 2)


UNARY: dict[str, tuple[Callable[[Any], Any], tuple[float, float]]] = {
    "floor": (np.floor, (-3, 3)),
    "round": (np.round, (-3, 3)),
    "ceil": (np.ceil, (-3, 3)),
    "sqrt": (np.sqrt, (0.1, 4)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (0.1, 4)),
    "sin": (np.sin, (-3, 3)),
    "cos": (np.cos, (-3, 3)),
    "tan": (np.tan, (-1.2, 1.2)),
    "asin": (np.arcsin, (-0.9, 0.9)),
    "acos": (np.arccos, (-0.9, 0.9)),
    "atan": (np.arctan, (-3, 3)),
    "sinh": (np.sinh, (-2, 2)),
    "cosh": (np.cosh, (-2, 2)),
    "tanh": (np.tanh, (-3, 3)),
    "asinh": (np.arcsinh, (-3, 3)),
    "acosh": (np.arccosh, (1.2, 4)),
    "atanh": (np.arctanh, (-0.9, 0.9)),
    "exp": (np.exp, (-3, 3)),
    "exp2": (np.exp2, (-3, 3)),
    "log": (np.log, (0.1, 4)),
    "log2": (np.log2, (0.1, 4)),
    "erf": (np.vectorize(math.erf), (-3, 3)),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "pow": np.power,
    "min": np.minimum,
    "max": np.maximum,
    "multiply_no_nan": np.multiply,
    "divide_no_nan": np.divide,
}


@pytest.mark.parametrize("name", UNARY)
def test_unary_arithmetic(name: str) -> None:
    function, interval = UNARY[name]
    x = np.linspace(*interval, 41, dtype=np.float32)
    layer = L.Arithmetic(name)
    assert layer.operation is tg.mlcompute.ArithmeticOperation[name]
    np.testing.assert_allclose(
        value_of(layer, x), function(x.astype(np.float64)), **CLOSE
    )


@pytest.mark.parametrize("name", BINARY)
def test_binary_arithmetic(name: str) -> None:
    x, y = floats(3, 4) + 2, floats(1, 4) + 2
    layer = L.Arithmetic(tg.mlcompute.ArithmeticOperation[name])
    np.testing.assert_allclose(value_of(layer, x, y), BINARY[name](x, y), **CLOSE)


@pytest.mark.parametrize("name", ["multiply_no_nan", "divide_no_nan"])
def test_zero_beats_nan(name: str) -> None:
    x = np.array([np.nan, np.inf, 3, 3], np.float32)
    y = np.array([0, 0, 0, 2], np.float32)
    expected = [0, 0, 0, 6 if name == "multiply_no_nan" else 1.5]
    np.testing.assert_array_equal(value_of(L.Arithmetic(name), x, y), expected)


def test_every_arithmetic_operation_is_evaluated() -> None:
    assert {*UNARY, *BINARY} == {case.name for case in tg.mlcompute.ArithmeticOperation}


COMPARISONS: dict[str, Callable[..., Any]] = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "greater": np.greater,
    "less_or_equal": np.less_equal,
    "greater_or_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_not": np.logical_not,
    "logical_nand": lambda x, y: ~np.logical_and(x, y),
    "logical_nor": lambda x, y: ~np.logical_or(x, y),
    "logical_xor": np.logical_xor,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparison(name: str) -> None:
    layer = L.Comparison(name)
    assert layer.operation is tg.mlcompute.ComparisonOperation[name]
    sources = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1])
    kind = np.bool_ if name.startswith("logical") else np.float32
    count = 1 if name == "logical_not" else 2
    arrays = [source.astype(kind) for source in sources[:count]]
    value = value_of(layer, *arrays)
    assert value.dtype == np.bool_
    np.testing.assert_array_equal(value, COMPARISONS[name](*arrays))


def test_every_comparison_is_evaluated() -> None:
    assert set(COMPARISONS) == {case.name for case in tg.mlcompute.ComparisonOperation}


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "arg_max": np.argmax,
    "arg_min": np.argmin,
    "l1_norm": lambda x, **options: np.sum(np.abs(x), **options),
    "any": np.any,
    "all": np.all,
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction(name: str) -> None:
    kind = np.bool_ if name in {"any", "all"} else np.float32
    x = (floats(2, 3, 4) * np.array([1, -1, 2, -1], np.float32)).astype(kind)
    if kind is np.bool_:
        x[0, 0], x[0, 1] = False, [True, False, True, True]
    layer = L.Reduction(name, 2)
    assert layer.reduction_type is tg.mlcompute.ReductionType[name]
    assert layer.axes == (2,)
    expected = REDUCTIONS[name](x, axis=2, keepdims=True)
    np.testing.assert_allclose(value_of(layer, x), expected, **CLOSE)


@pytest.mark.parametrize("name", sorted(set(REDUCTIONS) - {"arg_max", "arg_min"}))
def test_reduction_over_several_dimensions(name: str) -> None:
    kind = np.bool_ if name in {"any", "all"} else np.float32
    x = (floats(2, 3, 4) > 0).astype(kind) if kind is np.bool_ else floats(2, 3, 4)
    layer = L.Reduction(name, (0, 2))
    assert layer.axes == (0, 2)
    expected = REDUCTIONS[name](x, axis=(0, 2), keepdims=True)
    np.testing.assert_allclose(value_of(layer, x), expected, **CLOSE)


def test_no_reduction_copies() -> None:
    x = floats(2, 3)
    np.testing.assert_array_equal(value_of(L.Reduction("none"), x), x)


def test_every_reduction_is_evaluated() -> None:
    assert {*REDUCTIONS, "none"} == {case.name for case in tg.mlcompute.ReductionType}


def test_selection() -> None:
    condition = np.array([[True, False, True]])
    x, y = floats(2, 3), np.full((1, 3), 9, np.float32)
    expected = np.where(condition, x, y)
    np.testing.assert_array_equal(value_of(L.Selection(), condition, x, y), expected)
    by_graph = evaluated(lambda g, c, a, b: g.ops.select(c, a, b), condition, x, y)
    np.testing.assert_array_equal(by_graph, expected)


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(name: str, axis: int) -> None:
    x = floats(2, 3, 4)
    exponentials = np.exp(x.astype(np.float64))
    expected = exponentials / exponentials.sum(axis, keepdims=True)
    if name == "log_softmax":
        expected = np.log(expected)
    layer = L.Softmax(name) if axis == 1 else L.Softmax(name, axis)
    assert layer.operation is tg.mlcompute.SoftmaxOperation[name]
    assert layer.axis == axis
    np.testing.assert_allclose(value_of(layer, x), expected, **CLOSE)


def test_names_of_cases() -> None:
    described = [
        (tg.mlcompute.ActivationType.hard_swish, "hard_swish"),
        (tg.mlcompute.ArithmeticOperation.multiply_no_nan, "multiply_no_nan"),
        (tg.mlcompute.PaddingPolicy.use_padding_size, "use_padding_size"),
        (tg.mlcompute.LossType.cosine_distance, "cosine_distance"),
        (tg.mlcompute.ReductionType.l1_norm, "l1_norm"),
        (tg.mlcompute.PaddingType.reflect, "reflect"),
        (tg.mlcompute.ConvolutionType.depthwise, "depthwise"),
        (tg.mlcompute.PoolingType.l2_norm, "l2_norm"),
        (tg.mlcompute.SoftmaxOperation.log_softmax, "log_softmax"),
        (tg.mlcompute.ComparisonOperation.logical_nand, "logical_nand"),
        (tg.mlcompute.GradientClippingType.by_global_norm, "by_global_norm"),
    ]
    for case, name in described:
        assert str(case) == name
