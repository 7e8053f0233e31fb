# SPDX-License-Identifier: MIT
"""ML Compute's upsampling and Gram matrix layers, by value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, floats, value_of

L = tg.layers


def matrix(size: int, result: int, mode: str, aligned: bool) -> Any:
    """(result, size): the shares of the source in the result, along one axis."""
    at = np.arange(result)
    ratio = (size - 1) / max(result - 1, 1) if aligned else size / result
    position = at * ratio if aligned else (at + 0.5) * ratio - 0.5
    position = np.clip(position, 0, size - 1)
    shares = np.zeros((result, size))
    if mode == "nearest":
        shares[at, np.floor(position + 0.5).astype(int)] = 1
        return shares
    below = np.floor(position).astype(int)
    above = np.minimum(below + 1, size - 1)
    np.add.at(shares, (at, below), 1 - (position - below))
    np.add.at(shares, (at, above), position - below)
    return shares


def sampled(x: Any, shape: tuple[int, int], mode: str, aligned: bool) -> Any:
    rows = matrix(x.shape[2], shape[0], mode, aligned)
    columns = matrix(x.shape[3], shape[1], mode, aligned)
    return np.einsum("nchw,Hh,Ww->ncHW", x.astype(np.float64), rows, columns)


@pytest.mark.parametrize("shape", [(8, 10), (6, 9), (2, 3), (4, 5)])
@pytest.mark.parametrize(
    ("mode", "aligned"), [("nearest", False), ("linear", False), ("linear", True)]
)
def test_upsampling(shape: tuple[int, int], mode: str, aligned: bool) -> None:
    x = floats(2, 3, 4, 5)
    layer = L.Upsample(shape, sample_mode=mode, aligns_corners=aligned)
    assert layer.shape == shape
    assert layer.sample_mode is tg.mlcompute.SampleMode[mode]
    assert layer.aligns_corners is aligned
    expected = sampled(x, shape, mode, aligned)
    np.testing.assert_allclose(value_of(layer, x), expected, **CLOSE)


def test_upsampling_by_shape() -> None:
    layer = L.Upsample((8, 10))
    assert layer.sample_mode is tg.mlcompute.SampleMode.nearest
    assert not layer.aligns_corners
    x = floats(2, 3, 4, 5)
    np.testing.assert_array_equal(value_of(layer, x), x.repeat(2, 2).repeat(2, 3))
    row = L.Upsample(10)
    assert row.shape == (10,)
    np.testing.assert_array_equal(value_of(row, x), x.repeat(2, 3))


def test_sample_modes() -> None:
    assert (tg.mlcompute.SampleMode.nearest, tg.mlcompute.SampleMode.linear) == (0, 1)
    assert [str(mode) for mode in tg.mlcompute.SampleMode] == ["nearest", "linear"]


@pytest.mark.parametrize(
    "arguments",
    [
        ((8, 8), "nearest", True),
        ((), "linear"),
        ((0, 4),),
        ((1, 2, 3),),
        ((4,), "cubic"),
    ],
)
def test_what_upsampling_refuses(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(tg.InvalidArgument):
        L.Upsample(*arguments)


@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_gram_matrix(scale: float) -> None:
    x = floats(2, 3, 4, 5)
    layer = L.GramMatrix(scale)
    assert layer.scale == scale
    expected = scale * np.einsum("nfhw,nchw->nfc", x, x, dtype=np.float64)
    value = value_of(layer, x)
    assert value.shape == (2, 3, 1, 3)
    np.testing.assert_allclose(value[:, :, 0], expected, **CLOSE)
    assert L.GramMatrix().scale == 1.0
