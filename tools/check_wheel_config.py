# SPDX-License-Identifier: MIT
"""Checks that cibuildwheel would build what pyproject.toml asks it to.

A selector that matches nothing (`cp314-*` where cibuildwheel knows no 3.14) is no
error to it. So this asks the version that tools/requirements-release.txt names,
which .github/workflows/wheels.yml installs, what it would build.
"""

from __future__ import annotations

import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def builds(platform: str, machine: str) -> set[str]:
    command = ["cibuildwheel", "--print-build-identifiers", "--platform", platform]
    done = subprocess.run(
        [sys.executable, "-m", *command, "--archs", machine, str(ROOT)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return set(done.stdout.split())


def setting(name: str) -> list[str]:
    """The words of a setting; tomllib is only in Python 3.11 and later."""
    section = text("pyproject.toml").split("[tool.cibuildwheel]")[1].split("\n[")[0]
    match = re.search(rf'^{name} = "([^"]*)"$', section, re.MULTILINE)
    return match[1].split() if match else []


def main() -> int:
    problems = []
    selectors = setting("build")
    for platform, machine, tag in (
        ("linux", "x86_64", "manylinux_x86_64"),
        ("linux", "aarch64", "manylinux_aarch64"),
        ("macos", "arm64", "macosx_arm64"),
    ):
        expected = {s.removesuffix("*") + tag for s in selectors}
        found = builds(platform, machine)
        if found != expected:
            problems.append(
                f"{platform}: cibuildwheel builds {sorted(found)}, "
                f"pyproject.toml asks for {sorted(expected)}"
            )
    oldest = re.search(r'requires-python = ">=3\.(\d+)"', text("pyproject.toml"))
    if not oldest or not fnmatch(f"cp3{oldest[1]}-", selectors[0]):
        problems.append(
            "the first wheel is not for the oldest Python that is supported"
        )
    workflow = text(".github/workflows/wheels.yml")
    if "-r tools/requirements-release.txt" not in workflow:
        problems.append("wheels.yml does not install tools/requirements-release.txt")
    for problem in problems:
        print(problem)
    if not problems:
        print(f"cibuildwheel builds {len(selectors)} wheels for each platform")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
