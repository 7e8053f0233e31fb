# SPDX-License-Identifier: MIT
"""``python -m traingraph``: what to send with a question, and where the package
keeps its CMake files."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from pathlib import Path

import numpy as np

from . import Device, __version__, num_threads
from .errors import DeviceError
from .mlcompute import DeviceType

ENVIRONMENT = ("OMP_", "ONEDNN_", "DNNL_", "TRAINGRAPH_", "KMP_", "GOMP_")


def cmake_dir() -> Path:
    """The directory of traingraphConfig.cmake, for ``traingraph_DIR``."""
    return Path(__file__).resolve().parent / "lib" / "cmake" / "traingraph"


def processors() -> str:
    """Counts the processors of the machine, and those that this process may use."""
    total = os.cpu_count() or 1
    usable = total
    if hasattr(os, "sched_getaffinity"):
        usable = len(os.sched_getaffinity(0))
    return f"{total}" if usable == total else f"{usable} of {total}"


def device_line(device_type: DeviceType) -> str:
    """The device, or why there is none."""
    try:
        reason = Device.reason_unavailable(device_type)
        return f"not available: {reason}" if reason else Device(device_type).name
    except DeviceError as error:
        return f"not available: {error}"


def report() -> str:
    """Everything that a problem may depend on, a line each."""
    lines = {
        "traingraph": f"{__version__} in {Path(__file__).resolve().parent}",
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "NumPy": np.__version__,
        "platform": f"{platform.platform()} {platform.machine()}",
        "processors": processors(),
        "threads": str(num_threads()),
    }
    for name in ("cpu", "gpu", "ane"):
        lines[name] = device_line(DeviceType[name])
    for name in sorted(os.environ):
        if name.startswith(ENVIRONMENT):
            lines[name] = os.environ[name]
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        lines["GIL"] = "off"
    width = max(map(len, lines))
    return "\n".join(f"{name:{width}}  {value}" for name, value in lines.items())


def main() -> None:
    """Prints what the arguments ask for; without any, the report."""
    parser = argparse.ArgumentParser(
        prog="python -m traingraph",
        description="Prints versions, devices and threads, for questions and reports.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(
        "--cmake-dir",
        action="store_true",
        help="print the directory to give to CMake as traingraph_DIR",
    )
    arguments = parser.parse_args()
    print(cmake_dir() if arguments.cmake_dir else report())


if __name__ == "__main__":
    main()
