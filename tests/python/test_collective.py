# SPDX-License-Identifier: MIT
"""Collectives that are objects of Python, in one process."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

import traingraph as tg

from .conftest import PATIENCE

METHODS = ["all_reduce", "all_gather", "broadcast"]


class Alone:
    """One of two ranks; the other has the same values. Notes what it gets."""

    rank, size = 1, 2

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.threads: set[int] = set()

    def all_reduce(self, array: np.ndarray[Any, Any]) -> None:
        self.calls.append((array.dtype, array.shape))
        self.threads.add(threading.get_ident())
        array *= 2

    def all_gather(
        self, part: np.ndarray[Any, Any], all_: np.ndarray[Any, Any]
    ) -> None:
        assert not part.flags.writeable
        self.calls.append((part.dtype, part.shape, all_.shape))
        all_[:] = np.tile(part, 2)

    def broadcast(self, array: np.ndarray[Any, Any], root: int) -> None:
        self.calls.append((array.dtype, array.shape, root))
        array[:] = 1


@pytest.fixture
def alone() -> Alone:
    return Alone()


def test_an_object_with_the_methods_is_a_collective(alone: Alone) -> None:
    c = tg.Collective(alone)
    assert (c.rank, c.size, c.description) == (1, 2, "Alone")
    array = np.ones((2, 3), np.float32)
    c.all_reduce(array)
    assert (array == 2).all()
    both = np.empty((2, 3), np.int64)
    c.all_gather(np.arange(3), both)
    assert (both == np.arange(3)).all()
    flags = np.zeros(4, bool)
    c.broadcast(flags, 1)
    assert flags.all()
    assert alone.calls == [
        (np.float32, (6,)),
        (np.uint8, (24,), (48,)),
        (np.uint8, (4,), 1),
    ]
    assert alone.threads.isdisjoint({threading.get_ident()})


def test_sums_in_the_order_of_ranks_need_no_sums(alone: Alone) -> None:
    alone.all_reduce = None  # type: ignore[assignment, method-assign]
    fixed = tg.fixed_order(alone)
    assert fixed.description == "Alone, sums in the order of ranks"
    array = np.ones(3, np.float32)
    fixed.all_reduce(array)
    assert (array == 2).all()


@pytest.mark.parametrize("name", ["rank", "size", *METHODS])
def test_what_is_missing_is_named(name: str) -> None:
    members = {
        key: value
        for key, value in vars(Alone).items()
        if key in {"rank", "size", *METHODS} - {name}
    }
    transport = type("Partial", (), members)()
    with pytest.raises(tg.InvalidArgument, match=f"has no (method|attribute) {name}"):
        tg.Collective(transport)


def test_exceptions_come_back_as_themselves(alone: Alone) -> None:
    error = KeyError("its own")

    def fail(_array: object) -> None:
        raise error

    alone.all_reduce = fail  # type: ignore[assignment, method-assign]
    c = tg.Collective(alone)
    with pytest.raises(KeyError) as raised:
        c.all_reduce(np.ones(1, np.float32))
    assert raised.value is error
    c.broadcast(np.ones(1, np.float32))


def test_arrays_are_checked(alone: Alone) -> None:
    c = tg.Collective(alone)
    with pytest.raises(tg.DTypeError, match="float32, got float64"):
        c.all_reduce(np.ones(3))  # type: ignore[arg-type]
    with pytest.raises(tg.InvalidArgument, match="not contiguous"):
        c.all_reduce(np.ones((3, 4), np.float32)[:, ::2])
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(tg.InvalidArgument, match="read-only"):
        c.all_reduce(frozen)
    with pytest.raises(tg.CallError, match="arrays of NumPy"):
        c.all_reduce([1.0])  # type: ignore[arg-type]
    with pytest.raises(tg.InvalidArgument, match="Python objects"):
        c.broadcast(np.array([None]))
    with pytest.raises(tg.DTypeError, match="another type"):
        c.all_gather(np.ones(1, np.int32), np.ones(2, np.int64))
    with pytest.raises(tg.InvalidArgument, match="expected 16, got 12"):
        c.all_gather(np.ones(2, np.float32), np.ones(3, np.float32))
    with pytest.raises(tg.InvalidArgument, match="expected 0 to 1, got 2"):
        c.broadcast(np.ones(1), 2)
    assert alone.calls == []


class Waiting(Alone):
    """Its broadcast lasts until this rank gives up."""

    def __init__(self) -> None:
        super().__init__()
        self.has_begun, self.is_over = threading.Event(), threading.Event()

    def broadcast(self, _array: np.ndarray[Any, Any], _root: int) -> None:
        self.has_begun.set()
        assert self.is_over.wait(PATIENCE)
        raise TimeoutError

    def abort(self) -> None:
        self.is_over.set()


def test_abort_ends_a_wait() -> None:
    transport = Waiting()
    c = tg.Collective(transport)

    def give_up() -> None:
        transport.has_begun.wait()
        c.abort()

    thread = threading.Thread(target=give_up)
    thread.start()
    with pytest.raises(TimeoutError):
        c.broadcast(np.ones(1))
    thread.join()
    with pytest.raises(tg.DeviceError, match="given up"):
        c.broadcast(np.ones(1))


def test_a_rank_that_leaves_gives_nothing_up() -> None:
    # Others may still be on their way out of what they did together.
    transport = Waiting()
    c = tg.Collective(transport)
    c.all_reduce(np.ones(2, np.float32))
    del c
    assert not transport.is_over.is_set()


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_ends_a_wait_and_aborts() -> None:
    transport = Waiting()
    c = tg.Collective(transport)

    def interrupt() -> None:
        transport.has_begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    # Who runs tests in the background may have it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            c.broadcast(np.ones(1))
    finally:
        signal.signal(signal.SIGINT, before)
    thread.join()
    assert transport.is_over.wait(PATIENCE)
    del c  # its thread may still be in broadcast()


def test_a_collective_may_wrap_another(alone: Alone) -> None:
    c = tg.Collective(tg.Collective(alone))
    assert c.description == "Alone"


def test_one_of_both_library_and_communicator(alone: Alone) -> None:
    with pytest.raises(tg.CallError):
        tg.mpi_collective("libmpi_abi.so.1", alone)  # type: ignore[arg-type]
