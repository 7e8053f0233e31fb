# SPDX-License-Identifier: MIT
"""What it costs to begin: importing a system (beyond NumPy), and the first step
of `resnet-cifar` from there, compilation included. Medians of fresh processes.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import zipfile
from pathlib import Path

IMPORT = "import time, numpy; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"
FIRST_STEP = """
import importlib, time
from workloads import WORKLOADS
steps = importlib.import_module("systems.with_{0}").steps
start = time.perf_counter()
step = steps(WORKLOADS["resnet-cifar"], "", "float32")
compiled = time.perf_counter()
step()
print(compiled - start, time.perf_counter() - start)
"""
SYSTEMS = {
    "traingraph": "traingraph",
    "torch": "torch",
    "jax": "jax",
    "onnxruntime": "onnxruntime.training.api",
}


def run(code: str) -> list[float] | None:
    """The numbers that a fresh process prints; None when it fails."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        return None
    return [float(word) for word in done.stdout.split()]


def medians(code: str, rounds: int) -> list[float] | None:
    runs = [run(code) for _ in range(rounds)]
    if None in runs:
        return None
    return [statistics.median(column) * 1e3 for column in zip(*runs, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--wheel", type=Path, help="also print its size")
    arguments = parser.parse_args()
    print(f"{'system':<14}{'import ms':>10}{'build ms':>10}{'first step ms':>15}")
    for system, module in SYSTEMS.items():
        imported = medians(IMPORT.format(module), arguments.rounds)
        if imported is None:
            print(f"{system:<14}{'not installed':>20}")
            continue
        first = medians(FIRST_STEP.format(system), arguments.rounds)
        times = first or [float("nan")] * 2
        print(f"{system:<14}{imported[0]:>10.0f}{times[0]:>10.0f}{times[1]:>15.0f}")
    print("build: graph and parameters, and compile() where there is one;")
    print("first step: from the same start to the first loss")
    if arguments.wheel:
        size = arguments.wheel.stat().st_size / 1e6
        with zipfile.ZipFile(arguments.wheel) as wheel:
            installed = sum(entry.file_size for entry in wheel.infolist()) / 1e6
        print(f"wheel: {size:.1f} MB, {installed:.1f} MB installed")


if __name__ == "__main__":
    main()
