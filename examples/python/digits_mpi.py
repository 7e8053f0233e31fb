# SPDX-License-Identifier: MIT
"""The digits network on several processes, each with its part of every batch.

    pip install mpich
    mpiexec -n 2 python examples/python/digits_mpi.py

One process may run it, too: then it is examples/python/digits.py.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from digits import LEARNING_RATE, SEED, Network, build
from scans import BATCH, load_data, predict

import traingraph as tg


def train_epoch(
    net: Network,
    ranks: tg.Collective,
    images: np.ndarray,
    labels: np.ndarray,
    epoch: int,
) -> None:
    """One pass over the shuffled data, which all ranks shuffle alike."""
    net.optimizer.learning_rate = LEARNING_RATE * 0.93**epoch
    order = np.random.default_rng((SEED, epoch)).permutation(len(images))
    for start in range(0, len(order), BATCH):
        # The last batch may be cut into parts of several sizes: gradients count by
        # samples.
        parts = np.array_split(order[start : start + BATCH], ranks.size)
        own = parts[ranks.rank]
        net.training.execute({"image": images[own]}, {"label": labels[own]})
    net.training.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()

    ranks = tg.mpi_collective()
    train_images, test_images, train_labels, test_labels = load_data()
    tg.set_seed(SEED)
    net = build(options.device, collective=ranks)
    start = time.perf_counter()
    for epoch in range(options.epochs):
        train_epoch(net, ranks, train_images, train_labels, epoch)
    seconds = time.perf_counter() - start
    if ranks.rank != 0:
        return
    predicted = predict(net.inference, test_images)
    accuracy = 100 * float(np.mean(predicted == test_labels.argmax(axis=1)))
    steps = options.epochs * -(-len(train_images) // BATCH)
    print(f"{ranks.size} ranks, {tg.num_threads()} threads each")
    print(f"held-out accuracy: {accuracy:.2f} %")
    print(f"steps per second: {steps / seconds:.0f}")


if __name__ == "__main__":
    main()
