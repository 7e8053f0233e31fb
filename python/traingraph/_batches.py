# SPDX-License-Identifier: MIT
"""Batches by name: which array is which declared tensor, and how many samples
they have."""

from __future__ import annotations

import numbers
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from . import _core
from ._arguments import got
from ._conversion import array_of
from ._make_error import make_error
from ._names import did_you_mean
from .errors import CallError, InvalidArgument, ShapeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ._core import InferenceGraph, TrainingGraph

    Arrays = dict[str, Any]
    Rows = slice | NDArray[np.intp]

__all__ = ["Declared", "columns_of", "is_array", "is_mapping"]


def is_array(value: object) -> bool:
    """Of any library, a column of a data frame, or numbers in nested lists."""
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        return True
    leaf = value
    while isinstance(leaf, list) and leaf:
        leaf = leaf[0]
    return isinstance(value, list) and isinstance(leaf, numbers.Number)


def is_mapping(value: object) -> bool:
    """Of names to arrays: dicts, NumPy's archives. Series have keys, and axes."""
    has_keys = callable(getattr(value, "keys", None))
    return has_keys and hasattr(value, "__getitem__") and not hasattr(value, "ndim")


def columns_of(value: object) -> list[Any]:
    """The names of a data frame of pandas or polars; none of anything else."""
    is_frame = hasattr(value, "columns") and hasattr(value, "__array__")
    names = cast("Any", value).columns if is_frame else ()
    return [name for name in names if isinstance(name, Hashable)]


def sliceable(op: str, name: str, value: Any) -> Any:
    """An array whose slices have shapes as NumPy's have: one of NumPy, or one that
    other libraries share, as it is."""
    if isinstance(value, _core.Tensor):
        return value.numpy()
    is_frame = hasattr(value, "columns")
    if isinstance(value, np.ndarray) or (hasattr(value, "__dlpack__") and not is_frame):
        return value
    return array_of(value, op, name)


class Declared:
    """What a compiled graph takes, as `op` is given it."""

    def __init__(
        self,
        op: str,
        graph: TrainingGraph | InferenceGraph,
        *,
        inputs_only: bool = False,
    ) -> None:
        self.op = op
        self.labels = graph.loss_labels
        self.weights = graph.loss_label_weights
        self.size = graph.batch_size
        """The most samples of an execution; 0 when nothing varies with the batch."""
        self._inputs_only = inputs_only
        self._kinds = {"input": graph.inputs}
        if not inputs_only:
            self._kinds |= {"label": self.labels, "label weight": self.weights}
        self.tensors = {k: v for each in self._kinds.values() for k, v in each.items()}
        # Of those that vary: the batch axis, and elements on it per sample.
        self._samples = {
            name: (tensor.batch_axis, tensor.shape[tensor.batch_axis] // self.size)
            for name, tensor in self.tensors.items()
            if self.size > 0 and tensor.batch_axis is not None
        }
        self._columns = {
            name
            for name, (axis, _) in self._samples.items()
            if axis == 0 and self.tensors[name].shape[1:] == (1,)
        }

    def named(self, argument: str, batch: object, what: str = "a batch") -> Arrays:
        """Of a mapping, or of (x, y) where nothing else can be meant. Raises
        CallError, InvalidArgument."""
        columns = columns_of(batch)
        if is_mapping(batch) or any(name in self.tensors for name in columns):
            given = cast("Mapping[str, Any]", batch)
            named = {name: given[name] for name in columns or given.keys()}
            self._require_declared(named)
            if self._inputs_only:
                named, _, _ = self.by_kind(named)
        else:
            places = self._places(batch)
            if len(places) not in self._lengths():
                raise self._no_names(argument, batch, what)
            named = dict(zip(self.tensors, places, strict=False))
        return {name: self._column(name, value) for name, value in named.items()}

    def _lengths(self) -> range:
        """Of (x,), (x, y) or (x, y, w), where one of each is declared."""
        counts = [len(tensors) for tensors in self._kinds.values()]
        if self._inputs_only:  # what stands behind the input is left out
            return range(1, 4) if counts == [1] else range(0)
        inputs, labels, weights = counts
        is_plain = inputs == 1 and labels <= 1 and weights <= 1
        return range(1 + labels, 2 + labels + weights) if is_plain else range(0)

    def _places(self, batch: Any) -> tuple[Any, ...]:
        """The arrays of a tuple or list; an input alone stands for (x,)."""
        is_input = is_array(batch) and 1 in self._lengths()
        if isinstance(batch, (tuple, list)) and not is_input:
            return tuple(batch)
        return (batch,) if is_input else ()

    def _no_names(self, argument: str, batch: object, what: str) -> Exception:
        lengths, names = self._lengths(), list(self.tensors)
        forms = [
            f"({', '.join(names[:length])}{',' * (length == 1)})"
            for length in lengths
            if length <= len(names)
        ]
        come = got(batch)
        if isinstance(batch, (tuple, list)):
            come = f"a {type(batch).__name__} of {len(batch)}"
        each = ", ".join(f'"{name}": ...' for name in names)
        hint = f"Make {'each batch' if what == 'a batch' else 'it'} {{{each}}}."
        if is_array(batch) and what == "a batch" and forms:
            hint = f"Whole arrays are a tuple: {forms[0]}."
        return make_error(
            CallError,
            f"{what} is no mapping",
            op=self.op,
            node=argument,
            expected=" or ".join(["a mapping name -> array", *forms]),
            got=come,
            hint=hint,
        )

    def _require_declared(self, batch: Arrays) -> None:
        known = self.tensors.keys() | self.labels.keys() | self.weights.keys()
        for name in batch:
            if name in known or not isinstance(name, str):
                continue  # execute() names what is no string
            declared = ", ".join(
                f'"{each}" ({kind})'
                for kind, tensors in self._kinds.items()
                for each in tensors
            )
            raise make_error(
                InvalidArgument,
                "the name is not declared",
                op=self.op,
                node=name,
                expected=f"one of {declared}" if declared else "no names",
                got=f'"{name}"',
                hint=did_you_mean(name, list(self.tensors)),
            )

    def _column(self, name: str, value: Any) -> Any:
        """A column, (n,), is (n, 1) where the tensor is declared so."""
        if name not in self._columns:
            return value
        array = array_of(value, self.op, name) if isinstance(value, list) else value
        if len(getattr(array, "shape", ())) != 1:
            return array
        return sliceable(self.op, name, array).reshape((-1, 1))

    def samples(self, batch: Arrays) -> int:
        """How many a batch has, whose arrays execute() compares."""
        for name, (axis, each) in self._samples.items():
            if name not in batch:
                continue
            shape = np.shape(batch[name])
            if axis < len(shape):
                return int(shape[axis]) // each
        return self.size

    def whole(self, batch: Arrays) -> tuple[Arrays, int]:
        """Arrays that part() cuts, and how many samples they have. Raises ShapeError
        unless all have as many, and one at least."""
        arrays = {
            name: sliceable(self.op, name, value) if name in self.tensors else value
            for name, value in batch.items()
        }
        first, count = "", self.size or 1
        for name, array in arrays.items():
            if name not in self._samples:
                continue
            samples = self._count(name, array)
            if first and samples != count:
                raise make_error(
                    ShapeError,
                    "the arrays have different numbers of samples",
                    op=self.op,
                    node=name,
                    expected=f'{count}, as "{first}" has',
                    got=f"{samples} in {tuple(array.shape)}",
                )
            first, count = first or name, samples
        return arrays, count

    def _count(self, name: str, array: Any) -> int:
        (axis, each), tensor = self._samples[name], self.tensors[name]
        shape = tuple(array.shape)
        size = int(shape[axis]) if axis < len(shape) else 0
        if len(shape) == len(tensor.shape) and size > 0 and size % each == 0:
            return size // each
        raise make_error(
            ShapeError,
            "the data has no samples" if 0 in shape else "the data has the wrong shape",
            op=self.op,
            node=name,
            expected=f"{tensor.shape}, of any number of samples on axis {axis}"
            + (f", each {each} long" if each > 1 else ""),
            got=str(shape),
        )

    def part(self, arrays: Arrays, rows: Rows) -> Arrays:
        """These samples of what whole() returned."""
        return {name: self._taken(name, array, rows) for name, array in arrays.items()}

    def _taken(self, name: str, array: Any, rows: Rows) -> Any:
        if name not in self._samples:
            return array
        axis, each = self._samples[name]
        at = rows
        if isinstance(rows, slice):
            at = slice(rows.start * each, rows.stop * each)
        elif each > 1:
            at = (rows[:, np.newaxis] * each + np.arange(each)).ravel()
        return array[(slice(None),) * axis + (at,)]

    def require_label(self, argument: str, batch: Arrays) -> None:
        """The inference form does without, and then has no loss."""
        if not self.labels or not self.labels.keys().isdisjoint(batch):
            return
        raise make_error(
            InvalidArgument,
            "there is no label data",
            op=self.op,
            node=argument,
            expected="data for " + " and ".join(f'"{name}"' for name in self.labels),
            got=", ".join(f'"{name}"' for name in batch) or "an empty batch",
        )

    def by_kind(self, batch: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        """Inputs, labels and label weights, as execute() takes them."""
        labels, weights = self.labels, self.weights
        return (
            {k: v for k, v in batch.items() if k not in labels and k not in weights},
            {k: v for k, v in batch.items() if k in labels},
            {k: v for k, v in batch.items() if k in weights},
        )
