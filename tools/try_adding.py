#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds the family of docs/adding-an-op.md to a copy of the tree, and builds it.

Blocks of the page whose first line says "new: <file>" become that file; those that say
"add: <file>" are put behind the lines with which they begin, which must be in the file
once. Then the new cases run on the CPU and, where it was built, on Metal's emulator,
and so does the example of its documentation. Arguments that it does not know go to
CMake.
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
OP = "roll"
SUITES = ("ops", "compiler")


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


def apply_page(tree: Path) -> list[str]:
    changed = []
    for kind, name, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        file = tree / name
        if kind == "new":
            file.write_text(block, encoding="utf-8")
        else:
            text = file.read_text(encoding="utf-8")
            file.write_text(add_behind(text, block, name), encoding="utf-8")
        changed.append(name)
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "adding")
    args, more = parser.parse_known_args()  # more for CMake
    tree: Path = args.folder.resolve() / "tree"
    build = tree.parent / "build"
    shutil.rmtree(tree, ignore_errors=True)
    copy_tree(tree)
    changed = apply_page(tree)

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
        run(test, "--gtest_filter=*roll*", TRAINGRAPH_TEST_DEVICE="gpu")
    package = tree / "python"
    for core in (build / "python").glob("_core*"):
        (package / "traingraph" / core.name).symlink_to(core)
    run(sys.executable, "tools/gen_stubs.py", PYTHONPATH=str(package))
    check = f"import traingraph as tg; assert callable(tg.Graph().ops.{OP})"
    run(sys.executable, "-c", check, PYTHONPATH=str(package))
    tests = ["tests/python/test_op_docs.py", "tests/python/test_op_defaults.py"]
    run(sys.executable, "-m", "pytest", "-q", *tests, PYTHONPATH=str(package))
    print(f"{len(set(changed))} files:", *sorted(set(changed)), sep="\n  ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
