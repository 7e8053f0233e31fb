# SPDX-License-Identifier: MIT
"""``tg.fit``: the loop over epochs and batches that most trainings are."""

from __future__ import annotations

import importlib
import math
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._arguments import functions, require_count, require_function
from ._batches import Runner, one_pass, require_batches
from ._calls import checked
from ._history import History
from .errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ._batches import Batch, Batches
    from ._core import Execution, TrainingGraph

__all__ = ["Epoch", "fit"]

IN_FLIGHT = 4  # executions whose loss nobody has read yet


@dataclass
class Epoch:
    """What callbacks are given after each epoch."""

    number: int  # from 0
    metrics: dict[str, float]  # they may add to it; log and history have it, too
    training: TrainingGraph
    is_last: bool = field(default=False, repr=False)

    def stop(self) -> None:
        """No epoch comes after this one."""
        self.is_last = True


def _mean_loss(
    runner: Runner, what: str, batches: Iterator[Batch], *, for_inference: bool = False
) -> float:
    """Each batch's loss counts by its samples. Reads losses some batches late."""
    running: deque[tuple[Execution, int]] = deque()
    total, count = 0.0, 0

    def read(keep: int) -> None:
        nonlocal total, count
        while len(running) > keep:
            execution, samples = running.popleft()
            total += execution.result().loss * samples
            count += samples

    for each in batches:
        batch = runner.named(what, each)
        if for_inference:
            runner.require_label(what, batch)
        samples = runner.samples(batch)
        execution = runner.execute(batch, samples, forward_for_inference=for_inference)
        running.append((execution, samples))
        read(keep=IN_FLIGHT)
    read(keep=0)
    if count == 0:
        raise InvalidArgument(f"[fit] {what} is empty: expected one batch or more")
    return total / count


def _progress(epochs: int, shows: bool) -> Any:
    if shows:
        try:
            return importlib.import_module("tqdm.auto").tqdm(
                range(epochs), unit="epoch"
            )
        except ImportError:
            pass
    return range(epochs)


@checked
def fit(
    training: TrainingGraph,
    batches: Batches,
    *,
    epochs: int = 1,
    validation: Batches | None = None,
    callbacks: Iterable[Callable[[Epoch], None]] = (),
    log: Callable[[dict[str, float], int], None] | None = None,
    patience: int | None = None,
    keeps_best: bool = False,
    monitor: str | None = None,
    shows_progress: bool = True,
) -> History:
    """Trains a compiled graph that has a loss and an optimizer.

    batches: mappings, name -> array, of all declared inputs, labels and label
    weights; an iterable, or a function of the epoch's number (from 0) that
    returns one. The last batch may be smaller. validation: the same; its mean
    loss, in inference form, is the metric "validation_loss", that of batches
    "loss". callbacks: called after each epoch. log(metrics, step): after each
    epoch, with the number of updates so far. patience: ends when ``monitor``
    ("validation_loss" if there is one, else "loss") was not below its best for
    so many epochs. keeps_best: goes back to the parameters of the best epoch.
    shows_progress: by tqdm, when it is installed. Raises what execute() raises,
    CallError and InvalidArgument.
    """
    monitor = monitor or ("validation_loss" if validation is not None else "loss")
    require_count("fit", "epochs", epochs)
    require_count("fit", "patience", 1 if patience is None else patience)
    history, runner = History(monitor), Runner(training)
    require_batches("batches", batches, epochs)
    if validation is not None:
        require_batches("validation", validation, epochs)
    callbacks = functions("fit", "callbacks", callbacks)
    require_function("fit", "log", log)
    best: dict[str, Any] = {}
    progress = _progress(epochs, shows_progress)
    for number in progress:
        loss = _mean_loss(runner, "batches", one_pass("batches", batches, number))
        epoch = Epoch(number, {"loss": loss}, training, number + 1 == epochs)
        if validation is not None:
            epoch.metrics["validation_loss"] = _mean_loss(
                runner,
                "validation",
                one_pass("validation", validation, number),
                for_inference=True,
            )
        for callback in callbacks:
            callback(epoch)
        if history.add(epoch.metrics) and keeps_best:
            best = training.state_dict()
        if log is not None:
            optimizer = training.optimizer
            log(epoch.metrics, optimizer.time_step - 1 if optimizer else number + 1)
        if hasattr(progress, "set_postfix"):
            progress.set_postfix(epoch.metrics)
        if epoch.is_last or history.epochs_since_best >= (patience or math.inf):
            break
    if best:
        training.load_state_dict(best)
    return history
