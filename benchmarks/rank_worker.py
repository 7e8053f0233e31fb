# SPDX-License-Identifier: MIT
"""One rank of scaling.py: `rank_worker.py <system> <workload> <ranks>`.

It connects to the parent, sends its rank and first losses, then the times of as many
steps as the parent asks for, again and again.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Client
from typing import TYPE_CHECKING

from worker import COMPARED_STEPS, time_steps
from workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable


def make_step(system: str, name: str, ranks: int) -> tuple[int, Callable[[], float]]:
    """Rank of this process, and a step that returns the loss of its part."""
    workload = WORKLOADS[name]
    if system == "ddp":
        from systems import with_ddp  # noqa: PLC0415 - if it is installed

        return with_ddp.rank_steps(workload)
    from systems import with_traingraph  # noqa: PLC0415

    if system == "one-process":
        return 0, with_traingraph.steps(workload, "", "float32")
    if system == "lone-ranks":
        rank = int(os.environ["RANK"])
        return rank, with_traingraph.steps_of_part(workload, rank, ranks)
    shards = system == "sharded-ranks"
    return with_traingraph.rank_steps(workload, ranks, shards=shards)


def bind_to_core() -> None:
    """As `mpiexec` does to its ranks."""
    if "RANK" in os.environ and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[int(os.environ["RANK"]) % len(cores)]})


def main() -> None:
    system, name, ranks = sys.argv[1:]
    bind_to_core()  # before there are threads
    rank, step = make_step(system, name, int(ranks))
    losses = [step() for _ in range(COMPARED_STEPS)]
    with Client(os.environ["PARENT"], authkey=os.environ["PARENT_KEY"].encode()) as up:
        up.send((rank, losses))
        try:
            while True:
                up.send(time_steps(step, up.recv()))
        except EOFError:
            return  # the parent has closed its end, or is gone


if __name__ == "__main__":
    main()
