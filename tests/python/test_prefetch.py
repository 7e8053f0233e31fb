# SPDX-License-Identifier: MIT
"""``prefetch``: the same batches, some ahead, and a thread that ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from fit_support import make_batches, make_training

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_prefetch_gives_the_same_batches() -> None:
    batches = make_batches(7)
    ahead = tg.prefetch(batches, size=3)
    for _ in range(2):
        assert all(a is b for a, b in zip(ahead, batches, strict=True))
    fitted, own = make_training(), make_training()
    tg.fit(fitted, ahead, epochs=2, progress=False)
    tg.fit(own, batches, epochs=2, progress=False)
    for name, values in own.state_dict().items():
        np.testing.assert_array_equal(fitted.state_dict()[name], values)


def test_prefetch_is_ahead_by_its_size() -> None:
    made: list[int] = []

    def numbers() -> Iterator[int]:
        for i in range(100):
            made.append(i)
            yield i

    iterator = iter(tg.prefetch(numbers(), size=2))
    assert next(iterator) == 0
    deadline = time.monotonic() + 10
    while len(made) < 4 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.05)
    assert made == [0, 1, 2, 3]  # one is out, two are ready, one waits


@pytest.mark.parametrize("batches", [None, lambda: [1], {"x": 1}])
def test_prefetch_wants_an_iterable(batches: Any) -> None:
    with pytest.raises(tg.CallError, match="expected an iterable of batches"):
        tg.prefetch(batches)


def test_prefetch_passes_errors_on() -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise KeyError("lost")

    iterator = iter(tg.prefetch(numbers()))
    assert next(iterator) == 1
    with pytest.raises(KeyError, match="lost"):
        next(iterator)
    with pytest.raises(tg.InvalidArgument, match="size"):
        tg.prefetch([], size=0)


def test_prefetch_that_is_given_up_ends_its_thread() -> None:
    running = 0

    def zeros() -> Iterator[int]:  # closed when its thread lets go of it
        nonlocal running
        running += 1
        try:
            while True:
                yield 0
        finally:
            running -= 1

    iterators = [iter(tg.prefetch(zeros(), size=1)) for _ in range(8)]
    for iterator in iterators:
        assert next(iterator) == 0
    assert running == 8
    del iterator, iterators
    deadline = time.monotonic() + 10
    while running > 0 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert running == 0
