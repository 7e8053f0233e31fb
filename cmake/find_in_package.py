# SPDX-License-Identifier: MIT
"""Prints where a package from PyPI has a file: find_in_package.py PACKAGE END
[FOLDER], for the path that ends so, in this environment or a folder of packages.

A package unpacks under the prefix of its environment (a venv, or pip's build
environment), so its own list of files tells where."""

import importlib.metadata
import os
import sys


def main(package: str, end: str, *folder: str) -> int:
    path = list(folder) or sys.path
    found = next(importlib.metadata.distributions(name=package, path=path), None)
    for file in (found and found.files) or []:
        if f"/{file.as_posix()}".endswith(f"/{end}"):
            # Not resolved further: pip's environments may be symbolic links.
            print(os.path.normpath(file.locate()))
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
