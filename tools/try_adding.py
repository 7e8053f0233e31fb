#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds the examples of docs/adding-an-op.md to a copy of the tree, and builds it.

Blocks of the page whose first line says "new: <file>" become that file; those that say
"add: <file>" are put behind the lines with which they begin, which must be in the file
once. They are an op, an activation and an optimizer, each under a heading of its own.
Then the new cases run on the CPU and, where it was built, on Metal's emulator, and so
do the examples of their documentation. Arguments that it does not know go to CMake.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "adding-an-op.md"
BLOCK = re.compile(r"^```\w+ (new|add): (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^## (.*)$", re.MULTILINE)
SUITES = ("ops", "compiler")
CASES = "*roll*:*quared*:*dagrad*"
IN_PYTHON = """
import traingraph as tg
x = tg.Tensor((2, 3), name="x")
assert tg.Graph().ops.roll(x, shift=1).shape == (2, 3)
assert tg.Graph().ops.activation(x, type="squared_relu").shape == (2, 3)
assert tg.optimizers.Adagrad(0.1).slots == ["sum_of_squares"]
"""


def copy_tree(to: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)


def add_behind(text: str, block: str, name: str) -> str:
    """What is in the file already is the anchor: as many lines as are there."""
    lines = block.splitlines(keepends=True)
    anchor = ""
    for count in range(1, len(lines)):
        if text.count("".join(lines[:count])) == 0:
            break
        anchor = "".join(lines[:count])
    if text.count(anchor) != 1 or not anchor:
        sys.exit(f"{PAGE.name}: {name} has no line to add behind:\n{lines[0]}")
    return text.replace(anchor, block)


def sections() -> list[tuple[str, str]]:
    """Those of the page that have blocks: heading and text."""
    parts = HEADING.split(PAGE.read_text(encoding="utf-8"))
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    return [(heading, text) for heading, text in pairs if BLOCK.search(text)]


def apply_section(tree: Path, section: str) -> set[str]:
    changed = set()
    for kind, name, block in BLOCK.findall(section):
        file = tree / name
        if kind == "new":
            file.write_text(block, encoding="utf-8")
        else:
            text = file.read_text(encoding="utf-8")
            file.write_text(add_behind(text, block, name), encoding="utf-8")
        changed.add(name)
    return changed


def count(heading: str, changed: set[str]) -> str:
    tests = {name for name in changed if name.startswith("tests/")}
    lines = (f"  {name}" for name in sorted(changed))
    sizes = f"{len(changed - tests)} files and {len(tests)} of tests"
    return "\n".join((f"{heading}: {sizes}", *lines))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "adding")
    args, more = parser.parse_known_args()  # more for CMake
    tree: Path = args.folder.resolve() / "tree"
    build = tree.parent / "build"
    shutil.rmtree(tree, ignore_errors=True)
    copy_tree(tree)
    counts = [count(name, apply_section(tree, text)) for name, text in sections()]

    def run(*command: str, **environment: str) -> None:
        print("+", *command, flush=True)
        subprocess.run(command, cwd=tree, check=True, env={**os.environ, **environment})

    run(sys.executable, "tools/check_sources.py", "--fix")
    run(
        "cmake", "--preset", "dev", "-B", str(build), "-DTRAINGRAPH_BUILD_PYTHON=ON",
        "-DTRAINGRAPH_COMPILE_TOGETHER=ON", f"-DPython_EXECUTABLE={sys.executable}",
        *more,
    )  # fmt: skip
    targets = [f"{suite}_test" for suite in SUITES]
    run("cmake", "--build", str(build), "--target", "_core", *targets)
    has_emulator = "METAL_EMULATOR:BOOL=ON" in (build / "CMakeCache.txt").read_text()
    for suite in SUITES:
        test = str(build / "tests" / f"{suite}_test")
        run(test, "--gtest_brief=1", TRAINGRAPH_TEST_DEVICE="cpu")
    if has_emulator:
        test = str(build / "tests" / "ops_test")
        run(test, f"--gtest_filter={CASES}", TRAINGRAPH_TEST_DEVICE="gpu")
    package = tree / "python"
    for core in (build / "python").glob("_core*"):
        (package / "traingraph" / core.name).symlink_to(core)
    run(sys.executable, "tools/gen_stubs.py", PYTHONPATH=str(package))
    run(sys.executable, "-c", IN_PYTHON, PYTHONPATH=str(package))
    tests = ["tests/python/test_op_docs.py", "tests/python/test_op_defaults.py"]
    run(sys.executable, "-m", "pytest", "-q", *tests, PYTHONPATH=str(package))
    print(*counts, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
