# SPDX-License-Identifier: MIT
"""Runs what README.md shows, with the installed package.

The Python blocks run one after the other in one module; the CMake and C++
blocks become a project that is built and run.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from traingraph.__main__ import cmake_dir

README = Path(__file__).resolve().parent.parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, README.read_text(), re.MULTILINE | re.DOTALL)


def run(*command: str, folder: Path | None = None) -> str:
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder
    ).stdout


def main() -> int:
    python = "\n".join(blocks("python"))
    (cmake,) = blocks("cmake")
    (program,) = blocks("cpp")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "readme.py").write_text(python)
        lines = run(sys.executable, "readme.py", folder=folder).splitlines()
        if lines[-1] != "(5, 10)":
            print(f"README.md's Python ends with {lines[-1]!r}")
            return 1
        (folder / "CMakeLists.txt").write_text(cmake)
        (folder / "hello.cpp").write_text(program)
        build = folder / "build"
        run("cmake", "-S", name, "-B", str(build), f"-Dtraingraph_DIR={cmake_dir()}")
        run("cmake", "--build", str(build))
        losses = [float(line) for line in run(str(build / "hello")).split()]
        if losses[-1] > 1e-3 * losses[0]:
            print(f"README.md's C++ program does not learn: {losses}")
            return 1
    print("README.md: what it shows runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
