# SPDX-License-Identifier: MIT
"""Types that only signatures mention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Communicator", "SupportsDLPack", "Transport"]


class SupportsDLPack(Protocol):
    """An array of another library, in host memory."""

    def __dlpack__(self, *, stream: None = ...) -> Any:
        """Returns a DLPack capsule."""
        ...

    def __dlpack_device__(self) -> tuple[Any, int]:
        """Returns the device type and number."""
        ...


class Transport(Protocol):
    """Operations that block. Arrays are valid during the call only."""

    @property
    def rank(self) -> int:
        """This process, 0 to size - 1."""
        ...

    @property
    def size(self) -> int:
        """How many processes there are."""
        ...

    def all_reduce(self, array: NDArray[np.float32], /) -> object:
        """Sums over all ranks, in place."""
        ...

    def all_gather(self, part: NDArray[Any], all_: NDArray[Any], /) -> object:
        """`all_` gets the parts of all ranks, in order."""
        ...

    def broadcast(self, array: NDArray[Any], root: int, /) -> object:
        """All ranks get the array of `root`."""
        ...


class Communicator(Protocol):
    """mpi4py.MPI.Comm, as far as it tells one."""

    def Get_rank(self) -> int:
        """The rank of this process."""
        ...

    def Allreduce(self, sendbuf: Any, recvbuf: Any) -> None:
        """Sums of buffers."""
        ...


if TYPE_CHECKING:
    # Data frames and loaders of other libraries are iterables here.
    Arrays = ArrayLike | SupportsDLPack | tuple[Any, ...] | Mapping[str, Any]
    Batches = Arrays | Iterable[Any]
    Data = Batches | Callable[[int], Batches]
    Metric = str | Callable[[Any, Any], Any]
    Metrics = Iterable[Metric] | Mapping[str, Metric]
