# SPDX-License-Identifier: MIT
"""Lines of the programs of this folder, and what they reach, as docs/compared.md has it.

A line counts when it has code: blank lines, comments and docstrings do not, an import
statement is one line, and what the programs share, `<program>_data.py`, is left out.
`--run` runs them, too, and prints what they print.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import runpy
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
PROGRAMS = {
    "images": "Convolutional network, digits",
    "tabular": "Classification of a table",
    "characters": "LSTM, next character",
    "vae": "Variational autoencoder, digits",
    "gan": "GAN, digits",
    "reader": "CTC, lines of digits",
    "pole": "Policy gradient, cart and pole",
    "finetune": "Fine-tuning, parameter groups",
}
FRAMEWORKS = {"traingraph": "traingraph", "pytorch": "PyTorch", "keras": "Keras"}


def lines_of_code(path: Path) -> int:
    """Of a file."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines.add(node.lineno)
        elif isinstance(node, ast.stmt) and not _is_string(node):
            # What stands inside counts by its own lines; here also brackets' ones.
            inside = getattr(node, "body", None)
            end = inside[0].lineno - 1 if inside else node.end_lineno or 0
            lines.update(range(node.lineno, end + 1))
    source = path.read_text().splitlines()
    return sum(
        1
        for line in lines
        if source[line - 1].strip() and not _is_comment(line, source)
    )


def _is_string(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_comment(line: int, source: list[str]) -> bool:
    return source[line - 1].lstrip().startswith("#")


def figure_of(path: Path) -> float:
    """What a program prints last, run in this process."""
    sys.path.insert(0, str(path.parent))
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.path.remove(str(path.parent))
    return float(printed.getvalue().split()[-1])


def table(cells: dict[str, dict[str, str]]) -> str:
    """Markdown: a row for each program, a column for each framework."""
    head = f"| Program | {' | '.join(FRAMEWORKS.values())} |\n|---|" + "---:|" * 3
    rows = [
        f"| {title} | {' | '.join(cells[name][each] for each in FRAMEWORKS)} |"
        for name, title in PROGRAMS.items()
    ]
    return "\n".join([head, *rows])


def path_of(program: str, framework: str) -> Path:
    return FOLDER / f"{program}_{framework}.py"


def count() -> dict[str, dict[str, str]]:
    return {
        name: {each: str(lines_of_code(path_of(name, each))) for each in FRAMEWORKS}
        for name in PROGRAMS
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", action="store_true", help="also what they reach")
    options = parser.parse_args()
    print(table(count()))
    if options.run:
        os.environ.setdefault("KERAS_BACKEND", "torch")
        figures = {
            name: {each: f"{figure_of(path_of(name, each)):.3f}" for each in FRAMEWORKS}
            for name in PROGRAMS
        }
        print(f"\n{table(figures)}")


if __name__ == "__main__":
    main()
