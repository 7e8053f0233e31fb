# SPDX-License-Identifier: MIT
"""One system on one workload in a process of its own.

The parent asks for blocks of steps and gets the time of each, so that systems
can take turns.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workloads import WORKLOADS

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

#: Steps whose loss is compared between the systems.
COMPARED_STEPS = 5


@dataclass
class Ready:
    losses: list[float]
    first_step_seconds: float  # from the import to the first loss


@dataclass
class Block:
    seconds: list[float]
    peak_bytes: int  # resident, of the process so far


def keep_quiet(log: str) -> None:
    """What the system writes, from Python or from C++, goes to the file."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)
    os.close(file)


def serve(
    connection: Connection,
    system: str,
    workload_name: str,
    precision: str,
    packages: Path | None,
    log: str,
) -> None:
    """Runs in the child. Sends Ready, then a Block for every number that comes."""
    keep_quiet(log)
    if packages:
        sys.path.insert(0, str(packages.resolve()))
    workload = WORKLOADS[workload_name]
    if workload.threads:
        os.environ["OMP_NUM_THREADS"] = str(workload.threads)
        os.sched_setaffinity(0, range(workload.threads))
    try:
        start = time.perf_counter()
        module, _, variant = system.partition("-")
        steps = __import__(f"systems.with_{module}", fromlist=["steps"]).steps
        step = steps(workload, variant, precision)
        losses = [step()]
        first = time.perf_counter() - start
        losses += [step() for _ in range(COMPARED_STEPS - 1)]
        connection.send(Ready(losses, first))
    except Exception as error:  # noqa: BLE001 - the table goes on without it
        connection.send(error if isinstance(error, ImportError) else repr(error))
        return
    try:
        while True:
            connection.send(Block(time_steps(step, connection.recv()), _peak_bytes()))
    except EOFError:
        return  # the parent has closed its end, or is gone


def time_steps(step, count: int) -> list[float]:
    now = time.perf_counter
    seconds = []
    for _ in range(count):
        start = now()
        step()
        seconds.append(now() - start)
    return seconds


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
