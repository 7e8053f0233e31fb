# SPDX-License-Identifier: MIT
"""The loss of an epoch: what its samples would have as one batch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ._make_error import make_error
from .errors import StateError

if TYPE_CHECKING:
    from ._core import ExecutionResult, TrainingGraph

__all__ = ["EpochLoss", "summed_losses"]


def summed_losses(training: TrainingGraph) -> frozenset[str]:
    """Losses, by name, that add samples up; the others are means of them."""
    losses = training._listing()["losses"]
    return frozenset(name for name, kind in losses.items() if kind == "sum")


class EpochLoss:
    """Adds losses of batches up: a mean counts by samples, a sum is a sum."""

    def __init__(
        self, op: str, argument: str, number: int, summed: frozenset[str]
    ) -> None:
        self.batches = 0
        self._op = op
        self._argument = argument
        self._number = number
        self._summed = summed
        self._sums = self._weighted = 0.0
        self._samples = 0

    def add(
        self, result: ExecutionResult, samples: int, allow_non_finite: bool
    ) -> None:
        """Raises StateError where the loss is no number, or not a finite one."""
        loss = result.loss
        if not allow_non_finite and not math.isfinite(loss):
            raise self._diverged(loss)
        sums = 0.0
        if self._summed:
            sums = sum(v for k, v in result.losses.items() if k in self._summed)
        self._sums += sums
        self._weighted += (loss - sums) * samples
        self._samples += samples
        self.batches += 1

    @property
    def value(self) -> float:
        """So far, of one batch or more."""
        return self._sums + self._weighted / self._samples

    def _diverged(self, loss: float) -> Exception:
        return make_error(
            StateError,
            "the loss is not finite",
            op=self._op,
            node=self._argument,
            expected="a finite number",
            got=f"{loss} in batch {self.batches} of epoch {self._number}",
            hint="Look for such values in the data; lower the learning rate, or clip "
            "gradients. allow_non_finite=True goes on.",
        )
