# SPDX-License-Identifier: MIT
"""MPI from Python: where its library is, and communicators of mpi4py."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._calls import checked
from .errors import CallError, DeviceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ._typing import Communicator, Transport

LIBRARY = "libmpi_abi.1.dylib" if sys.platform == "darwin" else "libmpi_abi.so.1"
VARIABLE = "TRAINGRAPH_MPI_LIBRARY"

# A wait sleeps this part of the time that it has lasted, at most a millisecond.
PART_OF_WAIT = 1 / 16
SHORTEST_SLEEP = 20e-6
LONGEST_SLEEP = 1e-3


@checked
def mpi_collective(
    library: str | os.PathLike[str] | None = None,
    communicator: Communicator | None = None,
) -> _core.Collective:
    """The processes that mpiexec started, over MPI.

    All ranks call this together.

    Args:
        library: of MPI's standard ABI, such as the one of `pip install mpich`; None:
            the one that the environment variable TRAINGRAPH_MPI_LIBRARY names, else
            `libmpi_abi.so.1` where the system or this Python has it.
        communicator: of mpi4py, whose MPI it is then, whatever its ABI.

    Raises:
        DeviceError: there is no MPI, or one that cannot be used.
        CallError: both are given.

    Example:
        >>> mpi = tg.mpi_collective()  # doctest: +SKIP
        >>> training.compile("cpu", collective=mpi)  # doctest: +SKIP
    """
    if communicator is not None:
        if library is not None:
            message = (
                "[mpi_collective] a communicator has its library already. Give one "
                "of both."
            )
            raise CallError(message, op="mpi_collective")
        return _core.Collective(communicator)
    path = os.fspath(library) if library is not None else _library_of_python()
    return _core._mpi_collective(path, 0)


def of_communicator(communicator: Any) -> Transport:
    """A communicator of mpi4py as a transport."""
    mpi = sys.modules[type(communicator).__module__]
    abi_version = getattr(mpi, "Get_abi_version", None)
    if abi_version is not None and abi_version()[0] == 1:
        return _core._mpi_collective(LIBRARY, communicator.handle)
    return _OfMpi4py(mpi, communicator)


def _library_of_python() -> str:
    """A path beside this Python, where the search of the library ends; or empty."""
    if os.environ.get(VARIABLE):
        return ""
    try:
        import ctypes  # noqa: PLC0415, a Python without libffi does not have it

        ctypes.CDLL(LIBRARY)
    except (ImportError, OSError):
        path = Path(sys.prefix, "lib", LIBRARY)
        return str(path) if path.exists() else ""
    return ""


class _OfMpi4py:
    """Operations of an mpi4py that is built for another ABI.

    Each is begun and polled, so that abort() can end it.
    """

    def __init__(self, mpi: Any, communicator: Any) -> None:
        if mpi.Query_thread() < mpi.THREAD_MULTIPLE:
            message = (
                "[mpi_collective] mpi4py has initialized MPI without THREAD_MULTIPLE, "
                "which operations beside the computation need. Leave mpi4py.rc "
                "as it is."
            )
            raise DeviceError(message, op="mpi_collective")
        self._in_place = mpi.IN_PLACE
        self._byte, self._float, self._sum = mpi.BYTE, mpi.FLOAT, mpi.SUM
        self._communicator = communicator.Dup()
        self._communicator.Set_errhandler(mpi.ERRORS_RETURN)
        self._has_given_up = False
        self.rank: int = communicator.Get_rank()
        self.size: int = communicator.Get_size()
        version = mpi.Get_library_version().split("\n")[0].split(",")[0]
        self.description = " ".join(["mpi4py:", *version.split()])

    def all_reduce(self, array: NDArray[np.float32]) -> None:
        buffer = [array, self._float]
        self._wait(self._communicator.Iallreduce(self._in_place, buffer, op=self._sum))

    def all_gather(self, part: NDArray[Any], all_: NDArray[Any]) -> None:
        all_[part.size * self.rank :][: part.size] = part
        buffer = [all_, part.nbytes, self._byte]
        self._wait(self._communicator.Iallgather(self._in_place, buffer))

    def broadcast(self, array: NDArray[Any], root: int) -> None:
        self._wait(self._communicator.Ibcast([array, self._byte], root))

    def abort(self) -> None:
        self._has_given_up = True

    def _wait(self, request: Any) -> None:
        start = time.monotonic()
        while not request.Test():
            if self._has_given_up:
                message = (
                    f"[collective] rank {self.rank} of {self.size} has given up "
                    "waiting for the others."
                )
                raise DeviceError(message, op="collective")
            sleep = (time.monotonic() - start) * PART_OF_WAIT
            time.sleep(min(sleep, LONGEST_SLEEP) if sleep > SHORTEST_SLEEP else 0)
