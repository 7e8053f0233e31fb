# SPDX-License-Identifier: MIT
"""The LSTM layer against PyTorch's: results, gradients and rounding errors.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import traingraph as tg

from .torch_recurrent import (
    IN,
    OPTIONS,
    H,
    check_layer,
    check_lengths,
    check_rounding_errors,
)

if TYPE_CHECKING:
    import numpy as np


@pytest.mark.parametrize("has_states", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_lstm(rng: np.random.Generator, options: str, *, has_states: bool) -> None:
    check_layer(rng, tg.layers.LSTM(IN, H, **OPTIONS[options]), 2 * has_states)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_lengths(rng: np.random.Generator, *, bidirectional: bool) -> None:
    check_lengths(rng, tg.layers.LSTM(IN, H, 2, bidirectional=bidirectional))


@pytest.mark.parametrize("steps", [1, 30, 1000])
@pytest.mark.parametrize("hidden", [8, 64])
def test_rounding_errors(rng: np.random.Generator, steps: int, hidden: int) -> None:
    check_rounding_errors(rng, tg.layers.LSTM(16, hidden), steps)
