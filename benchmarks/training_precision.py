# SPDX-License-Identifier: MIT
"""What training in 16 bits costs in accuracy.

Trains the networks of examples/python in every precision, from the same seeds,
and prints what each reaches on data that it did not see: the accuracy in percent
of the digits and of the vision transformer, bits per character of the text.

    python benchmarks/training_precision.py --seeds 5
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

sys.path.append(str(Path(__file__).parents[1] / "examples" / "python"))

PRECISIONS = ["float32", "fast", "mixed-bfloat16", "mixed-float16"]


def digits(precision: str, epochs: int) -> float:
    example = importlib.import_module("digits")
    train, test = example.load_data()
    training = example.build("cpu", precision)
    tg.fit(training, train, epochs=epochs, seed=example.SEED, progress=False)
    return 100 * tg.evaluate(training, test, metrics=["accuracy"])["accuracy"]


def vision_transformer(precision: str, epochs: int) -> float:
    example = importlib.import_module("vision_transformer")
    train, test = example.load_data()
    training = example.build("cpu", precision)
    example.train(training, train, epochs, progress=False)
    return 100 * tg.evaluate(training, test, metrics=["accuracy"])["accuracy"]


def characters(precision: str, epochs: int) -> float:
    example = importlib.import_module("characters")
    text = example.load_text()
    writer = example.Writer(len(text.alphabet), "cpu", precision)
    history = example.train(writer, text, epochs, lambda _: None)
    return float(history.held_out[-1])


NETWORKS: dict[str, tuple[Callable[[str, int], float], int]] = {
    "digits": (digits, 30),
    "vision_transformer": (vision_transformer, 30),
    "characters": (characters, 2),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS))
    parser.add_argument("--precisions", nargs="+", default=PRECISIONS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, help="instead of each network's own")
    options = parser.parse_args()
    for name in options.networks:
        train, own_epochs = NETWORKS[name]
        for precision in options.precisions:
            reached = []
            for seed in range(1, options.seeds + 1):
                tg.set_seed(seed)
                reached.append(train(precision, options.epochs or own_epochs))
            each = " ".join(f"{value:.3f}" for value in reached)
            print(
                f"{name:20} {precision:15} {np.mean(reached):.3f}   {each}", flush=True
            )


if __name__ == "__main__":
    main()
