# SPDX-License-Identifier: MIT
"""Passes over a data set: what ``fit`` and ``evaluate`` do with its batches."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _core
from ._arguments import got
from ._conversion import array_of
from ._epoch_loss import EpochLoss, summed_losses
from ._history import as_numbers
from ._make_error import make_error
from ._meters import GRADIENT_NORM
from .errors import CallError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ._batches import Arrays, Declared
    from ._core import Execution, ExecutionResult, TrainingGraph
    from ._data import DataSet
    from ._meters import Meter, Meters
    from ._progress import Progress

__all__ = ["Passes", "require_training"]

IN_FLIGHT = 4  # executions whose results nobody has read yet


def require_training(op: str, training: object) -> None:
    """Raises CallError for what is no TrainingGraph."""
    if isinstance(training, _core.TrainingGraph):
        return
    raise make_error(
        CallError,
        "this does not train",
        op=op,
        node="training",
        expected="a TrainingGraph",
        got=got(training),
    )


class _Running(NamedTuple):
    """An execution that was enqueued, and what its metrics need."""

    execution: Execution
    labels: dict[str, NDArray[Any]]
    samples: int


class Passes:
    """Passes of one graph, with the same metrics."""

    def __init__(
        self,
        training: TrainingGraph,
        declared: Declared,
        meters: Meters,
        *,
        allow_non_finite: bool = True,
    ) -> None:
        self._training = training
        self._declared = declared
        self._meters = meters
        self._summed = summed_losses(training)
        self._allow_non_finite = allow_non_finite
        self._dtypes = {
            name: np.dtype(np.float32)
            if tensor.data_type is _core.DataType.bfloat16
            else None
            for name, tensor in (training.outputs if meters else {}).items()
        }

    def train(
        self,
        data: DataSet,
        number: int,
        progress: Progress,
        on_update: Callable[[TrainingGraph], object] | None,
    ) -> dict[str, float]:
        """An epoch of updates; its metrics."""
        norms: list[float] = []

        def step(batch: Arrays) -> Execution:
            if self._meters.wants_gradient_norm:
                execution = self._phases(batch, norms)
            else:
                execution = self._training.execute(*self._declared.by_kind(batch))
            if on_update is not None:
                on_update(self._training)
            return execution

        metrics = self._run(data, number, step, progress)
        if norms:
            metrics[GRADIENT_NORM] = sum(norms) / len(norms)
        return metrics

    def infer(self, data: DataSet, number: int = 0) -> dict[str, float]:
        """A pass in inference form; its metrics."""

        def step(batch: Arrays) -> Execution:
            self._declared.require_label(data.argument, batch)
            return self._training.execute(
                *self._declared.by_kind(batch), forward_for_inference=True
            )

        return self._run(data, number, step)

    def _run(
        self,
        data: DataSet,
        number: int,
        step: Callable[[Arrays], Execution],
        progress: Progress | None = None,
    ) -> dict[str, float]:
        """Results are read some batches late, so that the device has work."""
        running: deque[_Running] = deque()
        loss = EpochLoss(data.op, data.argument, number, self._summed)
        meters = self._meters.start()

        def read(keep: int) -> None:
            while len(running) > keep:
                each = running.popleft()
                result = each.execution.result()
                loss.add(result, each.samples, self._allow_non_finite)
                if meters:
                    self._measure(meters, result, each)
                if progress is not None:
                    progress.batch(loss.value, self._training)

        length, batches = data.start(number)
        if progress is not None:
            progress.begin(number, length)
        for batch in batches:
            samples = self._declared.samples(batch)
            running.append(_Running(step(batch), self._labels(batch), samples))
            read(keep=IN_FLIGHT)
        read(keep=0)
        if loss.batches == 0:
            raise data.no_batch(number)
        values = {name: meter.value() for name, meter in meters.items()}
        return {"loss": loss.value, **as_numbers(data.op, values)}

    def _labels(self, batch: Arrays) -> dict[str, NDArray[Any]]:
        """Copies, for a generator may write its next batch into the same arrays."""
        if not self._meters:
            return {}
        op, labels = self._declared.op, self._declared.labels
        return {k: array_of(v, op, k).copy() for k, v in batch.items() if k in labels}

    def _measure(
        self, meters: dict[str, Meter], result: ExecutionResult, of: _Running
    ) -> None:
        outputs = {
            name: result.output(name, dtype) for name, dtype in self._dtypes.items()
        }
        for meter in meters.values():
            meter.add(outputs, of.labels, of.samples)

    def _phases(self, batch: Arrays, norms: list[float]) -> Execution:
        """One step that shows its gradients."""
        training = self._training
        execution = training.execute_forward(*self._declared.by_kind(batch))
        training.execute_gradient()
        gradients = map(training.gradient_data, training.parameters)
        norms.append(math.sqrt(sum(map(_squared_norm, gradients))))
        training.execute_optimizer_update()
        return execution


def _squared_norm(gradient: NDArray[Any]) -> float:
    values = gradient.astype(np.float64).ravel()
    return float(values @ values)
