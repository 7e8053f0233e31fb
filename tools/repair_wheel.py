# SPDX-License-Identifier: MIT
"""Makes a wheel for every Linux with a C library that is new enough.

    repair_wheel.py WHEEL FOLDER

auditwheel finds the lowest manylinux tag that what the wheel asks of the system
allows, and names the wheel so. Our libraries are in the wheel already and find
each other by themselves: this checks that none was copied, renamed or told to look
elsewhere, and prints the sizes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

#: Debian 12's g++ reaches this; what raises it is in docs/packaging.md.
LOWEST = {"2.36": "manylinux_2_34"}
#: By the end of the name: where a library looks for others.
RUN_PATHS = {
    "_core": "$ORIGIN/lib",
    "libtraingraph.so": "$ORIGIN",
    "libtraingraph_onednn.so": "$ORIGIN",
    "libtraingraph_thread_pool.so": "",
}
#: PyPI's own, with the engine cblas: it needs nothing but the system.
FOREIGN = "libscipy_openblas.so"


def repair(wheel: Path, folder: Path) -> Path:
    """The repaired wheel in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "auditwheel", "repair", "-w", name]
        done = subprocess.run(
            [*command, str(wheel)], check=False, capture_output=True, text=True
        )
        if done.returncode:
            raise SystemExit(f"auditwheel repair {wheel.name}:\n{done.stderr}")
        (repaired,) = Path(name).glob("*.whl")
        target = folder / repaired.name
        target.write_bytes(repaired.read_bytes())
    return target


def libraries(names: list[str]) -> list[str]:
    return [n for n in names if n.endswith(".so") or ".so." in n]


def patchelf(library: Path, option: str) -> str:
    command = ["patchelf", option, str(library)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip()


def problems(before: Path, after: Path, libc: str) -> list[str]:
    """What the repair should not have done, or did not reach."""
    with zipfile.ZipFile(before) as old, zipfile.ZipFile(after) as new:
        expected, names = libraries(old.namelist()), libraries(new.namelist())
        if sorted(expected) != sorted(names):
            return [f"the libraries were {expected} and are {names}"]
        found = []
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                path = Path(new.extract(name, folder))
                has = patchelf(path, "--print-rpath")
                want = has
                if path.name != FOREIGN:
                    want = RUN_PATHS["_core" if "_core." in name else path.name]
                if has != want:
                    found.append(f"{name} looks in {has!r}, not in {want!r}")
                if "gomp" in patchelf(path, "--print-needed"):
                    found.append(f"{name} needs libgomp")
    tag = re.search(r"manylinux_\d+_\d+", after.name)
    if not tag:
        found.append(f"{after.name} is for no manylinux")
    elif tag[0] > LOWEST.get(libc, tag[0]):
        found.append(f"{tag[0]}, where {LOWEST[libc]} can be reached")
    return found


def print_sizes(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = archive.infolist()
    ours = [f for f in files if f.filename in libraries([f.filename])]
    rest = [f for f in files if f not in ours]
    rows = [(f.filename, f.file_size, f.compress_size) for f in ours]
    rows.append(
        (
            f"{len(rest)} other files",
            sum(f.file_size for f in rest),
            sum(f.compress_size for f in rest),
        )
    )
    rows.append(
        ("unpacked, and the wheel", sum(r[1] for r in rows), wheel.stat().st_size)
    )
    print(f"{wheel.name}\n  {'bytes':>11}{'in the wheel':>14}")
    for name, size, packed in rows:
        print(f"  {size:>11,}{packed:>14,}  {name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    repaired = repair(arguments.wheel, arguments.folder)
    libc = subprocess.run(
        ["getconf", "GNU_LIBC_VERSION"], check=True, capture_output=True, text=True
    ).stdout.split()[-1]
    found = problems(arguments.wheel, repaired, libc)
    for problem in found:
        print(f"{repaired.name}: {problem}", file=sys.stderr)
    print_sizes(repaired)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
