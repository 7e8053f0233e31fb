# SPDX-License-Identifier: MIT
"""Tensors of integers: ML Compute's quantization, which happens at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

from .support import Regression

LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1)}


@pytest.mark.parametrize("name", LIMITS)
def test_one_scale_for_all(name: str, rng: np.random.Generator) -> None:
    x = rng.normal(0, 40, (4, 5)).astype(np.float32)
    scale, bias = 0.375, 3
    tensor = tg.Tensor(x.shape, data=x)
    q = tensor.quantized(name, scale, bias)
    low, high = LIMITS[name]
    steps = np.rint(x.astype(np.float64) / scale) + bias
    expected = np.clip(steps, low, high)
    assert q.data_type is tg.DataType[name]
    np.testing.assert_array_equal(q.numpy(), expected)
    back = q.dequantized("float32", scale, bias)
    np.testing.assert_array_equal(
        back.numpy(), ((expected - bias) * scale).astype(np.float32)
    )
    # What was not cut off is within half a step.
    inside = steps == expected
    assert np.abs(back.numpy() - x)[inside].max() <= scale / 2 * 1.0001


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_a_scale_for_each_index(axis: int, rng: np.random.Generator) -> None:
    x = rng.normal(0, 2, (3, 4, 5)).astype(np.float32)
    n = x.shape[axis]
    scale = rng.uniform(0.02, 0.1, n).astype(np.float32)
    bias = rng.integers(-5, 5, n).astype(np.int32)
    shape = [1, 1, 1]
    shape[axis] = n
    s, b = scale.astype(np.float64).reshape(shape), bias.reshape(shape)
    expected = np.clip(np.rint(x / s) + b, -128, 127)
    tensor = tg.Tensor(x.shape, data=x)
    arguments: list[tuple[Any, Any]] = [
        (scale, bias),
        (tg.Tensor((n,), data=scale), tg.Tensor((n,), "int32", data=bias)),
        (scale.tolist(), bias.tolist()),
    ]
    for of_scale, of_bias in arguments:
        q = tensor.quantized("int8", of_scale, of_bias, axis)
        np.testing.assert_array_equal(q.numpy(), expected)
        back = q.dequantized("float32", of_scale, of_bias, axis)
        np.testing.assert_allclose(back.numpy(), (expected - b) * s, rtol=1e-6)


def test_values_of_the_device_count() -> None:
    r = Regression(tg.optimizers.SGD(0.125)).compile()
    r.step()
    weights = r.layer.weights
    q = weights.quantized("int32", 2.0**-20, 0)
    np.testing.assert_array_equal(q.numpy(), np.rint(weights.numpy() * 2.0**20))


def test_what_is_refused() -> None:
    x = tg.Tensor((2, 3), fill=1)
    with pytest.raises(tg.DTypeError, match="int8, uint8 or int32"):
        x.quantized("float16", 1.0, 0)
    with pytest.raises(tg.DTypeError, match="float32"):
        x.quantized("int8", 1.0, 0).quantized("int8", 1.0, 0)
    with pytest.raises(tg.DTypeError, match="integers"):
        x.quantized("int8", 1.0, 0.5)  # type: ignore[arg-type]
    with pytest.raises(tg.InvalidArgument, match="above 0"):
        x.quantized("int8", 0.0, 0)
    with pytest.raises(tg.InvalidArgument, match="axis"):
        x.quantized("int8", [1.0] * 3, [0] * 3, 2)
    with pytest.raises(tg.ShapeError, match="3 elements"):
        x.quantized("int8", [1.0] * 2, [0] * 3, 1)
    with pytest.raises(tg.StateError, match="no data"):
        tg.Tensor((2, 3)).quantized("int8", 1.0, 0)
