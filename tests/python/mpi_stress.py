# SPDX-License-Identifier: MIT
"""Sums of random sizes, with random delays, on all ranks that mpiexec starts.

    mpiexec -n 4 python tests/python/mpi_stress.py 100000 [seed]

What is summed are small whole numbers, so that every sum is exact in any order.
Rank 0 prints the seed, and how far all came.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import traingraph as tg

LARGEST = 1 << 14
LONGEST_DELAY = 200e-6


def main(count: int, seed: int | None) -> None:
    ranks = tg.mpi_collective()
    chosen = np.array([time.time_ns() if seed is None else seed])
    ranks.broadcast(chosen)
    seed = int(chosen[0])
    # The sizes are the same on all ranks, the delays are not.
    shared = np.random.default_rng(seed)
    own = np.random.default_rng((seed, ranks.rank))
    if ranks.rank == 0:
        print(f"{ranks.description}: {ranks.size} ranks, seed {seed}", flush=True)
    start = time.monotonic()
    for step in range(count):
        size = int(LARGEST ** shared.random())
        value = int(shared.integers(1, 100))
        if own.random() < 0.1:
            time.sleep(own.random() * LONGEST_DELAY)
        array = np.arange(size, dtype=np.float32) % 97 + value * ranks.rank
        ranks.all_reduce(array)
        ranks_sum = ranks.size * (ranks.size - 1) // 2
        expected = np.arange(size) % 97 * ranks.size + value * ranks_sum
        if not np.array_equal(array, expected):
            message = f"rank {ranks.rank}: step {step}, size {size}, seed {seed}"
            raise AssertionError(message)
        if ranks.rank == 0 and (step + 1) % 10000 == 0:
            print(step + 1, f"{time.monotonic() - start:.1f} s", flush=True)
    ranks.all_reduce(np.zeros(1, np.float32))
    if ranks.rank == 0:
        print(f"{count} sums in {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
