# SPDX-License-Identifier: MIT
"""Convolutions of images that are smaller than their kernels, in every precision:
taps and windows that read only padding give zeros, and no byte stays unwritten."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import traingraph as tg

from .convolution_reference import (
    ERRORS,
    ConvolutionCase,
    failures,
    random_case,
    windows_of,
)

NUM_CASES = 60

# Columns of images: only the kernel's middle column reads them. With AMX, oneDNN
# leaves what belongs to the others in the gradient of the weights unwritten.
COLUMN = ConvolutionCase(
    "standard", 4, 32, 32, 1, (7, 1), (3, 3), (2, 2), (1, 1), (1, 1), True, False
)
# No window meets the image: an access violation when such a primitive is made.
MISSED = ConvolutionCase(
    "standard", 1, 16, 16, 1, (1, 8), (2, 1), (1, 1), (3, 1), (2, 0), True, False
)
# Taps 0, 1, 3, 4 of either axis do not reach the one sample.
MIDDLE = ConvolutionCase(
    "transposed", 2, 16, 16, 1, (1, 1), (5, 5), (1, 1), (1, 1), (2, 2), True, False
)
# Every other tap reads, of those within its reach.
STRIDED = ConvolutionCase(
    "standard", 2, 16, 16, 1, (1, 1), (5, 5), (2, 2), (1, 1), (3, 3), False, True
)
KNOWN = {"column": COLUMN, "missed": MISSED, "middle": MIDDLE, "strided": STRIDED}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    # Of precisions that this processor does not multiply.
    warnings.simplefilter("ignore", RuntimeWarning)


@pytest.mark.parametrize("precision", ERRORS)
@pytest.mark.parametrize("name", KNOWN)
def test_what_reads_only_padding_is_zero(name: str, precision: str) -> None:
    windows = windows_of(KNOWN[name])
    assert windows is not None
    assert failures(KNOWN[name], windows, precision, seed=1) == []


@pytest.mark.parametrize("precision", ERRORS)
def test_random_shapes(precision: str) -> None:
    rng = np.random.default_rng(20261)
    num_cases = 0
    while num_cases < NUM_CASES:
        case = random_case(rng, largest=4)
        windows = windows_of(case)
        if windows is None:
            continue
        found = failures(case, windows, precision, seed=num_cases)
        assert found == [], (num_cases, case)
        num_cases += 1


def test_a_pool_refuses_what_a_convolution_takes() -> None:
    # The maximum of no samples has no value; their sum is 0.
    graph, x = tg.Graph(), tg.Tensor((1, 1, 1, 8), name="x")
    pool = tg.layers.MaxPooling(
        (2, 1), strides=1, dilation_rates=(3, 1), padding=(2, 0)
    )
    with pytest.raises(tg.ShapeError, match="reads only padding"):
        graph.node(pool, x)
