#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails when a file grows past its budget: 400 lines, 200 for public headers. The text
of docstrings, R"pbdoc(...)pbdoc", does not count.

A file that holds one idea rarely needs more; one that does is listed here with its
reason, rather than split.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    "benchmarks", "cmake", "examples", "include", "metal", "python", "src",
    "tests", "tools",
)  # fmt: skip
SUFFIXES = {".cpp", ".h", ".inc", ".mm", ".py", ".pyi"}
MAX_LINES = 400
MAX_PUBLIC_HEADER_LINES = 200

# path: why it may be longer
EXCEPTIONS: dict[str, str] = {
    "include/traingraph/nodes/filters.h": "one short class for each filter node",
    "include/traingraph/op_attrs.h": "one struct for each op, and the list of them",
    "include/traingraph/tensor.h": "one class, the handle of all data",
    "include/traingraph/training_graph.h": "one class, the centre of the interface",
    "python/traingraph/_core.pyi": "generated",
    "tests/cpp/ops/error_cases.cpp": "one table of wrong shapes and attributes",
}


def budget(path: str) -> int:
    is_public = path.startswith("include/") and path.endswith(".h")
    return MAX_PUBLIC_HEADER_LINES if is_public else MAX_LINES


DOCSTRING = re.compile(r'R"pbdoc\(.*?\)pbdoc"', re.DOTALL)


def main() -> int:
    problems = []
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*")):
            path = file.relative_to(ROOT).as_posix()
            if file.suffix not in SUFFIXES or path in EXCEPTIONS:
                continue
            text = DOCSTRING.sub("", file.read_text(encoding="utf-8"))
            num_lines = len(text.splitlines())
            if num_lines > budget(path):
                problems.append(f"{path}: {num_lines} lines, {budget(path)} allowed")
    problems += [
        f"{path}: listed as an exception but missing"
        for path in EXCEPTIONS
        if not (ROOT / path).exists() and EXCEPTIONS[path] != "generated"
    ]
    print("\n".join(problems) or "file sizes: fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
