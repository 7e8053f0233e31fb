# SPDX-License-Identifier: MIT
"""The layers GRU and RNN against PyTorch's: results, gradients, rounding.

Optional: runs where PyTorch is installed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

KINDS: dict[str, Any] = {"gru": tg.layers.GRU, "rnn": tg.layers.RNN}


@pytest.mark.parametrize("has_state", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_layer(
    rng: np.random.Generator, kind: str, options: str, *, has_state: bool
) -> None:
    check_layer(rng, KINDS[kind](IN, H, **OPTIONS[options]), int(has_state))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_lengths(rng: np.random.Generator, kind: str, *, bidirectional: bool) -> None:
    check_lengths(rng, KINDS[kind](IN, H, 2, bidirectional=bidirectional))


@pytest.mark.parametrize("steps", [1, 30, 1000])
@pytest.mark.parametrize("hidden", [8, 64])
@pytest.mark.parametrize("kind", KINDS)
def test_rounding_errors(
    rng: np.random.Generator, kind: str, steps: int, hidden: int
) -> None:
    check_rounding_errors(rng, KINDS[kind](16, hidden), steps)
