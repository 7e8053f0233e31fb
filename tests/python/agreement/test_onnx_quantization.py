# SPDX-License-Identifier: MIT
"""ONNX's cases of quantization, which is no node here but a call on a tensor."""

from __future__ import annotations

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("onnx", reason="onnx ships the cases")

from .onnx_cases import all_cases

# Those of a scale for the tensor or for each index of an axis, and 8 bits.
NAMES = (
    "test_quantizelinear",
    "test_quantizelinear_axis",
    "test_dequantizelinear",
    "test_dequantizelinear_axis",
)
AXIS = 1  # ONNX's default


@pytest.mark.parametrize("name", NAMES)
def test_case(name: str) -> None:
    (case,) = (case for case in all_cases() if case.name == name)
    (x, scale, zero), (wanted,) = case.data_sets[0]
    axis = AXIS if np.ndim(scale) else None
    source = tg.Tensor(x.shape, x.dtype, data=x)
    convert = source.dequantized if "dequantize" in name else source.quantized
    bias = zero if axis is not None else int(zero)
    result = convert(
        wanted.dtype, scale if axis is not None else float(scale), bias, axis
    )
    assert result.numpy().dtype == wanted.dtype
    np.testing.assert_array_equal(result.numpy(), wanted)
