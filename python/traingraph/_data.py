# SPDX-License-Identifier: MIT
"""Data sets: what ``fit``, ``evaluate`` and ``predict`` go through, batch by batch.

A data set is whole arrays, which are cut into batches here, or batches as they
come, an iterable of them; or a function of the epoch's number that returns either.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ._arguments import got, require_count
from ._batches import columns_of, is_array, is_mapping
from ._make_error import make_error
from .errors import CallError, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from ._batches import Arrays, Declared
    from ._typing import Data

    Order = Callable[[int, int], NDArray[np.intp]]

__all__ = ["DataSet", "Pass", "iterable", "open_data", "shuffled"]

BATCHES = "an iterable of batches"
DATA = f"arrays, {BATCHES}, or a function that returns one"


class Pass(NamedTuple):
    """One time through a data set; how many batches that are may not be known."""

    length: int | None
    batches: Iterator[Arrays]


class DataSet:
    """Batches by name, however they are given."""

    def __init__(self, declared: Declared, argument: str) -> None:
        self.declared = declared
        self.op = declared.op
        self.argument = argument

    def start(self, number: int) -> Pass:
        """The pass of an epoch."""
        raise NotImplementedError

    def no_batch(self, number: int) -> Exception:
        """What to raise after a pass without a batch."""
        return make_error(
            InvalidArgument,
            "there is no batch",
            op=self.declared.op,
            node=self.argument,
            expected="one or more in each epoch",
            got=f"none in epoch {number}",
            hint="A generator ends with its first pass: pass a function that makes "
            "one for each epoch."
            if number > 0
            else "",
        )


class _Whole(DataSet):
    """Arrays of all samples."""

    def __init__(
        self,
        declared: Declared,
        argument: str,
        batch: Arrays,
        size: int,
        order: Order | None = None,
    ) -> None:
        super().__init__(declared, argument)
        self._arrays, self._count = declared.whole(batch)
        self._size = size or self._count
        self._order = order

    def start(self, number: int) -> Pass:
        return Pass(-(-self._count // self._size), self._parts(number))

    def _parts(self, number: int) -> Iterator[Arrays]:
        order = self._order(number, self._count) if self._order else None
        for begin in range(0, self._count, self._size):
            rows = slice(begin, min(begin + self._size, self._count))
            taken = rows if order is None else order[rows]
            yield self.declared.part(self._arrays, taken)


class _Batches(DataSet):
    """What is iterated."""

    def __init__(
        self, declared: Declared, argument: str, batches: Any, cut: bool
    ) -> None:
        super().__init__(declared, argument)
        self._batches = iterable(declared.op, batches, argument, DATA)
        self._cut = cut

    def start(self, number: int) -> Pass:  # noqa: ARG002
        # Loaders of endless streams have a length that raises TypeError.
        length = operator.length_hint(self._batches, 0) or None
        return Pass(length, self._named(self._batches))

    def _named(self, given: Iterable[Any]) -> Iterator[Arrays]:
        declared = self.declared
        for each in given:
            batch = declared.named(self.argument, each)
            if self._cut and declared.samples(batch) > declared.size > 0:
                whole = _Whole(declared, self.argument, batch, declared.size)
                yield from whole.start(0).batches
            else:
                yield batch


class _ByEpoch(DataSet):
    """A function of the epoch's number that returns a data set."""

    def __init__(
        self,
        declared: Declared,
        argument: str,
        function: Callable[[int], Data],
        make: Callable[[Any], DataSet],
    ) -> None:
        super().__init__(declared, argument)
        self._function = function
        self._make = make

    def start(self, number: int) -> Pass:
        return self._make(self._function(number)).start(number)


def open_data(
    declared: Declared,
    argument: str,
    data: Data,
    *,
    batch_size: int | None = None,
    epochs: int = 1,
    order: Order | None = None,
    cut: bool = False,
) -> DataSet:
    """Knows the kinds of data sets. `order` is that of the samples of whole arrays;
    `cut` lets a batch have more samples than the graph was compiled for. Raises
    CallError, InvalidArgument, ShapeError."""
    _require_size(declared, batch_size)

    def make(given: Any) -> DataSet:
        if _is_whole(given):
            batch = declared.named(argument, given, "the data")
            size = batch_size or declared.size
            return _Whole(declared, argument, batch, size, order)
        if batch_size is not None:
            raise make_error(
                InvalidArgument,
                "batches have sizes of their own",
                op=declared.op,
                node="batch_size",
                expected="None, or whole arrays",
                got=f"{batch_size} and {got(given)}",
            )
        return _Batches(declared, argument, given, cut)

    if callable(data) and not _is_whole(data):
        return _ByEpoch(declared, argument, data, make)
    if hasattr(data, "__next__") and epochs > 1:
        raise make_error(
            InvalidArgument,
            "the batches can be gone through only once",
            op=declared.op,
            node=argument,
            expected="a list, or a function that returns an iterable",
            got=f"{got(data)} for {epochs} epochs",
            hint="Pass a function of the epoch's number.",
        )
    return make(data)


def _is_whole(data: Any) -> bool:
    """Arrays of all samples, in one of the forms that they come in."""
    is_tuple = isinstance(data, tuple) and len(data) > 0 and all(map(is_array, data))
    return is_tuple or is_mapping(data) or is_array(data) or bool(columns_of(data))


def _require_size(declared: Declared, batch_size: int | None) -> None:
    if batch_size is None:
        return
    require_count(declared.op, "batch_size", batch_size)
    if batch_size > declared.size > 0:
        raise make_error(
            InvalidArgument,
            "the batch is larger than what the graph was compiled for",
            op=declared.op,
            node="batch_size",
            expected=f"at most {declared.size}",
            got=str(batch_size),
            hint="Declare inputs and labels with as many samples.",
        )


def iterable(
    op: str, batches: Any, argument: str = "batches", expected: str = BATCHES
) -> Iterable[Any]:
    """Raises CallError for one batch, and for what is no iterable."""
    is_batch = is_mapping(batches)
    has_items = hasattr(batches, "__iter__") or hasattr(batches, "__getitem__")
    if has_items and not is_batch:
        return cast("Iterable[Any]", batches)
    raise make_error(
        CallError,
        "these are no batches",
        op=op,
        node=argument,
        expected=expected,
        got=got(batches),
        hint="Of one batch pass a list: [batch]." if is_batch else "",
    )


def shuffled(seed: int) -> Order:
    """The order of an epoch, which follows from the seed and its number."""

    def order(number: int, count: int) -> NDArray[np.intp]:
        return np.random.default_rng((seed, number)).permutation(count)

    return order
