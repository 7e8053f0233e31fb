# SPDX-License-Identifier: MIT
"""Metrics of arrays, and the numbers per sample that passes add up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._calls import checked
from ._conversion import array_of
from ._make_error import make_error
from .errors import DTypeError, InvalidArgument, ShapeError

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "IGNORED",
    "accuracy",
    "differences",
    "hits",
    "mean_absolute_error",
    "mean_squared_error",
    "root_mean_squared_error",
    "top_k_accuracy",
]

IGNORED = -100  # the losses' default


def _arrays(
    op: str, outputs: object, labels: object
) -> tuple[NDArray[Any], NDArray[Any]]:
    return array_of(outputs, op, "outputs"), array_of(labels, op, "labels")


def hits(
    outputs: object,
    labels: object,
    k: int = 1,
    ignored: Collection[int] = (IGNORED,),
    op: str = "accuracy",
) -> NDArray[np.bool_]:
    """Is the label among the k largest outputs? Of each label that is not ignored.
    Of equal outputs the first are larger, NaN is larger than all but never a hit."""
    scores, truth = _arrays(op, outputs, labels)
    if k < 1:
        raise make_error(
            InvalidArgument,
            "the number is too small",
            op=op,
            node="k",
            expected="1 or more",
            got=str(k),
        )
    if scores.ndim < 2 or scores.shape[1] < 2:
        raise make_error(
            ShapeError,
            "there are no classes",
            op=op,
            node="outputs",
            expected="(N, C, ...) with an output for each of C > 1 classes",
            got=str(scores.shape),
            hint="Of one output pass a function, as "
            "lambda outputs, labels: ((outputs > 0) == labels).mean().",
        )
    indices = scores.shape[:1] + scores.shape[2:]
    if truth.shape == scores.shape:
        truth = truth.argmax(axis=1)
    elif truth.shape not in (indices, (len(scores), 1, *indices[1:])):
        raise make_error(
            ShapeError,
            "labels do not go with outputs",
            op=op,
            node="labels",
            expected=f"{indices}, indices of classes, or {scores.shape}",
            got=str(truth.shape),
        )
    elif truth.dtype.kind not in "iu":
        raise make_error(
            DTypeError,
            "labels are no indices of classes",
            op=op,
            node="labels",
            expected="integers",
            got=str(truth.dtype),
        )
    else:
        truth = truth.reshape(indices)
    counts = ~np.isin(truth, list(ignored))
    _require_classes(op, truth[counts], scores.shape[1])
    at = np.expand_dims(np.where(counts, truth, 0), 1)
    own = np.take_along_axis(scores, at, axis=1)
    classes = np.arange(scores.shape[1]).reshape(-1, *(1,) * len(indices[1:]))
    larger = ~(scores <= own) | ((scores == own) & (classes < at))
    found: NDArray[np.bool_] = larger.sum(axis=1) < k
    return found[counts]


def _require_classes(op: str, labels: NDArray[Any], count: int) -> None:
    wrong = labels[(labels < 0) | (labels >= count)]
    if wrong.size == 0:
        return
    raise make_error(
        InvalidArgument,
        "a label is no class",
        op=op,
        node="labels",
        expected=f"0 to {count - 1}, or the loss's ignore_index",
        got=str(wrong[0]),
    )


def _without_ones(array: NDArray[Any]) -> list[int]:
    """The shape without axes of size 1 behind the samples."""
    return [*array.shape[:1], *(size for size in array.shape[1:] if size != 1)]


def differences(
    outputs: object, labels: object, op: str = "mean_squared_error"
) -> NDArray[np.float64]:
    """Of each element. Axes of size 1 do not count, as in losses."""
    predicted, truth = _arrays(op, outputs, labels)
    if _without_ones(predicted) == _without_ones(truth):
        truth = truth.reshape(predicted.shape)
    else:
        raise make_error(
            ShapeError,
            "labels do not go with outputs",
            op=op,
            node="labels",
            expected=str(predicted.shape),
            got=str(truth.shape),
        )
    return np.asarray(predicted, np.float64) - np.asarray(truth, np.float64)


def _mean(values: NDArray[Any]) -> float:
    return float(values.mean(dtype=np.float64)) if values.size else math.nan


@checked
def accuracy(
    outputs: ArrayLike, labels: ArrayLike, *, ignore_index: int = IGNORED
) -> float:
    """The share of samples whose largest output is that of their label's class.

    Args:
        outputs: (N, C, ...), scores or probabilities of C > 1 classes on axis 1.
            Of equal ones the first is the largest.
        labels: (N, ...), integers, the indices of classes; or (N, C, ...), one-hot or
            shares, of which the largest counts.
        ignore_index: a label that counts as no sample.

    Returns:
        0 to 1; NaN when all labels are ignored.

    Raises:
        ShapeError: outputs without classes, labels of another shape.
        DTypeError: indices that are no integers.
        InvalidArgument: a label that is no class; nothing that NumPy makes an array of.

    Example:
        >>> tg.metrics.accuracy([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], [1, 0, 0])
        0.6666666666666666
    """
    return _mean(hits(outputs, labels, 1, (ignore_index,)))


@checked
def top_k_accuracy(
    outputs: ArrayLike, labels: ArrayLike, k: int = 5, *, ignore_index: int = IGNORED
) -> float:
    """The share of samples whose label's class is among the k largest outputs.

    By name it is ``"top_5_accuracy"``, with any number.

    Args:
        outputs: (N, C, ...), scores or probabilities of C > 1 classes on axis 1.
        labels: (N, ...) indices of classes, or (N, C, ...); see :func:`accuracy`.
        k: how many outputs count, 1 or more.
        ignore_index: a label that counts as no sample.

    Returns:
        0 to 1; NaN when all labels are ignored.

    Raises:
        ShapeError: outputs without classes, labels of another shape.
        DTypeError: indices that are no integers.
        InvalidArgument: a label that is no class, k below 1.

    Example:
        >>> tg.metrics.top_k_accuracy([[3, 2, 1], [3, 2, 1]], [1, 2], k=2)
        0.5
    """
    return _mean(hits(outputs, labels, k, (ignore_index,), "top_k_accuracy"))


@checked
def mean_absolute_error(outputs: ArrayLike, labels: ArrayLike) -> float:
    """The mean of abs(output - label) over all elements.

    Args:
        outputs: any shape.
        labels: the same shape.

    Returns:
        In the unit of the labels.

    Raises:
        ShapeError: the shapes differ.
        InvalidArgument: nothing that NumPy makes an array of.

    Example:
        >>> tg.metrics.mean_absolute_error([[1.0], [4.0]], [[2.0], [2.0]])
        1.5
    """
    return _mean(np.abs(differences(outputs, labels, "mean_absolute_error")))


@checked
def mean_squared_error(outputs: ArrayLike, labels: ArrayLike) -> float:
    """The mean of (output - label)^2 over all elements.

    Args:
        outputs: any shape.
        labels: the same shape.

    Returns:
        In the square of the labels' unit.

    Raises:
        ShapeError: the shapes differ.
        InvalidArgument: nothing that NumPy makes an array of.

    Example:
        >>> tg.metrics.mean_squared_error([[1.0], [4.0]], [[2.0], [2.0]])
        2.5
    """
    return _mean(np.square(differences(outputs, labels)))


@checked
def root_mean_squared_error(outputs: ArrayLike, labels: ArrayLike) -> float:
    """The square root of :func:`mean_squared_error`, of all samples at once.

    Args:
        outputs: any shape.
        labels: the same shape.

    Returns:
        In the unit of the labels.

    Raises:
        ShapeError: the shapes differ.
        InvalidArgument: nothing that NumPy makes an array of.

    Example:
        >>> tg.metrics.root_mean_squared_error([3.0, 0.0], [0.0, 1.0])
        2.23606797749979
    """
    squares = np.square(differences(outputs, labels, "root_mean_squared_error"))
    return math.sqrt(_mean(squares))
