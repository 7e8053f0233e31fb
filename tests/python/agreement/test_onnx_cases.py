# SPDX-License-Identifier: MIT
"""The numeric node cases that the ONNX package ships, on the CPU device.

Every case whose operations and data types exist on both sides is run; those
that differ in meaning are skipped by name, with the reason.
"""

from __future__ import annotations

import fnmatch
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx ships the cases")

from . import (
    onnx_attention,
    onnx_elementwise,
    onnx_layout,
    onnx_network,
    onnx_recurrent,
)
from .onnx_import import (
    Importer,
    all_cases,
    has_counterpart,
    has_only_known_types,
    id_of,
)

# Importing a family registers its operations.
FAMILIES = (
    onnx_attention,
    onnx_elementwise,
    onnx_layout,
    onnx_network,
    onnx_recurrent,
)

# ONNX's own runner compares with rtol 1e-3, atol 1e-7. Sums of up to 75
# float32 products in another order differ by some 1e-6 in size, hence the
# absolute part.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-6}

# What has no counterpart, or another meaning: pattern of the name -> reason.
NO_COUNTERPART = {
    "arg*keepdims_example_select_last_index": "ties give the first index",
    "averagepool_2d_ceil_last_window_starts_on_pad": "expected with four digits",
    "averagepool_3d_*": "windows have two spatial axes at most",
    "convtranspose_3d": "windows have two spatial axes at most",
    "lppool_3d_*": "windows have two spatial axes at most",
    "maxpool_3d_*": "windows have two spatial axes at most",
    "lppool_1d_default": "the norm of a window is L2; this is p = 3",
    "lppool_2d_default": "the norm of a window is L2; this is p = 4",
    "lppool_2d_pads": "the norm of a window is L2; this is p = 3",
    "lppool_2d_same_lower": "the norm of a window is L2; this is p = 4",
    "batchnorm_*_training_mode": "a training graph: test_onnx_training.py",
    "training_dropout": "another generator of random numbers",
    "training_dropout_default*": "another generator of random numbers",
    "training_dropout_mask": "another generator of random numbers",
    "training_dropout_*_mask": "the mask is no result",
    "div_int32_trunc": "arithmetic is float32",
    "max_int*": "arithmetic is float32",
    "min_int*": "arithmetic is float32",
    "pow_types_*": "arithmetic is float32, and both operands have one type",
    "where_long_example": "select is float32",
    "nllloss_*_ii_expanded": "arithmetic is float32",
    "wrap_pad": "no such padding",
    "attention_*softcap*": "scores have no cap",
    "attention_local_window_gqa_rank4_mask*": "scores have no cap",
    "resize_*cubic*": "samples are nearest or linear",
    "resize_*antialias*": "samples that are not read do not count",
    "resize_*_nearest_ceil_half_pixel": "nearest is neither rounded up nor down",
    "resize_*_nearest_floor_align_corners": "nearest is neither rounded up nor down",
    "resize_*_asymmetric": "samples are in the middle of pixels, or at the corners",
    "resize_*_half_pixel_symmetric": "positions follow from sizes, not from scales",
    "resize_downsample_scales_*": "positions follow from sizes, not from scales",
    "resize_*_sizes_nearest*": "the later of two samples that are as near",
    "resize_*_linear_pytorch_half_pixel": "a single sample is that in the middle",
    "resize_tf_crop_and_resize*": "the whole image is sampled",
    "*_empty_set*": "tensors have at least one element",
    "reshape_allowzero_reordered": "tensors have at least one element",
    "slice_start_out_of_bounds": "tensors have at least one element",
    "split_zero_size_splits_*": "tensors have at least one element",
    "slice_neg_steps": "strides are positive",
    "gather_negative_indices": "indices are 0 to size - 1",
    "gather_elements_negative_indices": "indices are 0 to size - 1",
    "scatter_elements_with_negative_indices": "indices are 0 to size - 1",
    "scatter_elements_with_reduction_*": "sources replace or add up",
}
# Fewer would mean that cases stopped being collected; onnx 1.23 has 651.
MINIMUM_NUM_CASES = 600


def collect() -> list[Any]:
    return [
        case
        for case in all_cases()
        if has_only_known_types(case.model) and has_counterpart(case.model)
    ]


def reason_to_skip(name: str) -> str | None:
    for pattern, reason in NO_COUNTERPART.items():
        if fnmatch.fnmatchcase(name, pattern):
            return reason
    return None


def parameter(case: Any) -> Any:
    name = id_of(case)
    reason = reason_to_skip(name)
    marks = [] if reason is None else [pytest.mark.skip(reason=reason)]
    return pytest.param(case, id=name, marks=marks)


CASES = [parameter(case) for case in collect()]


@pytest.mark.parametrize("case", CASES)
def test_case(case: Any) -> None:
    inputs, expected = case.data_sets[0]
    results = Importer(case.model, inputs).run()
    num_compared = 0
    for result, wanted in zip(results, expected, strict=True):
        if result is None:
            continue
        num_compared += 1
        assert result.size == wanted.size
        assert result.shape == (np.shape(wanted) or (1,))
        np.testing.assert_allclose(
            result.reshape(np.shape(wanted)), wanted, **TOLERANCE
        )
    assert num_compared > 0


def test_number_of_cases() -> None:
    num_run = sum(not case.marks for case in CASES)
    assert num_run >= MINIMUM_NUM_CASES
