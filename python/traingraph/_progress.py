# SPDX-License-Identifier: MIT
"""Progress of ``tg.fit`` by batch, where tqdm is installed."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._epoch_loss import EpochLoss

__all__ = ["Progress"]


class Progress:
    """A bar over the batches of all epochs. How many that are is known when
    batches have a length, else after the first epoch."""

    def __init__(self, shows: bool, epochs: range) -> None:
        self._epochs = epochs
        self._bar: Any = None
        if not shows:
            return
        try:
            tqdm = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            return
        self._bar = tqdm(total=None, unit="batch")

    def begin(self, number: int, batches: object) -> None:
        if self._bar is None:
            return
        if number == self._epochs.start and hasattr(batches, "__len__"):
            self._bar.total = len(self._epochs) * len(batches)
        self._bar.set_description(f"epoch {number + 1}/{self._epochs.stop}")

    def batch(self, loss: EpochLoss) -> None:
        if self._bar is not None and self._bar.update():  # it was drawn
            self._bar.set_postfix({"loss": loss.value}, refresh=False)

    def end(self, number: int, metrics: dict[str, float]) -> None:
        if self._bar is None:
            return
        done = number + 1 - self._epochs.start
        self._bar.total = round(self._bar.n / done * len(self._epochs))
        self._bar.set_postfix(metrics)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
