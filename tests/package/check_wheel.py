# SPDX-License-Identifier: MIT
"""Trains with a wheel where there is nothing else: Python, NumPy and what every
Linux has.

    check_wheel.py WHEEL [--python PYTHON]

A folder becomes the root of a file system: the interpreter with its standard
library, NumPy, the wheel, and of the system's libraries only those that wheels
for every Linux may ask for (PEP 600), so no libgomp. With root's rights, or
where users may make namespaces, a step is trained in there. Elsewhere this only
checks what the libraries ask for, and says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

#: What a manylinux wheel of C++ may ask of the system.
SYSTEM = re.compile(
    r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libz|"
    r"ld-linux-(x86-64|aarch64))\.so\.\d+"
)
#: What the interpreter may ask for besides.
PYTHON_ONLY = re.compile(r"(libutil|libexpat|libpython3[\d.]*)\.so[\d.]*")

PATHS = """
import json, os, sys, sysconfig
print(json.dumps({
    "executable": os.path.realpath(sys.executable),
    "stdlib": sysconfig.get_paths()["stdlib"],
    "version": "python%d.%d" % sys.version_info[:2],
    "modules": sysconfig.get_config_var("DESTSHARED"),
}))
"""

TRAIN = """
import numpy as np
import traingraph as tg

tg.set_seed(1)
x = tg.Tensor((32, 1, 8, 8), name="x")
y = tg.Tensor((32, 10), name="y")
g = tg.Graph()
h = g.node(tg.layers.Convolution(1, 8, kernel_size=3, padding="same"), x)
h = g.node(tg.layers.ReLU(), h)
h = h.reshape(32, -1)
g.node(tg.layers.FullyConnected(8 * 64, 10), h)
t = tg.TrainingGraph(
    [g],
    loss=tg.losses.SoftmaxCrossEntropy(),
    optimizer=tg.optimizers.Adam(1e-2),
)
t.add_inputs({"x": x}, loss_labels={"y": y})
t.compile(device="cpu")
random = np.random.default_rng(0)
images = random.standard_normal((32, 1, 8, 8), dtype=np.float32)
labels = np.eye(10, dtype=np.float32)[random.integers(0, 10, 32)]
losses = [t.execute({"x": images}, {"y": labels}).result().loss for _ in range(20)]
assert losses[-1] < losses[0] / 2, losses
print(f"loss {losses[0]:.3f} to {losses[-1]:.5f} in 20 steps")
"""


def run(*command: str, **options) -> str:
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, **options
    ).stdout


def needed(library: Path) -> dict[str, Path | None]:
    """What the loader finds for a library: name and path."""
    lines = subprocess.run(
        ["ldd", str(library)], check=False, capture_output=True, text=True
    ).stdout.splitlines()
    found: dict[str, Path | None] = {}
    for line in lines:
        match = re.match(r"\s*(\S+)(?: => (\S.*?))?(?: \(0x.*\))?$", line)
        if match and ".so" in match[1]:
            where = match[2] or match[1]
            known = Path(where).is_absolute()
            found[Path(match[1]).name] = Path(where) if known else None
    return found


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def add_file(root: Path, path: Path) -> None:
    """`path` at the same place below `root`, without symbolic links."""
    target = root / path.relative_to("/")
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        link_or_copy(os.path.realpath(path), str(target))


def add_python(root: Path, python: str) -> tuple[Path, Path]:
    """The interpreter and its standard library; both as seen inside `root`."""
    paths = json.loads(run(python, "-I", "-c", PATHS))
    executable, stdlib = Path(paths["executable"]), Path(paths["stdlib"])
    home = root / "python" / "lib" / paths["version"]
    unwanted = ("site-packages", "dist-packages", "test", "idlelib", "__pycache__")
    shutil.copytree(
        stdlib,
        home,
        copy_function=link_or_copy,
        ignore=shutil.ignore_patterns(*unwanted, "ensurepip", "config-*", "tkinter"),
    )
    binary = root / "python" / "bin" / "python3"
    binary.parent.mkdir(parents=True)
    link_or_copy(str(executable), str(binary))
    extensions = [*Path(paths["modules"]).glob("*.so")]
    for file in [executable, *extensions]:
        for name, path in needed(file).items():
            if path and (SYSTEM.fullmatch(name) or PYTHON_ONLY.fullmatch(name)):
                add_file(root, path)
    return Path("/python/bin/python3"), home


def add_libraries(root: Path, site: Path) -> list[str]:
    """What `site` asks of the system, and everything wrong with that."""
    wrong = []
    for library in sorted([*site.rglob("*.so"), *site.rglob("*.so.*")]):
        for name, path in needed(library).items():
            if path and path.is_relative_to(site):
                continue
            if SYSTEM.fullmatch(name) and path:
                add_file(root, path)
            elif not name.startswith("linux-vdso"):
                wrong.append(f"{library.relative_to(site)} needs {name}")
    return wrong


def enter(root: Path) -> list[str] | None:
    """The command that makes `root` the root of what follows."""
    ways = [["unshare", "--user", "--map-root-user", f"--root={root}"]]
    if os.geteuid() == 0:
        ways.insert(0, ["chroot", str(root)])
    for way in ways:
        probe = [*way, "/python/bin/python3", "-I", "-c", ""]
        try:
            subprocess.run(probe, check=True, capture_output=True, env={})
        except (OSError, subprocess.CalledProcessError):
            continue
        return way
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        python, home = add_python(root, arguments.python)
        site = home / "site-packages"
        pip = [sys.executable, "-m", "pip", "--python", arguments.python]
        options = ["install", "--quiet", "--no-compile", "--root-user-action=ignore"]
        run(*pip, *options, "--target", str(site), str(arguments.wheel.resolve()))
        wrong = add_libraries(root, site)
        for problem in wrong:
            print(f"{arguments.wheel.name}: {problem}", file=sys.stderr)
        if wrong:
            return 1
        if any("gomp" in path.name for path in root.rglob("*.so*")):
            print("the bare root has libgomp: this shows nothing", file=sys.stderr)
            return 1
        way = enter(root)
        if way is None:
            print(f"{arguments.wheel.name}: its libraries need nothing that is not")
            print("on every system. NOT trained: no rights to change the root.")
            return 0
        output = run(*way, str(python), "-I", "-c", TRAIN, env={}, cwd="/")
    print(f"{arguments.wheel.name} trains without libgomp: {output.strip()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
