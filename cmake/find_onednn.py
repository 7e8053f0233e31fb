# SPDX-License-Identifier: MIT
"""Prints the folder of oneDNN's CMake config, as installed from PyPI."""

import importlib.metadata
import os
import sys


def main() -> int:
    try:
        files = importlib.metadata.files("onednn-devel-cpu-gomp") or []
    except importlib.metadata.PackageNotFoundError:
        return 1
    for file in files:
        if file.name == "dnnl-config.cmake":
            # Not resolved further: pip's environments may be symbolic links.
            print(os.path.dirname(os.path.normpath(file.locate())))
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
