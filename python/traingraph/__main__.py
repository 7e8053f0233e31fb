# SPDX-License-Identifier: MIT
"""``python -m traingraph``: where the package keeps its CMake files."""

from __future__ import annotations

import argparse
from pathlib import Path

from . import __version__


def cmake_dir() -> Path:
    """The directory of traingraphConfig.cmake, for ``traingraph_DIR``."""
    return Path(__file__).resolve().parent / "lib" / "cmake" / "traingraph"


def main() -> None:
    """Prints what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m traingraph")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(
        "--cmake-dir",
        action="store_true",
        help="print the directory to give to CMake as traingraph_DIR",
    )
    arguments = parser.parse_args()
    if arguments.cmake_dir:
        print(cmake_dir())
    else:
        parser.print_help()


if __name__ == "__main__":
    main()
