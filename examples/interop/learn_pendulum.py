# SPDX-License-Identifier: MIT
"""Builds a network in Python and trains it inside a simulator in C++."""

from __future__ import annotations

import pendulum
from network import BATCH, build


def main() -> None:
    training = build()
    for round_ in range(4):
        loss = pendulum.train(training, BATCH, steps=250)
        print(f"after {250 * (round_ + 1)} steps: loss {loss:.2e}")
    assert loss < 1e-3, loss


if __name__ == "__main__":
    main()
