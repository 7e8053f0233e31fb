# SPDX-License-Identifier: MIT
"""Outputs of a compiled graph: where their samples are, and parts as one array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from ._core import InferenceGraph, TrainingGraph

__all__ = ["RESULT", "batch_axes", "joined"]

RESULT = ""  # the name of the last result, where no outputs are declared


def batch_axes(graph: TrainingGraph | InferenceGraph) -> dict[str, int]:
    """Of each declared output; below 0 where it does not follow the batch."""
    listing = graph._listing()
    outputs = listing["outputs"] or {RESULT: listing["result"]}
    return {k: listing["values"][v]["batch_axis"] for k, v in outputs.items()}


def joined(
    parts: Sequence[Mapping[str, NDArray[Any]]], axes: Mapping[str, int]
) -> dict[str, NDArray[Any]]:
    """The arrays of all batches as one each; new memory."""
    return {
        name: np.concatenate([part[name] for part in parts], axis=axis)
        for name, axis in axes.items()
    }
