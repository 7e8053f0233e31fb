# SPDX-License-Identifier: MIT
"""``tg.fit``: the loop over epochs and batches that most trainings are, and
``tg.evaluate``: one pass of it that trains nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._arguments import functions, require_count, require_function
from ._batches import Declared
from ._callbacks import ReduceOnPlateau
from ._calls import checked
from ._data import open_data, shuffled
from ._history import History
from ._make_error import make_error
from ._meters import Meters
from ._passes import Passes, require_training
from ._progress import Progress
from .errors import InvalidArgument, StateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._core import TrainingGraph
    from ._typing import Data, Metrics

__all__ = ["Epoch", "evaluate", "fit"]


@dataclass
class Epoch:
    """What callbacks of fit() are given after each epoch.

    Args:
        number: from 0, or first_epoch.
        metrics: of the epoch by name; callbacks may add to it, and log and history
            have that, too.
        training: the graph.
        is_last: is it the last one?

    Example:
        >>> def show(epoch):
        ...     if epoch.is_last:
        ...         print(epoch.number, sorted(epoch.metrics))
        >>> history = tg.fit(training, (points, targets), epochs=3, callbacks=[show])
        2 ['loss']
    """

    number: int
    metrics: dict[str, float]
    training: TrainingGraph
    is_last: bool = field(default=False, repr=False)

    def stop(self) -> None:
        """No epoch comes after this one.

        Example:
            >>> history = tg.fit(
            ...     training, (points, targets), epochs=9,
            ...     callbacks=[lambda epoch: epoch.stop()],
            ... )
            >>> history.num_epochs
            1
        """
        self.is_last = True


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
    data: Data,
    *,
    epochs: int = 1,
    batch_size: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    validation: Data | None = None,
    metrics: Metrics = (),
    callbacks: Iterable[Callable[[Epoch], object]] = (),
    on_update: Callable[[TrainingGraph], object] | None = None,
    log: Callable[[dict[str, float], int], object] | None = None,
    monitor: str | None = None,
    maximize: bool | None = None,
    patience: int | None = None,
    keep_best: bool = False,
    first_epoch: int = 0,
    allow_non_finite: bool = False,
    progress: bool = True,
) -> History:
    """Trains a compiled graph that has a loss and an optimizer.

    Args:
        training: the graph.
        data: arrays of all samples: a mapping, name -> array, of all declared
            inputs, labels and label weights, or a tuple (x, y), or (x, y, w) with
            label weights, where one of each is declared; a data frame by the names
            of its columns. Or batches: an iterable of such mappings and tuples, as
            PyTorch's DataLoader is. Or a function of the epoch's number that returns
            any of these. Arrays have the declared shapes, with other numbers of
            samples; a column (n,) does for (n, 1). Batches may be smaller than what
            the graph was compiled for.
        epochs: where the run ends; they are numbered from first_epoch to epochs - 1.
        batch_size: of whole arrays, in samples; None: as the graph was compiled,
            which is the most. The last batch of an epoch may be smaller.
        shuffle: whole arrays come in another order in each epoch, which follows
            from seed and the epoch's number. Batches come as they are.
        seed: 0 or more.
        validation: another data set, for a pass in inference form after each epoch,
            in order; its metrics begin with ``validation_``.
        metrics: names (``"accuracy"``, ``"top_5_accuracy"``,
            ``"mean_absolute_error"``, ``"mean_squared_error"``,
            ``"root_mean_squared_error"``), of the declared output with the declared
            label; names of declared outputs, for their mean; functions f(outputs,
            labels), which are called once with the arrays of all samples of the pass
            (by name where several are declared); ``"gradient_norm"``, the mean over
            the steps of the norm of all gradients, for which steps run in phases. Or
            a mapping name -> one of these. Label weights do not count.
        callbacks: functions of an Epoch, called after each.
        on_update: called with the graph when the update of a batch was enqueued.
        log: log(metrics, step) is called after each epoch, with the number of updates
            so far.
        monitor: the metric that patience and keep_best look at; None:
            "validation_loss" if there is one, else "loss".
        maximize: is a larger one better? None: of those that end in "accuracy".
        patience: ends the run when the monitor did not get better for so many
            epochs; None: never.
        keep_best: goes back to the parameters of the best epoch at the end.
        first_epoch: above 0 for a run that goes on.
        allow_non_finite: goes on when a loss is NaN or infinite.
        progress: shows tqdm's bar, where it is installed, or else a line, where
            stderr is a terminal.

    Returns:
        The metrics of each epoch. "loss" is what all samples of the pass would have
        as one batch: their mean or, with the reduction "sum", their sum.

    Raises:
        CallError: an argument of another type, data without names.
        InvalidArgument: a number out of range, a name that is not declared, no batch.
        ShapeError: arrays of different lengths, or of other shapes than declared.
        StateError: a loss is not finite; it is read some batches late. There is no
            optimizer, or ReduceOnPlateau beside a schedule.
        Error: what execute() raises.

    Example:
        >>> x = tg.Tensor((32, 4), name="x")
        >>> y = tg.Tensor((32,), "int64", name="y")
        >>> graph = tg.Graph()
        >>> scores = graph.node(tg.layers.FullyConnected(4, 3), x)
        >>> training = tg.TrainingGraph(
        ...     [graph], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(0.05)
        ... )
        >>> training.add_inputs({"x": x}, {"y": y})
        >>> training.add_outputs({"scores": scores})
        >>> training.compile("cpu")
        >>> points = np.random.default_rng(0).normal(size=(300, 4))
        >>> classes = points[:, :3].argmax(axis=1)
        >>> history = tg.fit(
        ...     training, (points, classes), epochs=20, metrics=["accuracy"],
        ...     progress=False,
        ... )
        >>> history.metrics["accuracy"][-1] > 0.9
        True
    """
    require_training("fit", training)
    monitor = monitor or ("validation_loss" if validation is not None else "loss")
    numbers = _epochs(first_epoch, epochs)
    require_count("fit", "patience", 1 if patience is None else patience)
    require_count("fit", "seed", seed, least=0)
    callbacks = functions("fit", "callbacks", callbacks)
    require_function("fit", "on_update", on_update)
    require_function("fit", "log", log)
    declared = Declared("fit", training)
    batches = open_data(
        declared,
        "data",
        data,
        batch_size=batch_size,
        epochs=len(numbers),
        order=shuffled(seed) if shuffle else None,
    )
    held_out = None
    if validation is not None:
        held_out = open_data(
            declared, "validation", validation, epochs=len(numbers), cut=True
        )
    meters = Meters("fit", training, metrics)
    passes = Passes(training, declared, meters, allow_non_finite=allow_non_finite)
    if training.optimizer is None:
        raise make_error(
            StateError,
            "nothing would be trained",
            op="fit",
            expected="a graph with an optimizer",
            got="none",
            hint="TrainingGraph(graphs, loss, optimizer) has one, or "
            "compile_optimizer() adds it; evaluate() needs none.",
        )
    for callback in callbacks:
        if isinstance(callback, ReduceOnPlateau):
            callback.require_rate(training)
    history = History(monitor, first_epoch, maximize)
    if not callbacks:  # which may add metrics
        history.require_monitor(meters.names(with_validation=held_out is not None))
    best: dict[str, Any] = {}
    bar = Progress(progress, numbers)
    try:
        for number in numbers:
            values = passes.train(batches, number, bar, on_update)
            epoch = Epoch(number, values, training, number + 1 == epochs)
            if held_out is not None:
                others = passes.infer(held_out, number)
                values.update({f"validation_{k}": v for k, v in others.items()})
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


@checked
def evaluate(
    training: TrainingGraph,
    data: Data,
    *,
    batch_size: int | None = None,
    metrics: Metrics = (),
) -> dict[str, float]:
    """The loss and metrics of a compiled graph on a data set, in inference form:
    dropout is off, normalizations take their running statistics, nothing changes.

    Args:
        training: the graph.
        data: as fit() takes it, with labels; batches may be of any size.
        batch_size: of whole arrays, in samples; None: as the graph was compiled.
        metrics: as fit() takes them; "gradient_norm" is none of a pass without
            gradients, and left out.

    Returns:
        "loss" and each metric, over all samples. They may be NaN or infinite.

    Raises:
        CallError: an argument of another type, data without names.
        InvalidArgument: a number out of range, a name that is not declared, no batch.
        ShapeError: arrays of different lengths, or of other shapes than declared.
        Error: what execute() raises.

    Example:
        >>> x, y = tg.Tensor((8, 2), name="x"), tg.Tensor((8, 2), name="y")
        >>> graph = tg.Graph()
        >>> double = graph.node(tg.layers.Affine(2.0), x)
        >>> training = tg.TrainingGraph([graph], tg.losses.MeanSquaredError())
        >>> training.add_inputs({"x": x}, {"y": y})
        >>> training.add_outputs({"double": double})
        >>> training.compile("cpu")
        >>> points = np.ones((20, 2))
        >>> tg.evaluate(training, (points, points), metrics=["mean_absolute_error"])
        {'loss': 1.0, 'mean_absolute_error': 1.0}
    """
    require_training("evaluate", training)
    declared = Declared("evaluate", training)
    passes = Passes(training, declared, Meters("evaluate", training, metrics))
    return passes.infer(
        open_data(declared, "data", data, batch_size=batch_size, cut=True)
    )
