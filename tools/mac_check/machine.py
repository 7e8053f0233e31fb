# SPDX-License-Identifier: MIT
"""What the machine is, and what it lacks for building."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

OLDEST_MACOS = (13, 3)
OLDEST_CLANG = 15


def output_of(*command: str) -> str:
    """Of a command that may not exist or may fail: then nothing."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def is_mac() -> bool:
    return platform.system() == "Darwin"


def describe() -> dict[str, str]:
    found = {
        "system": platform.platform(),
        "python": platform.python_version(),
        "compiler": (output_of("clang", "--version").splitlines() or [""])[0],
    }
    if is_mac():
        found["system"] = "macOS " + output_of("sw_vers", "-productVersion")
        found["chip"] = output_of("sysctl", "-n", "machdep.cpu.brand_string")
        found["model"] = output_of("sysctl", "-n", "hw.model")
        found["memory"] = output_of("sysctl", "-n", "hw.memsize")
        found["sdk"] = output_of("xcrun", "--show-sdk-version")
        # Not needed; its libraries may be found in place of others.
        found["homebrew"] = output_of("brew", "--prefix")
    return found


def version(text: str) -> tuple[int, ...]:
    found = re.search(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in found[0].split(".")) if found else ()


def complaints(system: str, compiler: str) -> list[str]:
    """What is in the way of building, each with what to do."""
    found = []
    if version(system) < OLDEST_MACOS:
        found.append(f"{system} is older than 13.3: update macOS")
    if not compiler:
        found.append(
            "clang does not run: install Xcode 15 or newer, and accept its license "
            "(sudo xcodebuild -license accept)"
        )
    elif version(compiler) < (OLDEST_CLANG,):
        found.append(f"{compiler} is older than Xcode 15: update Xcode")
    return found
