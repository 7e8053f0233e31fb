# SPDX-License-Identifier: MIT
"""Batches by name: which array is what, and how many samples there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import _core
from ._arguments import got
from ._make_error import make_error
from .errors import CallError, InvalidArgument, ShapeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ._core import Execution, TrainingGraph

    Batch = Mapping[str, Any]
    Batches = Iterable[Batch] | Callable[[int], Iterable[Batch]]

__all__ = ["Runner", "iterable", "one_pass", "require_batches"]


BATCHES = "an iterable of batches"


def require_batches(what: str, batches: Batches, epochs: int) -> None:
    """Before the first epoch: can there be one pass in each?"""
    if callable(batches):
        return
    iterable("fit", batches, what, f"{BATCHES}, or a function that returns one")
    if hasattr(batches, "__next__") and epochs > 1:
        raise InvalidArgument(
            f"[fit] {what} can be gone through only once: expected a list, or a "
            f"function that returns an iterable, got {type(batches).__name__} for "
            f"{epochs} epochs. Pass a function of the epoch's number."
        )


def one_pass(what: str, batches: Batches, number: int) -> Iterator[Batch]:
    """The batches of an epoch."""
    given = batches(number) if callable(batches) else batches
    return iter(iterable("fit", given, what))


def iterable(
    op: str, batches: Any, what: str = "batches", expected: str = BATCHES
) -> Iterable[Any]:
    """Raises CallError for one batch, and for what is no iterable."""
    is_batch = is_mapping(batches)
    has_items = hasattr(batches, "__iter__") or hasattr(batches, "__getitem__")
    if has_items and not is_batch:
        return cast("Iterable[Any]", batches)
    raise make_error(
        CallError,
        "these are no batches",
        op=op,
        node=what,
        expected=expected,
        got=got(batches),
        hint="Of one batch pass a list: [batch]." if is_batch else "",
    )


def is_mapping(batch: object) -> bool:
    """Of what execute() takes: NumPy's archives and data frames, too."""
    return callable(getattr(batch, "keys", None)) and hasattr(batch, "__getitem__")


class Runner:
    """Executes batches: which array is what, and how many samples there are."""

    def __init__(self, training: TrainingGraph) -> None:
        if not isinstance(training, _core.TrainingGraph):
            raise make_error(
                CallError,
                "this does not train",
                op="fit",
                node="training",
                expected="a TrainingGraph",
                got=got(training),
            )
        self._training = training
        self._labels = training.loss_labels
        self._weights = training.loss_label_weights
        self._tensors = {**training.inputs, **self._labels, **self._weights}
        self._compiled = training.batch_size

    def named(self, what: str, batch: Batch) -> dict[str, Any]:
        """Of any mapping."""
        if is_mapping(batch):
            return {name: batch[name] for name in batch.keys()}  # noqa: SIM118
        names = ", ".join(f'"{name}": ...' for name in self._tensors)
        raise make_error(
            CallError,
            "a batch is no mapping",
            op="fit",
            node=what,
            expected="a mapping name -> array",
            got=got(batch),
            hint=f"Make each batch {{{names}}}.",
        )

    def samples(self, batch: dict[str, Any]) -> int:
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

    def require_label(self, what: str, batch: dict[str, Any]) -> None:
        """The inference form does without, and then has no loss."""
        if not self._labels.keys().isdisjoint(batch):
            return
        raise make_error(
            InvalidArgument,
            "there is no label data",
            op="fit",
            node=what,
            expected="data for " + " and ".join(f'"{name}"' for name in self._labels),
            got=", ".join(f'"{name}"' for name in batch) or "an empty batch",
        )

    def execute(self, batch: dict[str, Any], samples: int, **options: Any) -> Execution:
        labels, weights = self._labels, self._weights
        return self._training.execute(
            {k: v for k, v in batch.items() if k not in labels and k not in weights},
            {k: v for k, v in batch.items() if k in labels},
            {k: v for k, v in batch.items() if k in weights},
            batch_size=samples,
            **options,
        )
