# SPDX-License-Identifier: MIT
"""Callbacks of ``tg.fit`` that need more than a line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ._arguments import got, require_count, require_number
from ._calls import checked
from ._history import is_better
from ._make_error import make_error
from .errors import CallError, InvalidArgument, StateError

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

    from ._core import Optimizer, TrainingGraph
    from ._fit import Epoch

    Values = dict[str, NDArray[Any]]

__all__ = ["MovingAverage", "ReduceOnPlateau"]


def _require_state(op: str, state: object) -> None:
    if not isinstance(state, Mapping):
        raise make_error(
            CallError,
            "this is no state",
            op=op,
            node="load_state_dict",
            expected="a mapping, as state_dict() returns it",
            got=got(state),
        )


class ReduceOnPlateau:
    """Multiplies the optimizer's rate when a metric no longer gets better.

    A callback of fit(), which refuses it beside a schedule: both would set the rate.
    The rate is part of a checkpoint; what was counted is in state_dict(), for a run
    that goes on.

    Args:
        factor: what the rate is multiplied by, above 0 and below 1.
        patience: after so many epochs in which the metric did not get better.
        monitor: the metric; None: "validation_loss" if there is one, else "loss".
        maximize: is a larger one better? None: of those that end in "accuracy".
        threshold: the share of its best value by which a metric has to be better.
        min_rate: the rate is never set below it.

    Raises:
        InvalidArgument: a number is out of range.
        CallError: it is no number.

    Example:
        >>> slower = tg.callbacks.ReduceOnPlateau(factor=0.5, patience=3)
        >>> data = points, targets
        >>> history = tg.fit(training, data, epochs=2, callbacks=[slower])
    """

    @checked
    def __init__(
        self,
        factor: float = 0.1,
        patience: int = 10,
        *,
        monitor: str | None = None,
        maximize: bool | None = None,
        threshold: float = 1e-4,
        min_rate: float = 0.0,
    ) -> None:
        op = "ReduceOnPlateau"
        require_number(op, "factor", factor, above=0, below=1)
        require_count(op, "patience", patience)
        require_number(op, "threshold", threshold, least=0)
        require_number(op, "min_rate", min_rate, least=0)
        self._factor = factor
        self._patience = patience
        self._monitor = monitor
        self._maximize = maximize
        self._threshold = threshold
        self._min_rate = min_rate
        self._best = math.nan
        self._epochs = 0  # since the best one, or since the rate was reduced

    def __call__(self, epoch: Epoch) -> None:
        """Looks at the metrics of an epoch, as fit() asks it to.

        Args:
            epoch: the epoch.

        Raises:
            InvalidArgument: the monitor is not among the metrics.
            StateError: the graph has no optimizer, or one with a schedule.
        """
        monitor = self._monitor
        if monitor is None:
            has_validation = "validation_loss" in epoch.metrics
            monitor = "validation_loss" if has_validation else "loss"
        if monitor not in epoch.metrics:
            raise make_error(
                InvalidArgument,
                "there is no metric to monitor",
                op="ReduceOnPlateau",
                node="monitor",
                expected=f"one of {', '.join(epoch.metrics)}",
                got=f'"{monitor}"',
            )
        value = float(epoch.metrics[monitor])
        margin = self._threshold * abs(self._best)
        bound = {False: self._best - margin, True: self._best + margin}
        is_larger = is_better(1, 0, monitor, self._maximize)
        if is_better(value, bound[is_larger], monitor, self._maximize):
            self._best, self._epochs = value, 0
            return
        self._epochs += 1
        if self._epochs >= self._patience:
            self._reduce(epoch.training)
            self._epochs = 0

    def require_rate(self, training: TrainingGraph) -> None:
        """Asks whether there is a rate to reduce; fit() does so before it begins.

        Args:
            training: the graph.

        Raises:
            StateError: the graph has no optimizer, or one with a schedule.

        Example:
            >>> tg.callbacks.ReduceOnPlateau().require_rate(training)
        """
        optimizer = training.optimizer
        if optimizer is not None and optimizer.schedule is None:
            return
        raise make_error(
            StateError,
            "there is no rate to reduce",
            op="ReduceOnPlateau",
            expected="an optimizer without a schedule",
            got="one with a schedule" if optimizer else "a graph without an optimizer",
            hint="Of a schedule and a plateau one sets the rate: optimizer.schedule = "
            "None."
            if optimizer
            else "",
        )

    def state_dict(self) -> dict[str, float | None]:
        """Tells the best metric and the epochs since, for a run that goes on.

        Returns:
            The numbers "best", None before the first epoch, and "epochs"; JSON
            has room for them.

        Example:
            >>> sorted(slower.state_dict())
            ['best', 'epochs']
        """
        best = None if math.isnan(self._best) else self._best
        return {"best": best, "epochs": self._epochs}

    @checked
    def load_state_dict(self, state: Mapping[str, float | None]) -> None:
        """Goes on from what state_dict() returned.

        Args:
            state: what that was.

        Raises:
            InvalidArgument: it has other names, or counts less than 0 epochs.
            CallError: it is no mapping, or not of numbers.

        Example:
            >>> slower.load_state_dict(slower.state_dict())
        """
        _require_state("ReduceOnPlateau", state)
        if set(state) != {"best", "epochs"}:
            raise make_error(
                InvalidArgument,
                "this is no state of a plateau",
                op="ReduceOnPlateau",
                node="load_state_dict",
                expected="best, epochs",
                got=", ".join(map(str, state)) or "nothing",
            )
        best, epochs = state["best"], state["epochs"]
        require_count("ReduceOnPlateau", "epochs", epochs, least=0)
        if best is not None:
            require_number("ReduceOnPlateau", "best", best)
        self._best = math.nan if best is None else float(best)
        self._epochs = int(epochs or 0)

    def _reduce(self, training: TrainingGraph) -> None:
        self.require_rate(training)
        optimizer = cast("Optimizer", training.optimizer)
        reduced = max(optimizer.learning_rate * self._factor, self._min_rate)
        optimizer.learning_rate = min(reduced, optimizer.learning_rate)


class MovingAverage:
    """An exponential moving average of a graph's parameters, in float32 on the host.

    ``update()`` follows the training, as ``on_update`` of fit(), or in a loop of
    one's own; ``apply()`` gives the graph the averages, for a validation, a checkpoint,
    or for good. Each update copies all parameters, and waits for the step to end:
    ``every`` makes that rarer. Running statistics are those of the training.

    Args:
        decay: what the average keeps at an update: average = decay * average +
            (1 - decay) * parameter. 0 to 1, without 1. The first update copies.
        every: counts one update of so many, with decay ** every.

    Raises:
        InvalidArgument: a number is out of range.
        CallError: it is no number.

    Example:
        >>> average = tg.callbacks.MovingAverage(decay=0.99)
        >>> data = points, targets
        >>> history = tg.fit(training, data, on_update=average.update)
        >>> with average.apply(training):
        ...     scores = tg.evaluate(training, data)
    """

    @checked
    def __init__(self, decay: float = 0.999, *, every: int = 1) -> None:
        require_number("MovingAverage", "decay", decay, least=0, below=1)
        require_count("MovingAverage", "every", every)
        self.values: Values = {}
        """The averages by the names of the parameters."""
        self._decay = decay
        self._every = every

    @checked
    def update(self, training: TrainingGraph) -> None:
        """Takes the parameters into the average; called after each update.

        Args:
            training: the graph.

        Raises:
            StateError: it is not compiled, or has no optimizer.
            InvalidArgument: a state that was loaded is of other parameters.
            DTypeError: parameters are bfloat16, and ml_dtypes is not there.

        Example:
            >>> execution = training.execute({"x": points}, {"y": targets})
            >>> average.update(training)
            >>> sorted(average.values)
            ['fc.biases', 'fc.weights']
        """
        if training.optimizer is None:
            raise StateError(
                "[MovingAverage] there are no updates: expected a graph with an "
                "optimizer."
            )
        updates = training.optimizer.time_step - 1  # a run that is resumed goes on
        if self.values and updates % self._every:
            return
        state = training.state_dict()
        keep = np.float32(self._decay**self._every)
        for parameter in training.parameters:
            name = parameter.name
            value = state[name].astype(np.float32)
            average = self.values.setdefault(name, value)
            if average is value:
                continue
            if average.shape != value.shape:
                raise make_error(
                    InvalidArgument,
                    "the average is of another network",
                    op="MovingAverage",
                    node=name,
                    expected=str(value.shape),
                    got=str(average.shape),
                )
            average += (1 - keep) * (value - average)

    def state_dict(self) -> Values:
        """Copies the averages, for a run that goes on: np.savez() writes them.

        Returns:
            Name of a parameter -> array of float32.

        Example:
            >>> average.update(training)
            >>> sorted(average.state_dict())
            ['fc.biases', 'fc.weights']
        """
        return {name: value.copy() for name, value in self.values.items()}

    @checked
    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Goes on from what state_dict() returned.

        Args:
            state: name of a parameter -> array.

        Raises:
            CallError: it is no mapping, or not of arrays of numbers.

        Example:
            >>> average.update(training)
            >>> average.load_state_dict(average.state_dict())
        """
        _require_state("MovingAverage", state)
        values = {}
        for name, value in state.items():
            array = np.asarray(value)
            if array.dtype.kind not in "fiu":
                raise make_error(
                    CallError,
                    "this is no average",
                    op="MovingAverage",
                    node=str(name),
                    expected="an array of numbers",
                    got=got(value),
                )
            values[name] = array.astype(np.float32)
        self.values = values

    @checked
    def apply(self, training: TrainingGraph) -> Applied:
        """Gives the graph the averages.

        Args:
            training: the graph.

        Returns:
            For a ``with`` statement, after which the graph has its own parameters
            again.

        Raises:
            StateError: there was no update.

        Example:
            >>> with average.apply(training):
            ...     averaged = training.state_dict()
        """
        if not self.values:
            raise StateError(
                "[MovingAverage] there are no averages: expected a call of update() "
                "before. Pass on_update=average.update to fit()."
            )
        state = training.state_dict()
        own = {name: state[name] for name in self.values if name in state}
        training.load_state_dict({**state, **self.values})
        return Applied(training, own)


class Applied:
    """Averages that a graph has; see MovingAverage.apply()."""

    def __init__(self, training: TrainingGraph, own: Values) -> None:
        self._training = training
        self._own = own

    def __enter__(self) -> None:
        """The graph has the averages already."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Gives the graph its own parameters again."""
        self._training.load_state_dict({**self._training.state_dict(), **self._own})
