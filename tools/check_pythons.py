# SPDX-License-Identifier: MIT
"""Builds a wheel for each CPython and runs the Python tests on it.

    python tools/check_pythons.py [--quick] [interpreter ...]

Without arguments: each python3.10 to python3.14 of PATH that has its headers. The
library is compiled once, the extension for each. A wheel is installed in an
environment that has nothing else but NumPy and pytest; tests that need more are
skipped there. Run it with the environment that builds: .venv.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "pythons"
MINORS = range(10, 15)

# Prints "3.12 cpython312", with "t" at the end of the second without a GIL, if
# extensions can be compiled for this interpreter.
PROBE = """
import sys, sysconfig, venv
from pathlib import Path
assert sys.implementation.name == "cpython" and sys.version_info >= (3, 10)
assert (Path(sysconfig.get_paths()["include"]) / "Python.h").exists()
print(sys.version.split()[0], sys.implementation.cache_tag
      + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))
"""


@dataclass
class Interpreter:
    path: str
    version: str
    tag: str

    @property
    def folder(self) -> Path:
        return FOLDER / self.tag


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    subprocess.run([str(word) for word in command], check=True, cwd=cwd)


def probe(path: str) -> Interpreter | None:
    """None for what does not run, or has no headers."""
    answer = subprocess.run(
        [path, "-c", PROBE], check=False, capture_output=True, text=True
    )
    if answer.returncode != 0:
        return None
    version, tag = answer.stdout.split()
    return Interpreter(path, version, tag)


def found(paths: list[str]) -> list[Interpreter]:
    """Those that were asked for, which must all do; else those of PATH, which may."""
    names = paths or [
        path for minor in MINORS if (path := shutil.which(f"python3.{minor}"))
    ]
    interpreters: dict[str, Interpreter] = {}
    for name in names:
        interpreter = probe(name)
        if interpreter:
            interpreters.setdefault(interpreter.tag, interpreter)
        elif paths:
            sys.exit(f"{name}: is no CPython of 3.10 or newer with its headers")
        else:
            print(f"{name}: does not run, or lacks headers or venv: left out")
    return [*interpreters.values()]


def environment(interpreter: Interpreter, name: str, *packages: str | Path) -> Path:
    """The interpreter of a new or known environment that has `packages`."""
    folder = interpreter.folder / name
    python = folder / "bin" / "python"
    if not python.exists():
        run(interpreter.path, "-m", "venv", "--without-pip", folder)
    run(*pip_of(python), "install", "--quiet", "--no-compile", *packages)
    return python


def pip_of(python: Path) -> list[str | Path]:
    return [sys.executable, "-m", "pip", "--python", python]


def find_in_package(package: str, end: str) -> Path:
    """A file of a package in the environment that builds, as CMake finds it."""
    script = str(ROOT / "cmake" / "find_in_package.py")
    done = subprocess.run(
        [sys.executable, script, package, end],
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(done.stdout.strip())


def build(interpreter: Interpreter, is_quick: bool) -> Path:
    """The wheel. All build in one folder, with the same headers, so that only
    the extension is compiled again."""
    lines = (ROOT / "tools" / "requirements.txt").read_text().splitlines()
    needed = ("pybind11", "scikit-build-core")
    python = environment(
        interpreter, "build", *(line for line in lines if line.startswith(needed))
    )
    wheels = interpreter.folder / "wheel"
    shutil.rmtree(wheels, ignore_errors=True)
    config = find_in_package("onednn-devel-cpu-gomp", "dnnl-config.cmake")
    json_header = find_in_package("nlohmann-json", "nlohmann/json.hpp")
    defines = {
        "dnnl_DIR": config.parent,
        "NLOHMANN_JSON_INCLUDE_DIR": json_header.parent.parent,
        "TRAINGRAPH_QUICK_BUILD": "ON" if is_quick else "OFF",
    }
    run(
        *pip_of(python),
        *("wheel", ROOT, "--quiet", "--no-deps", "--no-build-isolation"),
        *("--wheel-dir", wheels, "-C", f"build-dir={FOLDER / 'shared'}"),
        *(f"-Ccmake.define.{name}={value}" for name, value in defines.items()),
    )
    return next(wheels.glob("*.whl"))


def test(interpreter: Interpreter, wheel: Path) -> bool:
    shutil.rmtree(interpreter.folder / "bare", ignore_errors=True)
    python = environment(interpreter, "bare", wheel, "pytest>=8")
    # From another folder, so that only the installed package can be imported.
    cache = interpreter.folder / ".cache"
    command = [
        *(str(python), "-m", "pytest", "-c", str(ROOT / "pyproject.toml")),
        *("-q", "-o", f"cache_dir={cache}", str(ROOT / "tests" / "python")),
    ]
    done = subprocess.run(command, check=False, cwd=interpreter.folder)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("interpreters", nargs="*")
    parser.add_argument(
        "--quick", action="store_true", help="optimise less, for this machine alone"
    )
    arguments = parser.parse_args()
    os.environ["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    interpreters = found(arguments.interpreters)
    if not interpreters:
        sys.exit("No interpreter was found: name some.")
    results = {}
    for interpreter in interpreters:
        print(f"CPython {interpreter.version}: {interpreter.path}", flush=True)
        wheel = build(interpreter, arguments.quick)
        print(wheel.name, flush=True)
        results[interpreter.version] = test(interpreter, wheel)
    for version, passed in results.items():
        print(f"CPython {version}: {'passed' if passed else 'FAILED'}")
    return 0 if all(results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
