# SPDX-License-Identifier: MIT
"""Prints the folder that nlohmann/json.hpp is included from, as on PyPI."""

import importlib.metadata
import os
import sys


def main() -> int:
    try:
        files = importlib.metadata.files("nlohmann-json") or []
    except importlib.metadata.PackageNotFoundError:
        return 1
    for file in files:
        if file.parts[-2:] == ("nlohmann", "json.hpp"):
            # Not resolved further: pip's environments may be symbolic links.
            header = os.path.normpath(file.locate())
            print(os.path.dirname(os.path.dirname(header)))
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
