# SPDX-License-Identifier: MIT
"""The digits network on several processes, each with its part of the scans.

    pip install mpich
    mpiexec -n 2 python examples/python/digits_mpi.py

One process may run it, too: then it is examples/python/digits.py.
"""

from __future__ import annotations

import argparse
import time

from digits import SEED, STEPS, build
from scans import BATCH, load_data

import traingraph as tg


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()

    ranks = tg.mpi_collective()
    (images, labels), test = load_data()
    # As many for each rank: all do the same number of steps.
    count = len(images) // ranks.size
    own = slice(ranks.rank * count, (ranks.rank + 1) * count)
    tg.set_seed(SEED)
    training = build(options.device, collective=ranks)
    start = time.perf_counter()
    tg.fit(
        training,
        (images[own], labels[own]),
        batch_size=BATCH // ranks.size,
        epochs=options.epochs,
        seed=SEED,
        progress=ranks.rank == 0,
    )
    seconds = time.perf_counter() - start
    if ranks.rank != 0:
        return
    accuracy = tg.evaluate(training, test, metrics=["accuracy"])["accuracy"]
    print(f"{ranks.size} ranks, {tg.num_threads()} threads each")
    print(f"held-out accuracy: {100 * accuracy:.2f} %")
    print(f"steps per second: {options.epochs * STEPS / seconds:.0f}")


if __name__ == "__main__":
    main()
