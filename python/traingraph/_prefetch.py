# SPDX-License-Identifier: MIT
"""``tg.prefetch``: batches are made while the device computes."""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from ._arguments import require_count
from ._batches import iterable
from ._calls import checked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["prefetch"]

Item = TypeVar("Item")


class _End:
    """After the last batch; with what ended the thread too early."""

    def __init__(self, error: BaseException | None) -> None:
        self.error = error


@checked
def prefetch(batches: Iterable[Item], size: int = 2) -> Iterable[Item]:
    """Goes through ``batches`` on a thread of its own, ``size`` ahead.

    Each iteration starts a thread, which ends with the last batch, or after the
    batch that it makes when the iteration is given up. What ``batches`` raises
    is raised where the batch would have come. NumPy frees the GIL while it
    works on large arrays, and so does execute(). Raises InvalidArgument,
    CallError.
    """
    require_count("prefetch", "size", size)
    return _Prefetch(iterable("prefetch", batches), size)


class _Prefetch(Generic[Item]):
    def __init__(self, batches: Iterable[Item], size: int) -> None:
        self._batches = batches
        self._size = size

    def __iter__(self) -> Iterator[Item]:
        ready: queue.Queue[Item | _End] = queue.Queue(self._size)
        given_up = threading.Event()
        thread = threading.Thread(
            target=_produce,
            args=(self._batches, ready, given_up),
            name="traingraph prefetch",
            daemon=True,
        )
        thread.start()
        try:
            while not isinstance(item := ready.get(), _End):
                yield item
            if item.error is not None:
                raise item.error
        finally:
            given_up.set()
            while not ready.empty():  # makes room for what is being put
                ready.get_nowait()


def _produce(
    batches: Iterable[Item],
    ready: queue.Queue[Item | _End],
    given_up: threading.Event,
) -> None:
    error: BaseException | None = None
    try:
        for item in batches:
            ready.put(item)
            if given_up.is_set():
                return
    except BaseException as raised:  # noqa: BLE001, the reader raises it anew
        error = raised
    ready.put(_End(error))
