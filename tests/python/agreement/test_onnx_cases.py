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
    array_of,
    has_counterpart,
    has_only_known_types,
    id_of,
    results,
)

# ONNX's own runner compares with rtol 1e-3, atol 1e-7. Sums of up to 75
# float32 products in another order differ by some 1e-6 in size, hence the
# absolute part.
TOLERANCE = {"rtol": 1e-4, "atol": 2e-6}
# What ONNX computes in 16 bits, and is computed in 32 here, by the bits of a float.
HALF = {
    "float16": {"rtol": 4e-3, "atol": 4e-3},
    "bfloat16": {"rtol": 3e-2, "atol": 3e-2},
}

# What load() refuses: pattern of the name -> the reason that it gives.
REFUSED = {
    "affine_grid_3d*": "it is of images",
    "*averagepool_3d_*": "windows have one or two spatial axes",
    "convtranspose_3d": "windows have one or two spatial axes",
    "lppool_3d_*": "windows have one or two spatial axes",
    "maxpool_3d_*": "windows have one or two spatial axes",
    "lppool_*": "the norm of a window is L2",
    "batchnorm_*_training_mode": "has no counterpart",
    "*dropout_*mask*": "has no counterpart",
    "maxpool_with_argmax_*": "its indices are of columns",
    "*int8*": "wrong data type",
    "clip_default_int8_*": "data_type cannot be filled",
    "*linear_blocked*": "there is a scale for all",
    "gridsample_volumetric_*": "it samples images",
    "h?mm*window_*": "evaluated when the model is loaded",
    "h?nn*window_*": "evaluated when the model is loaded",
    "blackmanwindow_*": "evaluated when the model is loaded",
    "scatternd_m*": "sources replace or add up",
    "tri?_zero": "has the size 0",
    "castlike_*": "has the size 0",
    "attention_*softcap*": "scores have no cap",
    "attention_local_window_gqa_rank4_mask": "scores have no cap",
    "attention_*_expanded": "is no type of a tensor",
    "causal_conv_with_state_*_expanded": "tensors have at least one element",
    "attention_*qk_matmul*": "no result",
    "flexattention_*": "wrong data type",
    "center_crop_pad_*": "has to be known",
    "rotary_embedding_*expanded": "a tensor is not empty",
    "nllloss_*_ii_expanded": "wrong data type",
    "pow_types_*": "the exponent is known",
    "not_?d": "opsets 7 to",
    "*_empty_set*": "has the size 0",
    "reshape_allowzero_reordered": "has the size 0",
    "split_zero_size_splits_*": "has the size 0",
    "scatter_elements_with_reduction_*": "sources replace or add up",
    "slice_start_out_of_bounds": "its result is empty",
}

# What is loaded and gives something else.
DIFFERENT = {
    "averagepool_2d_ceil_last_window_starts_on_pad": "expected with four digits",
    "gridsample_bicubic": "expected with four digits",
    **dict.fromkeys(
        (f"mod_float_edge_cases_fmod_0_float{n}" for n in (16, 32, 64)), "infinities"
    ),
    **dict.fromkeys(
        (
            "eyelike_populate_off_main_diagonal",
            "eyelike_with_dtype",
            "eyelike_without_dtype",
        ),
        "no node reads what is declared",
    ),
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
    for result, value in zip(found, case.data_sets[0][1], strict=True):
        wanted = array_of(value)
        assert result.shape == (np.shape(wanted) or (1,))
        tolerance = HALF.get(wanted.dtype.name, TOLERANCE)
        np.testing.assert_allclose(
            result.reshape(np.shape(wanted)).astype(np.float64),
            wanted.astype(np.float64),
            **tolerance,
        )


def test_number_of_cases(request: pytest.FixtureRequest) -> None:
    num_selected = sum(i.name.startswith("test_case[") for i in request.session.items)
    if num_selected < len(CASES):
        pytest.skip("some cases were not selected")
    assert num_run >= MINIMUM_NUM_CASES
