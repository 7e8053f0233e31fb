# SPDX-License-Identifier: MIT
"""Two training runs at the same time, each on a device and in a Python thread of
its own, against the same two one after the other on one of the devices.

The gain is what the second core brings; 2 would be all of it.
"""

from __future__ import annotations

import argparse
import statistics
import threading
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from systems.with_traingraph import build
from workloads import WORKLOADS, Workload

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable


class Run:
    def __init__(self, workload: Workload) -> None:
        self.training = build(workload)
        self.training.compile(device=tg.Device.cpu(threads=1))
        images, classes = workload.data()
        self.inputs = {"image": images}
        self.labels = {"label": np.eye(10, dtype=np.float32)[classes]}

    def steps(self, count: int) -> None:
        for _ in range(count):
            self.training.execute(self.inputs, self.labels, synchronous=True)


def seconds(action: Callable[[], None]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def together(runs: list[Run], count: int) -> None:
    threads = [threading.Thread(target=run.steps, args=(count,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def one_after_the_other(runs: list[Run], count: int) -> None:
    for run in runs:
        run.steps(count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for name in arguments.workloads:
        workload = WORKLOADS[name]
        runs = [Run(workload), Run(workload)]
        gains = []
        together(runs, workload.block)
        for _ in range(arguments.rounds):
            alone = seconds(partial(one_after_the_other, runs, workload.block))
            both = seconds(partial(together, runs, workload.block))
            gains.append(alone / both)
        print(f"{name:<14} gain {statistics.median(gains):.2f}", flush=True)


if __name__ == "__main__":
    main()
