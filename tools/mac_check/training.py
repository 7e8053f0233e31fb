# SPDX-License-Identifier: MIT
"""Trains small networks with `verify`: the CPU repeats every step, and the first
tensor that differs ends the training. Writes one row per network as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import traingraph as tg
from mac_check import networks

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS = 15
#: Of the first loss, after as many steps.
LEARNED = 0.9


def train(make: Callable[[], networks.Network], name: str) -> dict[str, Any]:
    losses: list[float] = []
    try:
        network = make()
        losses = [network.step() for _ in range(STEPS)]
    except networks.PROBLEMS as error:
        problem = f"{type(error).__name__}: {error}"
        return {"network": name, "problem": problem, "losses": losses}
    problem = ""
    if not losses[-1] < LEARNED * losses[0]:
        problem = f"the loss went from {losses[0]:.4g} to {losses[-1]:.4g} only"
    return {"network": name, "problem": problem, "losses": [losses[0], losses[-1]]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--list", action="store_true", help="rows without numbers")
    parser.add_argument("--only", type=int, help="number of the one row")
    parser.add_argument("output", type=Path)
    options = parser.parse_args()
    tg.set_seed(7)
    makers = list(networks.all_of(options.device, verify="cpu").items())
    if options.list:
        rows = [{"network": name, "problem": "", "losses": []} for name, _ in makers]
    else:
        chosen = makers if options.only is None else [makers[options.only]]
        rows = [train(make, name) for name, make in chosen]
        print(rows, flush=True)
    options.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
