# SPDX-License-Identifier: MIT
"""``History``: what ``tg.fit`` returns."""

from __future__ import annotations

import html
import importlib
import io
import math
from typing import TYPE_CHECKING, Any

from ._arguments import got
from ._calls import checked
from ._make_error import make_error
from .errors import CallError, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["History", "as_numbers", "is_better"]


def as_numbers(op: str, metrics: Mapping[str, object]) -> dict[str, float]:
    """Raises CallError for what is no number."""
    return {name: _number(op, name, value) for name, value in metrics.items()}


def _number(op: str, name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise make_error(
            CallError,
            "a metric is no number",
            op=op,
            node=name,
            expected="a number",
            got=got(value),
        ) from error


def is_better(value: float, best: float, monitor: str, maximize: bool | None) -> bool:
    """Smaller values are, but of accuracies, unless `maximize` says otherwise. What
    is not finite never is."""
    if maximize is None:
        maximize = monitor.endswith("accuracy")
    is_first = not math.isfinite(best)
    return math.isfinite(value) and (
        is_first or (value > best if maximize else value < best)
    )


class History:
    """Metrics by name, a number per epoch; ``pandas.DataFrame(history.metrics)``.

    fit() makes it, and notebooks show it as plot().

    Args:
        monitor: the metric by which epochs are compared.
        first_epoch: the number of the first epoch.
        maximize: is a larger one better? None: of those that end in "accuracy".

    Attributes:
        metrics: lists by name; NaN where an epoch does not have one.
        best_epoch: the number of the best one; None before there is a finite one.

    Example:
        >>> history = tg.fit(training, (points, targets), epochs=3)
        >>> len(history.metrics["loss"]), history.best_epoch
        (3, 2)
    """

    def __init__(
        self, monitor: str, first_epoch: int = 0, maximize: bool | None = None
    ) -> None:
        self.monitor = monitor
        self.maximize = maximize
        self.first_epoch = first_epoch
        self.metrics: dict[str, list[float]] = {}
        self.best_epoch: int | None = None

    @property
    def num_epochs(self) -> int:
        """How many there are."""
        return max(map(len, self.metrics.values()), default=0)

    @property
    def epochs_since_best(self) -> int:
        """How many came after the best one."""
        last = self.first_epoch + self.num_epochs - 1
        best = self.first_epoch - 1 if self.best_epoch is None else self.best_epoch
        return last - best

    def require_monitor(self, names: Collection[str]) -> None:
        """Asks whether the monitor is among the metrics of an epoch.

        Args:
            names: of the metrics.

        Raises:
            InvalidArgument: it is not.

        Example:
            >>> tg.History("loss").require_monitor(["accuracy", "loss"])
        """
        if self.monitor in names:
            return
        raise make_error(
            InvalidArgument,
            "there is no metric to monitor",
            op="fit",
            node="monitor",
            expected=f"one of {', '.join(sorted(names))}",
            got=f'"{self.monitor}"',
            hint="A callback may add it.",
        )

    def add(self, metrics: dict[str, float]) -> bool:
        """Appends those of an epoch, as fit() does.

        Args:
            metrics: numbers by name, the monitor's among them.

        Returns:
            Is it the best one so far?

        Raises:
            InvalidArgument: the monitor's is missing.
            CallError: one is no number.

        Example:
            >>> history = tg.History("loss")
            >>> history.add({"loss": 0.5}), history.add({"loss": 0.75})
            (True, False)
        """
        self.require_monitor(metrics)
        numbers = as_numbers("fit", metrics)
        count = self.num_epochs
        for name in {**self.metrics, **numbers}:  # each has an entry per epoch
            values = self.metrics.setdefault(name, [math.nan] * count)
            values.append(numbers.get(name, math.nan))
        of_best = math.nan
        if self.best_epoch is not None:
            of_best = self.metrics[self.monitor][self.best_epoch - self.first_epoch]
        is_best = is_better(numbers[self.monitor], of_best, self.monitor, self.maximize)
        if is_best:
            self.best_epoch = self.first_epoch + count
        return is_best

    @checked
    def plot(self, axes: Any = None) -> Any:
        """Draws all metrics, with Matplotlib.

        Args:
            axes: Matplotlib's, to draw on; None: new ones.

        Returns:
            The axes.

        Raises:
            ImportError: Matplotlib is not installed.

        Example:
            >>> picture = history.plot().figure  # doctest: +SKIP
        """
        if axes is None:
            figure = importlib.import_module("matplotlib.figure").Figure
            axes = figure(figsize=(6, 3.5), layout="constrained").subplots()
        for name, values in self.metrics.items():
            numbers = range(self.first_epoch, self.first_epoch + len(values))
            axes.plot(numbers, values, label=name, marker=".")
        if self.best_epoch is not None:
            axes.axvline(self.best_epoch, color="gray", linestyle=":")
        axes.set_xlabel("epoch")
        axes.legend()
        return axes

    def __repr__(self) -> str:
        last = ", ".join(f"{k} {v[-1]:.4g}" for k, v in self.metrics.items() if v)
        best = f", best epoch {self.best_epoch}" if self.best_epoch is not None else ""
        return f"<History of {self.num_epochs} epochs: {last}{best}>"

    def _repr_html_(self) -> str:
        try:
            picture = io.StringIO()
            self.plot().figure.savefig(picture, format="svg")
        except ImportError:
            return f"<pre>{html.escape(repr(self))}</pre>"
        return picture.getvalue()
