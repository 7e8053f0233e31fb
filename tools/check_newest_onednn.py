# SPDX-License-Identifier: MIT
"""Checks that src/cpu compiles against oneDNN's newest headers.

The library is built with oneDNN 3.2, the newest that PyPI has with GNU OpenMP.
Distributions ship newer ones, so only API that all of 3.x has may be used. The
headers come from PyPI's `onednn-devel`, whose library (another OpenMP runtime)
is not needed and not downloaded; nothing is linked.
"""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "newest_onednn"


def fetch_headers() -> Path:
    """Folder with oneapi/dnnl/dnnl.hpp; downloads once."""
    headers = [*FOLDER.rglob("oneapi/dnnl/dnnl.hpp")]
    if not headers:
        FOLDER.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "-d", str(FOLDER), "onednn-devel"], check=True)
        for wheel in FOLDER.glob("onednn_devel-*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                names = [n for n in archive.namelist() if n.endswith((".h", ".hpp"))]
                archive.extractall(FOLDER, names)
        headers = [*FOLDER.rglob("oneapi/dnnl/dnnl.hpp")]
    return headers[0].parent.parent.parent


def version(include: Path) -> str:
    text = (include / "oneapi/dnnl/dnnl_version.h").read_text(encoding="utf-8")
    parts = [re.search(rf"DNNL_VERSION_{p} (\d+)", text) for p in ("MAJOR", "MINOR")]
    return ".".join(m.group(1) if m else "?" for m in parts)


def main() -> int:
    include = fetch_headers()
    flags = ["-std=c++20", "-fsyntax-only", "-fopenmp", f"-isystem{include}"]
    flags += [f"-I{ROOT / folder}" for folder in ("include", "src")]
    sources = [p for p in (ROOT / "src" / "cpu").rglob("*.cpp") if uses_onednn(p)]
    failed = [p for p in sources if not compiles(p, flags)]
    for path in failed:
        print(f"{path.relative_to(ROOT)}: does not compile")
    print(f"oneDNN {version(include)}: {len(sources) - len(failed)} files compile")
    return 1 if failed else 0


def compiles(source: Path, flags: list[str]) -> bool:
    command = ["g++", *flags, str(source)]
    return subprocess.run(command, check=False).returncode == 0


def uses_onednn(path: Path) -> bool:
    return "dnnl::" in path.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
