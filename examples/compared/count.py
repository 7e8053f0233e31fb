# SPDX-License-Identifier: MIT
"""Prints the lines of this folder's programs, and what they reach.

A line counts when it has code: blank lines, comments and docstrings do not, an import
statement is one line, and `<program>_data.py`, which the three share, is left out.
`--run` runs them, too.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
FRAMEWORKS = {"traingraph": "traingraph", "pytorch": "PyTorch", "keras": "Keras"}


class Program(NamedTuple):
    """What is trained, what is printed, and how much that may differ."""

    title: str
    figure: str
    tolerance: float


PROGRAMS = {
    "images": Program("Convolutional network", "accuracy", 0.03),
    "tabular": Program("Table", "accuracy", 0.03),
    "characters": Program("LSTM language model", "nats per character", 0.2),
    "vae": Program("Variational autoencoder", "loss", 0.5),
    "gan": Program("GAN", "energy distance", 0.1),
    "reader": Program("CTC reader", "lines without a mistake", 0.1),
    "pole": Program("Policy gradient", "steps of 100", 10),
    "finetune": Program("New head", "accuracy", 0.06),
}


def path_of(program: str, framework: str) -> Path:
    return FOLDER / f"{program}_{framework}.py"


def lines_of_code(path: Path) -> int:
    """Of a file."""
    text = path.read_text()
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        last = getattr(node, "end_lineno", 0)
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out.update(range(node.lineno + 1, last + 1))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left_out.update(range(node.lineno, last + 1))  # a docstring
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#")
        for number, line in enumerate(text.splitlines(), 1)
        if number not in left_out
    )


def figure_of(path: Path) -> float:
    """What a program prints. It runs in a process of its own, for PyTorch and others
    do not always share one, with one thread: the networks are small."""
    one = {"KERAS_BACKEND": "torch", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(path)],
        env={**os.environ, **one},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{path.name}: {done.stderr[-2000:]}")
    return float(re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", done.stdout)[-1])


def table_of_lines() -> str:
    """Markdown: a row for each program and one for all, a column for each framework."""
    lines = {
        each.title: [lines_of_code(path_of(name, key)) for key in FRAMEWORKS]
        for name, each in PROGRAMS.items()
    }
    lines["All"] = [sum(column) for column in zip(*lines.values(), strict=True)]
    return _table("Lines of code", lines)


def table_of_figures() -> str:
    """Markdown, of a run of each program."""
    figures = {
        f"{each.title}: {each.figure} ± {each.tolerance:g}": [
            round(figure_of(path_of(name, key)), 3) for key in FRAMEWORKS
        ]
        for name, each in PROGRAMS.items()
    }
    return _table("Reached", figures)


def _table(title: str, rows: dict[str, list[int]] | dict[str, list[float]]) -> str:
    lines = [f"| {title} | {' | '.join(FRAMEWORKS.values())} |", "|---|---:|---:|---:|"]
    lines += [f"| {key} | {' | '.join(map(str, row))} |" for key, row in rows.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run", action="store_true", help="what they reach, too")
    options = parser.parse_args()
    print(table_of_lines())
    if options.run:
        print(f"\n{table_of_figures()}")


if __name__ == "__main__":
    main()
