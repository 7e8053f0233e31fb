# SPDX-License-Identifier: MIT
"""Moves the library to another folder and builds with it where it is then.

    check_relocation.py WHEEL          as the wheel unpacks
    check_relocation.py BUILD_FOLDER   as CMake installs it

Also that no file of a wheel names a folder of the machine that built it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CONSUMER = ROOT / "tests" / "package"


def run(*command: str | Path) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stdout}")
    return done.stdout


def build_and_run(build: Path, where: str) -> str:
    """What the consumer prints, built with the library that `where` tells of."""
    run("cmake", "-S", CONSUMER, "-B", build, "-G", "Ninja", where)
    run("cmake", "--build", build)
    libraries = run("ldd", build / "consumer")
    return libraries + run(build / "consumer")


def build_paths() -> list[bytes]:
    """Folders of this machine that no file should name."""
    folders = {ROOT, Path.home(), Path(sys.prefix), Path(tempfile.gettempdir())}
    return [
        os.fsencode(f) + b"/" for f in folders if f not in (Path("/"), Path("/usr"))
    ]


def names_of_this_machine(folder: Path) -> list[str]:
    paths = build_paths()
    found = []
    for file in filter(Path.is_file, folder.rglob("*")):
        data = file.read_bytes()
        # oneDNN's own: where it writes maps for perf, when asked.
        data = data.replace(b"/tmp/perf-%d.map", b"")
        found += [
            f"{file.relative_to(folder)}: {p.decode()}" for p in paths if p in data
        ]
    return found


def moved_wheel(wheel: Path, folder: Path) -> Path:
    first, then = folder / "unpacked", folder / "moved here"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(first)
    first.rename(then)
    return then


def moved_install(build: Path, folder: Path) -> Path:
    first, then = folder / "prefix", folder / "another" / "place"
    run("cmake", "--install", build, "--prefix", first, "--strip")
    then.parent.mkdir()
    shutil.move(first, then)
    return then


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    source = parser.parse_args().source
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        if source.is_dir():
            place = moved_install(source, folder)
            where = f"-DCMAKE_PREFIX_PATH={place}"
        else:
            place = moved_wheel(source, folder)
            cmake = place / "traingraph" / "lib" / "cmake" / "traingraph"
            where = f"-Dtraingraph_DIR={cmake}"
            for problem in names_of_this_machine(place):
                print(f"{source.name} names a folder: {problem}", file=sys.stderr)
                failed = True
        output = build_and_run(folder / "build", where)
        used = [s for s in output.splitlines() if "libtraingraph" in s]
        if not used or any(str(place) not in line for line in used):
            print(f"not from {place}:\n{output}", file=sys.stderr)
            failed = True
    if not failed:
        print(f"{source.name}: moved, a program builds and runs with it")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
