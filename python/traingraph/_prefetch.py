# SPDX-License-Identifier: MIT
"""``tg.prefetch``: batches are made while the device computes."""

from __future__ import annotations

import _thread
import queue
from typing import TYPE_CHECKING, Generic, TypeVar

from ._arguments import require_count
from ._calls import checked
from ._data import iterable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["prefetch"]

Item = TypeVar("Item")


class _End:
    """Comes after the last batch, with what ended the thread too early."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


@checked
def prefetch(batches: Iterable[Item], size: int = 2) -> Iterable[Item]:
    """Goes through batches on a thread of its own, ahead of who uses them.

    Each iteration starts a thread, which ends with the last batch, or after the
    batch that it makes when the iteration is given up. NumPy frees the GIL while it
    works on large arrays, and so does execute().

    Args:
        batches: an iterable of anything, such as batches for fit(). What it raises is
            raised where the batch would have come.
        size: how many wait to be used, 1 or more.

    Returns:
        An iterable of the same batches.

    Raises:
        CallError: no iterable, no number.
        InvalidArgument: size below 1.

    Example:
        >>> def batches():
        ...     for seed in range(4):
        ...         yield points + seed, targets
        >>> history = tg.fit(training, tg.prefetch(batches()))
    """
    require_count("prefetch", "size", size)
    return _Prefetch(iterable("prefetch", batches), size)


class _Prefetch(Generic[Item]):
    def __init__(self, batches: Iterable[Item], size: int) -> None:
        self._batches = batches
        self._size = size

    def __iter__(self) -> Iterator[Item]:
        ahead: _Ahead[Item] = _Ahead(self._size)
        try:
            # threading.Thread.start() waits for the thread, and a Ctrl-C in that
            # wait is now and then a RuntimeError of its locks.
            _thread.start_new_thread(_produce, (self._batches, ahead))
            while not isinstance(item := ahead.ready.get(), _End):
                ahead.room.put(True)
                yield item
            if item.error is not None:
                raise item.error
        finally:
            ahead.give_up()


class _Ahead(Generic[Item]):
    """Batches on their way, of which there is room for ``size``. A Ctrl-C within
    queue.Queue leaves it locked, so these are queues of C, without a bound."""

    def __init__(self, size: int) -> None:
        self.ready: queue.SimpleQueue[Item | _End] = queue.SimpleQueue()
        self.room: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.size = size
        self.is_given_up = False

    def give_up(self) -> None:
        self.is_given_up = True
        self.room.put(False)  # for a thread that waits

    def wait_for_room(self) -> bool:
        """False when nobody waits for another batch."""
        if self.size > 0:
            self.size -= 1
        else:
            self.room.get()
        return not self.is_given_up


def _produce(batches: Iterable[Item], ahead: _Ahead[Item]) -> None:
    error: BaseException | None = None
    try:
        for item in batches:
            if not ahead.wait_for_room():
                return
            ahead.ready.put(item)
    except BaseException as raised:  # noqa: BLE001, the reader raises it anew
        error = raised
    ahead.ready.put(_End(error))
