# SPDX-License-Identifier: MIT
"""Batches by name: which array is what, and how many samples there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InvalidArgument, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ._core import Execution, TrainingGraph

    Batch = Mapping[str, Any]
    Batches = Iterable[Batch] | Callable[[int], Iterable[Batch]]

__all__ = ["Runner", "one_pass"]


def one_pass(batches: Batches, number: int, epochs: int) -> Iterator[Batch]:
    """The batches of an epoch."""
    if callable(batches):
        return iter(batches(number))
    iterator = iter(batches)
    if iterator is batches and epochs > 1:
        raise InvalidArgument(
            "[fit] batches can be gone through only once: expected a list, or a "
            f"function that returns an iterable, got {type(batches).__name__} for "
            f"{epochs} epochs. Pass a function of the epoch's number."
        )
    return iterator


class Runner:
    """Executes batches: which array is what, and how many samples there are."""

    def __init__(self, training: TrainingGraph) -> None:
        self._training = training
        self._labels = training.loss_labels
        self._weights = training.loss_label_weights
        self._tensors = {**training.inputs, **self._labels, **self._weights}
        self._compiled = training.batch_size

    def samples(self, batch: Batch) -> int:
        """By each tensor's own batch axis, whose size may be a multiple."""
        counts: dict[str, float] = {}
        for name in batch.keys() & self._tensors.keys():
            tensor, shape = self._tensors[name], np.shape(batch[name])
            axis = tensor.batch_axis
            if axis is not None and axis < len(shape):
                counts[name] = shape[axis] * self._compiled / tensor.shape[axis]
        if len(set(counts.values())) > 1:
            raise ShapeError(
                f"[fit] arrays of one batch have different numbers of samples: {counts}"
            )
        return int(next(iter(counts.values()), self._compiled))

    def execute(self, batch: Batch, samples: int, **options: Any) -> Execution:
        labels, weights = self._labels, self._weights
        return self._training.execute(
            {k: v for k, v in batch.items() if k not in labels and k not in weights},
            {k: v for k, v in batch.items() if k in labels},
            {k: v for k, v in batch.items() if k in weights},
            batch_size=samples,
            **options,
        )
