# SPDX-License-Identifier: MIT
"""Collectives over MPI: on several ranks, by mpiexec."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import traingraph as tg

from .mpi_ranks import PATIENCE, needs_mpi, run_ranks

needs_mpi4py = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed"
)

# Of a collective `c`.
OPERATIONS = """
def check(c):
    n, r = c.size, c.rank
    rngs = [np.random.default_rng(rank) for rank in range(n)]
    for part_size in (0, 1, 5, 20000):
        size = part_size * n
        # Whole numbers: sums are the same in any order.
        values = [rng.integers(-9, 9, size).astype(np.float32) for rng in rngs]
        total = np.sum(values, axis=0, dtype=np.float32)
        array = values[r].copy()
        c.all_reduce(array)
        assert np.array_equal(array, total)

        for dtype in (np.float32, np.int64, np.uint8):
            gathered = np.empty((n, part_size), dtype)
            c.all_gather(np.full(part_size, r, dtype), gathered)
            assert np.array_equal(
                gathered, np.repeat(np.arange(n, dtype=dtype)[:, None], part_size, 1)
            )
            array = np.full((2, part_size), r, dtype)
            c.broadcast(array, n - 1)
            assert (array == n - 1).all()
        array = np.full(3, r)
        c.broadcast(array)
        assert (array == 0).all()
    c.all_reduce(np.zeros(1, np.float32))
    say("fine", r)
"""


def assert_fine(run: subprocess.CompletedProcess[str], size: int) -> None:
    assert run.returncode == 0, run.stderr
    lines = sorted(line for line in run.stdout.splitlines() if line.startswith("fine"))
    assert lines == [f"fine {rank}" for rank in range(size)], run.stdout + run.stderr


@needs_mpi
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_operation(size: int) -> None:
    run = run_ranks(
        size,
        OPERATIONS
        + """
c = tg.mpi_collective()
assert c.description.startswith("MPI (MPICH "), c.description
assert c.size == int(sys.argv[1])
check(c)
""",
        arguments=(str(size),),
    )
    assert_fine(run, size)


@needs_mpi
def test_sums_in_the_order_of_ranks() -> None:
    run = run_ranks(
        3,
        """
        fixed = tg.fixed_order(tg.mpi_collective())
        rngs = [np.random.default_rng(rank) for rank in range(3)]
        values = [rng.standard_normal(3000, dtype=np.float32) for rng in rngs]
        expected = (values[0] + values[1]) + values[2]
        array = values[fixed.rank].copy()
        fixed.all_reduce(array)
        assert np.array_equal(array, expected)
        say("fine", fixed.rank)
        """,
    )
    assert_fine(run, 3)


@needs_mpi
@needs_mpi4py
def test_communicators_of_mpi4py() -> None:
    run = run_ranks(
        4,
        OPERATIONS
        + """
from mpi4py import MPI

world = MPI.COMM_WORLD
halves = world.Split(world.rank % 2, -world.rank)
half = tg.mpi_collective(communicator=halves)
assert (half.rank, half.size) == (halves.rank, 2)
array = np.full(2, world.rank, np.float32)
half.all_reduce(array)
assert (array == [2, 4][world.rank % 2]).all()
c = tg.Collective(world)
assert "MPICH" in c.description, c.description
check(c)
""",
    )
    assert_fine(run, 4)


@needs_mpi
def test_communicators_of_the_same_abi_are_handles() -> None:
    """As those of an mpi4py that is built for the standard ABI, whose wheels are not."""
    run = run_ranks(
        2,
        """
        import types

        world = tg.mpi_collective()  # has loaded the library
        mpi = types.ModuleType("mpi_of_the_abi")
        mpi.Get_abi_version = lambda: (1, 0)
        sys.modules[mpi.__name__] = mpi

        def communicator(handle):
            members = {"handle": handle, "__module__": mpi.__name__}
            return type("Comm", (), {**members, "Get_rank": None, "Allreduce": None})()

        own = tg.Collective(communicator(0x102))  # MPI_COMM_SELF
        assert (own.rank, own.size) == (0, 1)
        assert own.description == world.description
        both = tg.mpi_collective(communicator=communicator(0x101))
        array = np.ones(3, np.float32)
        both.all_reduce(array)
        assert (array == 2).all()
        say("fine", world.rank)
        """,
    )
    assert_fine(run, 2)


@needs_mpi
@needs_mpi4py
def test_two_mpi_in_one_process_are_refused() -> None:
    run = run_ranks(
        2,
        """
        from mpi4py import MPI

        if MPI.Get_abi_version()[0] == 1:
            say("fine", MPI.COMM_WORLD.rank)  # then it is the same
            sys.exit()
        try:
            tg.mpi_collective()
        except tg.DeviceError as error:
            assert "another MPI library" in str(error), error
            say("fine", MPI.COMM_WORLD.rank)
        """,
    )
    assert_fine(run, 2)


def test_a_missing_library_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(tg.DeviceError, match="pip install mpich"):
        tg.mpi_collective("/nowhere/libmpi_abi.so.1")
    monkeypatch.setenv("TRAINGRAPH_MPI_LIBRARY", "/nowhere/libmpi_abi.so.1")
    with pytest.raises(tg.DeviceError, match="/nowhere/libmpi_abi") as raised:
        tg.mpi_collective()
    assert raised.value.op == "mpi_collective"
    assert "TRAINGRAPH_MPI_LIBRARY" in str(raised.value)


@needs_mpi
def test_the_launcher_of_another_mpi_is_noticed() -> None:
    script = "import traingraph as tg; tg.mpi_collective()"
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "OMPI_COMM_WORLD_SIZE": "4"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert run.returncode == 1
    assert "the launcher belongs to another MPI" in run.stderr
    assert "expected 4 ranks, got 1 rank" in run.stderr


@needs_mpi
def test_a_library_of_another_abi_is_refused() -> None:
    native = Path(sys.prefix, "lib", "libmpi.so.12")
    if not native.exists():
        pytest.skip("no MPICH with an ABI of its own")
    with pytest.raises(tg.DeviceError, match="standard ABI"):
        tg.mpi_collective(native)


@needs_mpi
def test_a_rank_that_fails_ends_all() -> None:
    start = time.monotonic()
    run = run_ranks(
        3,
        """
        c = tg.mpi_collective()
        c.all_reduce(np.zeros(1, np.float32))
        if c.rank == 1:
            raise RuntimeError("its own")
        c.all_reduce(np.zeros(10, np.float32))
        """,
    )
    assert run.returncode != 0
    assert "its own" in run.stderr
    assert time.monotonic() - start < 60


@needs_mpi
def test_ranks_that_wait_for_a_killed_one_can_give_up() -> None:
    run = run_ranks(
        4,
        """
        c = tg.mpi_collective()
        array = np.zeros(100_000, np.float32)
        for step in range(50):
            if (c.rank, step) == (2, 30):
                os.kill(os.getpid(), signal.SIGKILL)
            timer = threading.Timer(2.0, c.abort)
            timer.start()
            try:
                c.all_reduce(array)
            except tg.DeviceError as error:
                say("begun:", error)
                break
            timer.cancel()
        try:
            c.all_reduce(np.zeros(1, np.float32))
        except tg.DeviceError as error:
            say("after:", error)
        """,
        is_shielded=True,
    )
    lines = run.stdout.splitlines()
    begun = [line for line in lines if line.startswith("begun: [all_reduce] rank ")]
    after = [line for line in lines if line.startswith("after: [all_reduce] ")]
    assert (len(begun), len(after)) == (3, 3), run.stdout + run.stderr


@needs_mpi
def test_ranks_that_end_wait_for_those_that_work() -> None:
    run = run_ranks(
        2,
        """
        c = tg.mpi_collective()
        if c.rank == 0:
            time.sleep(2)  # writes a checkpoint, say
        say("fine", c.rank)
        """,
    )
    assert_fine(run, 2)


@needs_mpi
def test_ctrl_c_ends_a_wait() -> None:
    run = run_ranks(
        2,
        """
        c = tg.mpi_collective()
        c.all_reduce(np.zeros(1, np.float32))
        if c.rank == 1:
            time.sleep(2)
            os._exit(0)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            c.all_reduce(np.zeros(1, np.float32))
        except KeyboardInterrupt:
            say("interrupted")
        os._exit(0)
        """,
        is_shielded=True,
    )
    assert "interrupted" in run.stdout, run.stdout + run.stderr


@needs_mpi
def test_many_sums_with_delays() -> None:
    stress = str(Path(__file__).with_name("mpi_stress.py"))
    run = run_ranks(4, stress, arguments=("300",))
    assert run.returncode == 0, run.stdout + run.stderr
    assert "300 sums" in run.stdout
