# SPDX-License-Identifier: MIT
"""Progress of ``tg.fit`` by batch: tqdm's bar, or a line on a terminal."""

from __future__ import annotations

import importlib
import shutil
import sys
import time
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._core import TrainingGraph

__all__ = ["Progress"]


class Progress:
    """The batches of all epochs. How many that are is known when batches have a
    length, else after the first epoch."""

    def __init__(self, shows: bool, epochs: range) -> None:
        self._epochs = epochs
        self._bar: Any = _bar() if shows else None

    def begin(self, number: int, length: int | None) -> None:
        """An epoch of so many batches, if that is known."""
        if self._bar is None:
            return
        if number == self._epochs.start and length is not None:
            self._bar.total = len(self._epochs) * length
        self._bar.set_description(f"epoch {number + 1}/{self._epochs.stop}")

    def batch(self, loss: float, training: TrainingGraph) -> None:
        """One batch is done, with the mean loss of the epoch so far."""
        if self._bar is None or not self._bar.update():
            return
        shown = {"loss": f"{loss:.4g}"}
        if training.optimizer is not None:
            shown["rate"] = f"{training.optimizer.learning_rate:.3g}"
        self._bar.set_postfix(shown, refresh=False)  # it was drawn

    def end(self, number: int, metrics: dict[str, float]) -> None:
        """The epoch is over."""
        if self._bar is None:
            return
        done = number + 1 - self._epochs.start
        self._bar.total = round(self._bar.n / done * len(self._epochs))
        self._bar.set_postfix(metrics)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _bar() -> Any:
    """None where nobody would see it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a notebook shows it as text
            tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return _Line() if sys.stderr is not None and sys.stderr.isatty() else None
    return tqdm(total=None, unit="batch")


class _Line:
    """What fit() uses of tqdm, as one line that is written over."""

    SECONDS = 0.1  # between two times that it is drawn

    def __init__(self) -> None:
        self.n = 0
        self.total: int | None = None
        self._description = self._postfix = ""
        self._start = time.monotonic()
        self._drawn = 0.0
        self._width = 0

    def update(self) -> bool:
        """One more batch; returns whether it was drawn."""
        self.n += 1
        if time.monotonic() < self._drawn + self.SECONDS:
            return False
        self._draw()
        return True

    def set_description(self, text: str) -> None:
        self._description = text
        self._draw()

    def set_postfix(self, values: dict[str, Any], refresh: bool = True) -> None:
        told = (
            f"{name} {value}" if isinstance(value, str) else f"{name} {value:.4g}"
            for name, value in values.items()
        )
        self._postfix = ", ".join(told)
        if refresh:
            self._draw()

    def close(self) -> None:
        self._draw()
        sys.stderr.write("\n")

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        rate = self.n / max(self._drawn - self._start, 1e-9)
        of = "" if self.total is None else f"/{self.total}"
        text = f"{self._description}: batch {self.n}{of}, {rate:.1f} batches/s"
        text = f"{text}, {self._postfix}" if self._postfix else text
        text = text[: shutil.get_terminal_size().columns - 1]  # or it would wrap
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()
        self._width = len(text)
