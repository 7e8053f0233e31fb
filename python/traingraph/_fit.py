# SPDX-License-Identifier: MIT
"""``tg.fit``: the loop over epochs and batches that most trainings are."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._arguments import functions, require_count, require_function
from ._batches import Runner, one_pass, require_batches
from ._calls import checked
from ._epoch_loss import EpochLoss, summed_losses
from ._history import History
from ._make_error import make_error
from ._progress import Progress
from .errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._batches import Batches
    from ._core import Execution, TrainingGraph

__all__ = ["Epoch", "fit"]

IN_FLIGHT = 4  # executions whose loss nobody has read yet


@dataclass
class Epoch:
    """What callbacks are given after each epoch."""

    number: int  # from 0, or first_epoch
    metrics: dict[str, float]  # they may add to it; log and history have it, too
    training: TrainingGraph
    is_last: bool = field(default=False, repr=False)

    def stop(self) -> None:
        """No epoch comes after this one."""
        self.is_last = True


@dataclass
class _Passes:
    """Passes over batches, and what they have in common."""

    runner: Runner
    progress: Progress
    summed: frozenset[str]
    allow_non_finite: bool

    def loss(
        self,
        what: str,
        batches: Batches,
        number: int,
        *,
        for_inference: bool = False,
    ) -> float:
        """Of one pass. Reads losses some batches late."""
        running: deque[tuple[Execution, int]] = deque()
        loss = EpochLoss(what, number, self.summed, self.allow_non_finite)

        def read(keep: int) -> None:
            while len(running) > keep:
                execution, samples = running.popleft()
                loss.add(execution.result(), samples)
                if not for_inference:
                    self.progress.batch(loss)

        given = one_pass(what, batches, number)
        if not for_inference:
            self.progress.begin(number, given)
        for each in given:
            batch = self.runner.named(what, each)
            if for_inference:
                self.runner.require_label(what, batch)
            execution = self.runner.execute(batch, forward_for_inference=for_inference)
            running.append((execution, self.runner.samples(batch)))
            read(keep=IN_FLIGHT)
        read(keep=0)
        return loss.value


def _epochs(first: int, end: int) -> range:
    require_count("fit", "epochs", end)
    require_count("fit", "first_epoch", first, least=0)
    if first < end:
        return range(first, end)
    raise make_error(
        InvalidArgument,
        "there is no epoch left",
        op="fit",
        node="first_epoch",
        expected=f"less than epochs, {end}",
        got=str(first),
        hint="Epochs are counted from the very first one: a run that is resumed is "
        "given the same number of epochs.",
    )


@checked
def fit(
    training: TrainingGraph,
    batches: Batches,
    *,
    epochs: int = 1,
    first_epoch: int = 0,
    validation: Batches | None = None,
    callbacks: Iterable[Callable[[Epoch], None]] = (),
    log: Callable[[dict[str, float], int], None] | None = None,
    patience: int | None = None,
    keep_best: bool = False,
    monitor: str | None = None,
    allow_non_finite: bool = False,
    progress: bool = True,
) -> History:
    """Trains a compiled graph that has a loss and an optimizer.

    batches: mappings, name -> array, of all declared inputs, labels and label
    weights, or tuples (x, y) where one input and one label are declared; an
    iterable, or a function of the epoch's number that returns one. A batch may be
    smaller than the graph was compiled for. epochs, first_epoch: their numbers are
    first_epoch, 0 for a new run, to epochs - 1. validation: the same as batches;
    its loss, in inference form, is the metric "validation_loss", that of batches
    "loss": what all samples of the pass would have as one batch, so their mean, or
    with the reduction "sum" their sum. callbacks: called after each epoch.
    log(metrics, step): after each epoch, with the number of updates so far.
    patience: ends when ``monitor`` ("validation_loss" if there is one, else "loss")
    was not below its best for so many epochs. keep_best: goes back to the
    parameters of the best epoch. allow_non_finite: goes on when a loss is NaN or
    infinite, which else is a StateError, as soon as the loss is read: some batches
    later. progress: by tqdm, when it is installed. Raises what execute()
    raises, CallError and InvalidArgument.
    """
    monitor = monitor or ("validation_loss" if validation is not None else "loss")
    numbers = _epochs(first_epoch, epochs)
    require_count("fit", "patience", 1 if patience is None else patience)
    history, runner = History(monitor, first_epoch), Runner(training)
    require_batches("batches", batches, len(numbers))
    if validation is not None:
        require_batches("validation", validation, len(numbers))
    callbacks = functions("fit", "callbacks", callbacks)
    require_function("fit", "log", log)
    best: dict[str, Any] = {}
    bar = Progress(progress, numbers)
    passes = _Passes(runner, bar, summed_losses(training), allow_non_finite)
    try:
        for number in numbers:
            metrics = {"loss": passes.loss("batches", batches, number)}
            epoch = Epoch(number, metrics, training, number + 1 == epochs)
            if validation is not None:
                metrics["validation_loss"] = passes.loss(
                    "validation", validation, number, for_inference=True
                )
            for callback in callbacks:
                callback(epoch)
            if history.add(epoch.metrics) and keep_best:
                best = training.state_dict()
            if log is not None:
                optimizer = training.optimizer
                log(epoch.metrics, optimizer.time_step - 1 if optimizer else number + 1)
            bar.end(number, epoch.metrics)
            if epoch.is_last or history.epochs_since_best >= (patience or math.inf):
                break
    finally:
        bar.close()
    if best:
        training.load_state_dict(best)
    return history
