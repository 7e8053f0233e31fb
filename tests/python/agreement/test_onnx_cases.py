# SPDX-License-Identifier: MIT
"""The numeric node cases that the ONNX package ships, loaded by tg.onnx.

Every case whose ops and data types exist on both sides is run; those that
differ in meaning are refused when they are loaded, or named here.
"""

from __future__ import annotations

import fnmatch
from typing import Any

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("onnx", reason="onnx ships the cases")

from .onnx_cases import (
    all_cases,
    has_counterpart,
    has_only_known_types,
    id_of,
    results,
)

# ONNX's own runner compares with rtol 1e-3, atol 1e-7. Sums of up to 75
# float32 products in another order differ by some 1e-6 in size, hence the
# absolute part.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-6}

# What load() refuses: pattern of the name -> the reason that it gives.
REFUSED = {
    "arg*_select_last_index": "of equal elements the first is found",
    "*averagepool_3d_*": "windows have one or two spatial axes",
    "convtranspose_3d": "windows have one or two spatial axes",
    "lppool_3d_*": "windows have one or two spatial axes",
    "maxpool_3d_*": "windows have one or two spatial axes",
    "lppool_*": "the norm of a window is L2",
    "batchnorm_*_training_mode": "has no counterpart",
    "*dropout_*mask*": "has no counterpart",
    "maxpool_with_argmax_*": "has no counterpart",
    "attention_*softcap*": "scores have no cap",
    "attention_local_window_gqa_rank4_mask": "scores have no cap",
    "attention_*_expanded": "is no type of a tensor",
    "causal_conv_with_state_*_expanded": "tensors have at least one element",
    "attention_*qk_matmul*": "no result",
    "flexattention_*": "wrong data type",
    "center_crop_pad_*": "wrong data type",
    "div_int32_trunc": "wrong data type",
    "m??_int*": "wrong data type",
    "nllloss_*_ii_expanded": "wrong data type",
    "pow_types_*": "wrong data type",
    "where_long_example": "wrong data type",
    "not_?d": "opsets 7 to",
    "resize_*cubic*": "samples are nearest or linear",
    "resize_*antialias": "samples that are not read do not count",
    "resize_*half_pixel_symmetric": "positions are not sampled",
    "resize_tf_crop_and_resize*": "positions are not sampled",
    "resize_*not_smaller": "there is no keep_aspect_ratio_policy",
    "resize_*not_larger": "there is no keep_aspect_ratio_policy",
    "resize_*": "its positions are those of no sampling here",
    "*_empty_set*": "has the size 0",
    "reshape_allowzero_reordered": "has the size 0",
    "split_zero_size_splits_*": "has the size 0",
    "rotary_embedding_*expanded": "a tensor is not empty",
    "scatter_elements_with_reduction_*": "sources replace or add up",
    "slice_start_out_of_bounds": "its result is empty",
    "wrap_pad": "there is no padding wrap",
}

# What is loaded and gives something else.
DIFFERENT = {
    "averagepool_2d_ceil_last_window_starts_on_pad": "expected with four digits",
    "gather_elements_negative_indices": "indices are 0 to size - 1",
    "gather_negative_indices": "indices are 0 to size - 1",
    "scatter_elements_with_negative_indices": "indices are 0 to size - 1",
    "training_dropout": "drops in training graphs, by other random numbers",
    "training_dropout_default": "drops in training graphs, by other random numbers",
}

NO_OP = "there is no such op here"
# Fewer would mean that cases stopped being collected; onnx 1.23 has 748.
MINIMUM_NUM_CASES = 700


def parameter(case: Any) -> Any:
    name = id_of(case)
    reason = DIFFERENT.get(name)
    marks = [] if reason is None else [pytest.mark.skip(reason=reason)]
    return pytest.param(case, id=name, marks=marks)


CASES = [
    parameter(case)
    for case in all_cases()
    if has_only_known_types(case) and has_counterpart(case)
]
num_run = 0


def results_or_refusal(case: Any) -> tuple[list[Any], str | None]:
    try:
        return results(case), None
    except tg.UnsupportedError as error:
        return [], str(error)


def is_expected(name: str, refusal: str) -> bool:
    """Is it one of the reasons that are listed for this name?"""
    return any(
        fnmatch.fnmatchcase(name, pattern) and reason in refusal
        for pattern, reason in REFUSED.items()
    )


@pytest.mark.parametrize("case", CASES)
def test_case(case: Any) -> None:
    global num_run
    found, refusal = results_or_refusal(case)
    if refusal is not None:
        if NO_OP in refusal:
            pytest.skip("the case is written out with ops that have no counterpart")
        assert is_expected(id_of(case), refusal), refusal
        return
    num_run += 1
    for result, wanted in zip(found, case.data_sets[0][1], strict=True):
        assert result.shape == (np.shape(wanted) or (1,))
        np.testing.assert_allclose(
            result.reshape(np.shape(wanted)), wanted, **TOLERANCE
        )


def test_number_of_cases(request: pytest.FixtureRequest) -> None:
    num_selected = sum(i.name.startswith("test_case[") for i in request.session.items)
    if num_selected < len(CASES):
        pytest.skip("some cases were not selected")
    assert num_run >= MINIMUM_NUM_CASES
