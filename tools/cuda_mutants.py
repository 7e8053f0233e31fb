#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which mistakes in CUDA kernels would the tests on the emulated card see?

usage: cuda_mutants.py BUILD [HEADER ...] [--edges N]

Removes each barrier() of src/cuda/kernels (or of these headers), makes each check of
bounds, `if (i < n)`, always true, and leaves out each of the first N edges of all
graphs, one at a time. Nothing is built again: the emulated NVRTC reads other text.
For each it says which test fails, or that the mutant survives.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "src" / "cuda" / "kernels"
BARRIER = re.compile(r"^\s*barrier\(\);")
BOUND = re.compile(r"\bif \([^()]* < [^()]*\)")
# Tests of ops whose kernels are in a header; of others, all cases.
CASES = {
    "copy": "slice* transpose concatenate* split*",
    "map": "unary* binary* activation*",
    "product": "matmul*",
    "reduce": "reduce*",
    "scan": "cumulative*",
    "softmax": "softmax*",
    "sort": "scatter* embedding*",
    "team": "softmax* reduce*",
}
MAX_SECONDS = 1200


def test_filter(header: str) -> str:
    names = CASES.get(header, "*").split()
    return ":".join(f"All/Op*.*/{name}" for name in names)


def mutants(header: Path) -> Iterator[tuple[str, str, str]]:
    """What it is, where, and the line as it is then."""
    name = header.relative_to(ROOT / "src").as_posix()
    for number, line in enumerate(header.read_text().splitlines(), start=1):
        if BARRIER.match(line):
            yield "barrier", f"{name}:{number}", BARRIER.sub("", line)
        elif BOUND.search(line):
            yield "bound", f"{name}:{number}", BOUND.sub("if (true)", line)


def run(build: Path, filter_: str, variables: dict[str, str]) -> str:
    """The first test that fails; empty: none does."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "2",
            "TRAINGRAPH_TEST_DEVICE": "cuda",
            "TRAINGRAPH_CUDA_PATH": str(build / "cuda_emulator"),
            "XDG_CACHE_HOME": cache,
            **variables,
        }
        try:
            result = subprocess.run(
                [
                    build / "tests" / "ops_test",
                    f"--gtest_filter={filter_}",
                    "--gtest_fail_fast",
                ],
                check=False,
                cwd=cache,
                env=environment,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=MAX_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return "it does not end"
    if result.returncode == 0:
        return ""
    failed: list[str] = re.findall(r"\[  FAILED  \] ([\w/.]+)", result.stdout)
    begun: list[str] = re.findall(r"\[ RUN      \] (\S+)", result.stdout)
    return (failed or begun or [f"exit status {result.returncode}"])[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("headers", nargs="*", help="stems: reduce, copy")
    parser.add_argument("--edges", type=int, default=0)
    options = parser.parse_args()
    build = options.build.resolve()
    headers = [
        header
        for header in sorted(KERNELS.glob("*.cuh"))
        if header.stem in options.headers or not options.headers
    ]
    num_survivors = 0
    for header in headers:
        for kind, place, line in mutants(header):
            seen_by = run(
                build,
                test_filter(header.stem),
                {"TRAINGRAPH_CUDA_EMULATOR_MUTANT": f"{place}={line}"},
            )
            num_survivors += not seen_by
            print(f"{kind} {place}: {seen_by or 'SURVIVES'}", flush=True)
    for edge in range(options.edges):
        seen_by = run(
            build,
            test_filter(""),
            {"TRAINGRAPH_CUDA_EMULATOR_WITHOUT_EDGE": str(edge)},
        )
        num_survivors += not seen_by
        print(f"edge {edge}: {seen_by or 'SURVIVES'}", flush=True)
    print(f"{num_survivors} survive")
    return 0


if __name__ == "__main__":
    sys.exit(main())
