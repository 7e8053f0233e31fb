# SPDX-License-Identifier: MIT
"""What a loader that waits costs: by a loop that waits, ``fit`` and ``prefetch``.

    python benchmarks/batches_ahead.py [--bursts]

Each batch takes as long to come as a step to run, as from a disk or a network;
with --bursts, eight come at once after eight times as long. Prints
milliseconds per step, and how much of the loading time is hidden.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH, WIDTH, STEPS = 128, 1024, 96
Batch = dict[str, np.ndarray]


def make_training() -> tg.TrainingGraph:
    x, y = (tg.Tensor((BATCH, WIDTH), name=name) for name in "xy")
    graph = tg.Graph()
    h = x
    for _ in range(3):
        h = graph.node(tg.layers.FullyConnected(WIDTH, WIDTH), h)
        h = graph.node(tg.layers.ReLU(), h)
    training = tg.TrainingGraph(
        [graph], tg.losses.MeanSquaredError(), tg.optimizers.Adam(1e-4)
    )
    training.add_inputs({"x": x}, {"y": y})
    training.compile("cpu")
    return training


def milliseconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return (time.perf_counter() - start) / STEPS * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bursts", action="store_true")
    burst = 8 if parser.parse_args().bursts else 1
    training = make_training()
    rng = np.random.default_rng(0)
    batch = {k: rng.standard_normal((BATCH, WIDTH), np.float32) for k in "xy"}

    def ready(_: int) -> Iterator[Batch]:
        for _ in range(STEPS):
            yield batch

    def fit(batches: Callable[[int], object]) -> None:
        tg.fit(training, batches, progress=False)  # type: ignore[arg-type]

    fit(ready)
    alone = min(milliseconds(lambda: fit(ready)) for _ in range(3))

    def loaded(_: int) -> Iterator[Batch]:
        for i in range(STEPS):
            if i % burst == 0:
                time.sleep(burst * alone / 1e3)
            yield batch

    def one_by_one() -> None:
        for each in loaded(0):
            training.execute({"x": each["x"]}, {"y": each["y"]}).result()

    print(f"steps alone                 {alone:7.2f} ms, and as long to load each")
    for name, run in {
        "a loop that waits": one_by_one,
        "fit": lambda: fit(loaded),
        "fit, prefetch of 2": lambda: fit(lambda i: tg.prefetch(loaded(i))),
        "fit, prefetch of 16": lambda: fit(lambda i: tg.prefetch(loaded(i), 16)),
    }.items():
        took = min(milliseconds(run) for _ in range(3))
        print(f"{name:27s} {took:7.2f} ms, {2 - took / alone:5.0%} hidden")


if __name__ == "__main__":
    main()
