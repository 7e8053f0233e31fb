# SPDX-License-Identifier: MIT
"""Batches by name: which array is what, and how many samples there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import _core
from ._arguments import got
from ._make_error import make_error
from ._names import did_you_mean
from .errors import CallError, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ._core import Execution, TrainingGraph

    Batch = Mapping[str, Any] | Sequence[Any]
    Batches = Iterable[Batch] | Callable[[int], Iterable[Batch]]

__all__ = ["Runner", "is_mapping", "iterable", "one_pass", "require_batches"]


BATCHES = "an iterable of batches"


def require_batches(what: str, batches: Batches, epochs: int) -> None:
    """Raises, before the first epoch, unless each epoch can have a pass."""
    if callable(batches):
        return
    iterable("fit", batches, what, f"{BATCHES}, or a function that returns one")
    if hasattr(batches, "__next__") and epochs > 1:
        raise InvalidArgument(
            f"[fit] {what} can be gone through only once: expected a list, or a "
            f"function that returns an iterable, got {type(batches).__name__} for "
            f"{epochs} epochs. Pass a function of the epoch's number."
        )


def one_pass(what: str, batches: Batches, number: int) -> Iterable[Batch]:
    """The batches of an epoch."""
    given = batches(number) if callable(batches) else batches
    return iterable("fit", given, what)


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
    """Is it a mapping as execute() takes one? NumPy's archives and data frames are, too."""
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
        self._kinds = {
            "input": training.inputs,
            "label": training.loss_labels,
            "label weight": training.loss_label_weights,
        }
        self._tensors = {k: v for each in self._kinds.values() for k, v in each.items()}
        self._compiled = training.batch_size

    def named(self, what: str, batch: Batch) -> dict[str, Any]:
        """Names the arrays of any mapping, or of (x, y) where nothing else can be meant."""
        if is_mapping(batch):
            given = cast("Mapping[str, Any]", batch)
            named = {name: given[name] for name in given.keys()}  # noqa: SIM118
            self._require_declared(what, named)
            return named
        if isinstance(batch, (tuple, list)) and len(batch) in self._tuple_lengths():
            return dict(zip(self._tensors, batch, strict=False))
        names = ", ".join(f'"{name}": ...' for name in self._tensors)
        raise make_error(
            CallError,
            "a batch is no mapping",
            op="fit",
            node=what,
            expected="a mapping name -> array" + self._told_tuple(),
            got=self._got(batch),
            hint=f"Make each batch {{{names}}}.",
        )

    def _tuple_lengths(self) -> range:
        """(x, y), and (x, y, w) where there are label weights, of one each."""
        counts = [len(tensors) for tensors in self._kinds.values()]
        is_plain = counts[:2] == [1, 1] and counts[2] <= 1
        return range(2, 3 + counts[2]) if is_plain else range(0)

    def _told_tuple(self) -> str:
        if not self._tuple_lengths():
            return ""
        names = list(self._tensors)[: self._tuple_lengths()[-1]]
        return f", or ({', '.join(names)})"

    @staticmethod
    def _got(batch: object) -> str:
        if isinstance(batch, (tuple, list)):
            return f"a {type(batch).__name__} of {len(batch)}"
        return got(batch)

    def _require_declared(self, what: str, batch: dict[str, Any]) -> None:
        for name in batch:
            if name in self._tensors or not isinstance(name, str):
                continue  # execute() names what is no string
            declared = ", ".join(
                f'"{each}" ({kind})'
                for kind, tensors in self._kinds.items()
                for each in tensors
            )
            raise make_error(
                InvalidArgument,
                f"{what} have a name that is not declared",
                op="fit",
                node=name,
                expected=f"one of {declared}",
                got=f'"{name}"',
                hint=did_you_mean(name, list(self._tensors)),
            )

    def samples(self, batch: dict[str, Any]) -> int:
        """Execute() checks that all arrays have as many."""
        for name, tensor in self._tensors.items():
            axis = tensor.batch_axis
            if axis is None or name not in batch:
                continue
            shape = np.shape(batch[name])
            if axis < len(shape):
                return int(shape[axis]) * self._compiled // tensor.shape[axis]
        return self._compiled

    def require_label(self, what: str, batch: dict[str, Any]) -> None:
        """The inference form does without, and then has no loss."""
        labels = self._kinds["label"]
        if not labels.keys().isdisjoint(batch):
            return
        raise make_error(
            InvalidArgument,
            "there is no label data",
            op="fit",
            node=what,
            expected="data for " + " and ".join(f'"{name}"' for name in labels),
            got=", ".join(f'"{name}"' for name in batch) or "an empty batch",
        )

    def execute(self, batch: dict[str, Any], **options: Any) -> Execution:
        labels, weights = self._kinds["label"], self._kinds["label weight"]
        return self._training.execute(
            {k: v for k, v in batch.items() if k not in labels and k not in weights},
            {k: v for k, v in batch.items() if k in labels},
            {k: v for k, v in batch.items() if k in weights},
            **options,
        )
