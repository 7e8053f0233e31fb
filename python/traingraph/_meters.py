# SPDX-License-Identifier: MIT
"""Metrics of a pass: by name, of outputs, or by functions of one's own.

A meter is fed batch by batch. Means of a value per sample need only sums; a function
of one's own is called once, with the arrays of all samples, so that any metric is
exact, whatever sizes the batches have.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import _metrics
from . import metrics as public
from ._arguments import got
from ._make_error import make_error
from ._names import did_you_mean
from ._outputs import batch_axes, joined
from .errors import CallError, InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._core import Tensor, TrainingGraph
    from ._typing import Metric

    Arrays = dict[str, NDArray[Any]]
    Sums = Callable[[Arrays, Arrays, int], tuple[float, float]]

__all__ = ["Meter", "Meters"]

GRADIENT_NORM = "gradient_norm"
TOP_K = re.compile(r"top_([1-9]\d*)_accuracy")
RESERVED = ("loss", "validation_loss")


class Meter:
    """A metric of the samples that it has seen."""

    def add(self, outputs: Arrays, labels: Arrays, samples: int, /) -> None:
        """Those of a batch."""
        raise NotImplementedError

    def value(self) -> float:
        """Of all batches so far."""
        raise NotImplementedError


class _Mean(Meter):
    """Of numbers of which each batch has some; NaN of none."""

    def __init__(self, sums: Sums, *, root: bool = False) -> None:
        self._sums = sums
        self._root = root
        self._sum = self._count = 0.0

    def add(self, outputs: Arrays, labels: Arrays, samples: int, /) -> None:
        total, count = self._sums(outputs, labels, samples)
        self._sum += total
        self._count += count

    def value(self) -> float:
        mean = self._sum / self._count if self._count else math.nan
        return math.sqrt(mean) if self._root else mean


class _OfAll(Meter):
    """A function of one's own, of the arrays of all samples."""

    def __init__(
        self, function: Callable[[Any, Any], float], *axes: Mapping[str, int]
    ) -> None:
        self._function = function
        self._axes = axes  # of outputs and of labels
        self._parts: tuple[list[Arrays], list[Arrays]] = ([], [])

    def add(self, outputs: Arrays, labels: Arrays, _samples: int, /) -> None:
        for parts, arrays in zip(self._parts, (outputs, labels), strict=True):
            parts.append(arrays)

    def value(self) -> float:
        outputs, labels = map(joined, self._parts, self._axes)
        return self._function(_alone(outputs), _alone(labels))


def _alone(arrays: Mapping[str, Any]) -> Any:
    """The only one, or all by name."""
    return next(iter(arrays.values())) if len(arrays) == 1 else arrays


class Meters:
    """What `metrics` asks for. Raises CallError, InvalidArgument."""

    def __init__(
        self,
        op: str,
        training: TrainingGraph,
        metrics: Iterable[Metric] | Mapping[str, Metric],
    ) -> None:
        self._op = op
        self._training = training
        asked = self._by_name(metrics)
        self.wants_gradient_norm = asked.pop(GRADIENT_NORM, None) is not None
        self._makers: dict[str, Callable[[], Meter]] = {}
        if not asked:
            return
        axes = batch_axes(training) if training.outputs else {}
        labels = training.loss_labels.items()
        self._labels = {k: v.batch_axis for k, v in labels if v.batch_axis is not None}
        self._outputs = {
            k: axis for k, axis in axes.items() if axis >= 0 and k not in asked.values()
        }
        nodes = training._listing()["nodes"]
        options = [node["attributes"] for node in nodes]
        self._ignored = {each.get("ignore_index", _metrics.IGNORED) for each in options}
        for name, metric in asked.items():
            self._makers[name] = self._maker(name, metric, axes.keys())

    def __bool__(self) -> bool:
        """Do any need outputs and labels?"""
        return bool(self._makers)

    def names(self, *, with_validation: bool) -> list[str]:
        """Of what an epoch of fit() has."""
        names = ["loss", *self._makers]
        validation = [f"validation_{name}" for name in names] if with_validation else []
        norm = [GRADIENT_NORM] if self.wants_gradient_norm else []
        return [*names, *norm, *validation]

    def start(self) -> dict[str, Meter]:
        """Those of a pass, before its first batch."""
        return {name: make() for name, make in self._makers.items()}

    def _by_name(
        self, metrics: Iterable[Metric] | Mapping[str, Metric]
    ) -> dict[str, Metric]:
        if isinstance(metrics, Mapping):
            named = cast("Mapping[str, Metric]", metrics)
            return {self._free(name, ()): metric for name, metric in named.items()}
        if isinstance(metrics, str) or not isinstance(metrics, Iterable):
            raise make_error(
                CallError,
                "these are no metrics",
                op=self._op,
                node="metrics",
                expected="a list of names and functions, or a mapping name -> function",
                got=got(metrics),
                hint=f"Pass a list: metrics=[{metrics!r}]."
                if isinstance(metrics, str)
                else "",
            )
        asked: dict[str, Metric] = {}
        for metric in metrics:
            asked[self._free(self._name(metric), asked)] = metric
        return asked

    def _name(self, metric: Metric) -> str:
        if isinstance(metric, str):
            return metric
        name = getattr(metric, "__name__", "<lambda>")
        if callable(metric) and name != "<lambda>":
            return str(name)
        raise make_error(
            CallError,
            "the metric has no name",
            op=self._op,
            node="metrics",
            expected="a name, or a function that has one",
            got=got(metric),
            hint='Pass a mapping: metrics={"error": f}.',
        )

    def _free(self, name: str, taken: Iterable[str]) -> str:
        if isinstance(name, str) and name not in RESERVED and name not in taken:
            return name
        raise make_error(
            InvalidArgument,
            "the name of the metric is taken",
            op=self._op,
            node=str(name),
            expected="a name of its own",
            got=f"{name!r}",
        )

    def _maker(
        self, name: str, metric: Metric, outputs: Iterable[str]
    ) -> Callable[[], Meter]:
        """Raises InvalidArgument for what the graph does not have."""
        if isinstance(metric, str) and metric in outputs:
            mean = _mean_of(metric)
            return lambda: _Mean(mean)
        if not isinstance(metric, str) and metric is getattr(public, name, None):
            metric = name.replace("top_k", "top_5")
        if isinstance(metric, str):
            values, is_root = self._values(metric, outputs)
            self._require_pair(name, only=True)
            self._require_shapes(values)
            sums = _sums_of(values, *self._outputs, *self._labels)
            return lambda: _Mean(sums, root=is_root)
        function = metric
        self._require_pair(name)
        return lambda: _OfAll(function, self._outputs, self._labels)

    def _values(
        self, metric: str, outputs: Iterable[str]
    ) -> tuple[Callable[[Any, Any], NDArray[Any]], bool]:
        """Of a metric by name: numbers whose mean, or its root, it is."""
        top = TOP_K.fullmatch(metric)
        if metric == "accuracy" or top:
            k = int(top[1]) if top else 1
            return lambda x, y: _metrics.hits(x, y, k, self._ignored, metric), False
        if metric == "mean_absolute_error":
            return lambda x, y: np.abs(_metrics.differences(x, y, metric)), False
        if metric in ("mean_squared_error", "root_mean_squared_error"):
            is_root = metric.startswith("root")
            return lambda x, y: np.square(_metrics.differences(x, y, metric)), is_root
        names = [
            *("top_5_accuracy" if "top" in each else each for each in public.__all__),
            GRADIENT_NORM,
            *outputs,
        ]
        raise make_error(
            InvalidArgument,
            "there is no such metric",
            op=self._op,
            node="metrics",
            expected=f"one of {', '.join(names)}, or a function",
            got=f'"{metric}"',
            hint=did_you_mean(metric, names),
        )

    def _require_shapes(self, values: Callable[[Any, Any], NDArray[Any]]) -> None:
        """Asks a metric about one sample, before there is any. Raises ShapeError."""
        sample = [
            _one_sample(tensors[name], axis, self._training.batch_size)
            for tensors, axes in (
                (self._training.outputs, self._outputs),
                (self._training.loss_labels, self._labels),
            )
            for name, axis in axes.items()
        ]
        values(*sample)

    def _require_pair(self, name: str, *, only: bool = False) -> None:
        """Metrics by name are of one output and one label."""
        counts = {"output": len(self._outputs), "label": len(self._labels)}
        for kind, count in counts.items():
            if count == 1 or (count > 1 and not only):
                continue
            if count == 0:
                hint = f'Call add_{kind}s({{"{kind}": tensor}}) before compile().'
                hint = hint if kind == "output" else ""
            else:
                hint = "Pass a function; it is given all of them, by name."
            raise make_error(
                InvalidArgument,
                f"the graph does not say which {kind} the metric is of",
                op=self._op,
                node=name,
                expected=f"one declared {kind} of samples",
                got=str(count) if count else "none",
                hint=hint,
            )


def _one_sample(tensor: Tensor, axis: int, batch_size: int) -> NDArray[Any]:
    """Zeros, which are floats as well as classes."""
    shape = list(tensor.shape)
    shape[axis] //= batch_size
    return np.broadcast_to(np.int64(0), shape)


def _mean_of(name: str) -> Sums:
    """Of an output: what is a mean over the batch counts by its samples."""
    return lambda outputs, _, samples: (
        float(outputs[name].mean(dtype=np.float64)) * samples,
        samples,
    )


def _sums_of(
    values: Callable[[Any, Any], NDArray[Any]], output: str, label: str
) -> Sums:
    def sums(outputs: Arrays, labels: Arrays, _: int) -> tuple[float, float]:
        numbers = values(outputs[output], labels[label])
        return float(numbers.sum(dtype=np.float64)), numbers.size

    return sums
