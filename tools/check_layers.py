#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails when a file includes what its layer may not see.

A file may include its own folder and the folders below it; within src/runtime, too.
Only src/formulas/portable.h includes anything from outside of src/formulas, which every
compiler of a device reads. Only src/cpu/onednn includes oneDNN and only src/cpu/cblas a CBLAS, only metal/ includes Apple's other
headers, public headers include public and standard headers only, and python/src
sees nothing but the public ones.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

PUBLIC = "include"
# folder: the folders it may include besides itself
CORE = ["formulas", "base", "graph", "ops", "autodiff", "layers", "compiler", "runtime"]
ALLOWED: dict[str, set[str]] = {
    PUBLIC: set(),
    "formulas": set(),
    "base": {PUBLIC, *CORE[:1]},
    "graph": {PUBLIC, *CORE[:2]},
    "ops": {PUBLIC, *CORE[:3]},
    "autodiff": {PUBLIC, *CORE[:4]},
    "layers": {PUBLIC, *CORE[:5]},
    "nodes": {PUBLIC, *CORE[:6]},
    "compiler": {PUBLIC, "nodes", *CORE[:6]},
    "runtime": {PUBLIC, "nodes", *CORE},
    # What backends share.
    "lowering": {PUBLIC, "nodes", *CORE},
    "cpu": {PUBLIC, "lowering", "nodes", *CORE},
    # Its engines, one of which is compiled; the rest of cpu/ sees neither.
    "onednn": {PUBLIC, "cpu", "lowering", "nodes", *CORE},
    "cblas": {PUBLIC, "cpu", "lowering", "nodes", *CORE},
    "metal": {PUBLIC, "lowering", "nodes", *CORE},
    "cuda": {PUBLIC, "lowering", "nodes", *CORE},
    "c": {PUBLIC, "nodes", *CORE},
    # The composition root, the only file that names concrete devices.
    "backends": {PUBLIC, "nodes", "lowering", "cpu", "metal", "cuda", *CORE},
    "python": {PUBLIC},
    "examples": {PUBLIC},
    "benchmarks": {PUBLIC, "nodes", "lowering", "cpu", "metal", "support", *CORE},
}
# Folders of src/runtime, each of which sees those before it.
RUNTIME = [
    "device", "collective", "memory", "plans", "exchange", "execution", "link",
    "session", "insight", "checkpoint", "artefact",
]  # fmt: skip
C_HEADERS = {"stddef.h", "stdint.h"}  # of the C interface
SUFFIXES = {".cpp", ".h", ".inc", ".mm"}
INCLUDE = re.compile(r'^\s*#\s*(?:include|import)\s*(<[^>]+>|"[^"]+")', re.MULTILINE)
APPLE = re.compile(r"^(Foundation|Metal\w*|MPS\w*|Accelerate|objc|Availability)\b")
# Public headers for code that knows Python; no other header includes them.
FOR_PYTHON = {"include/traingraph/python.h", "include/traingraph/python_casters.h"}
PYTHON = re.compile(r"^(pybind11/|Python\.h|numpy/)")


def layer_of(path: str) -> str:
    """The layer of a file, by its path from the root."""
    parts = path.split("/")
    if path.startswith("src/backends"):
        return "backends"
    if path.startswith(("src/cpu/onednn/", "src/cpu/cblas/")):
        return parts[2]
    if parts[0] == "src":
        return parts[1]
    return parts[0]


def layer_of_include(name: str) -> str | None:
    """The layer of a quoted include, or None when it has no folder."""
    if "/" not in name:
        return None
    if name.startswith(("cpu/onednn/", "cpu/cblas/")):
        return name.split("/")[1]
    return PUBLIC if name.startswith("traingraph/") else name.split("/", maxsplit=1)[0]


def check_system(path: str, name: str) -> str | None:
    layer = layer_of(path)
    if re.search(r"\b(oneapi/)?dnnl", name) and layer not in {"onednn", "tests"}:
        return "only src/cpu/onednn includes oneDNN"
    if name == "cblas.h" and layer != "cblas":
        return "only src/cpu/cblas includes a CBLAS"
    if layer == "formulas" and not path.endswith("/portable.h"):
        return "of src/formulas only portable.h includes a library's headers"
    is_blas = layer == "cblas" and name.startswith("Accelerate/")
    if APPLE.match(name) and layer not in {"metal", "tests"} and not is_blas:
        return "only metal/ includes Apple's headers"
    if PYTHON.match(name) and layer not in {"python", "tests", "examples"}:
        return "only python/src and python*.h include Python's headers"
    if layer == PUBLIC and name.endswith(".h") and name not in C_HEADERS:
        return "public headers include public and standard C++ headers only"
    return None


def check_runtime(path: str, name: str) -> str | None:
    own, target = path.split("/")[2:3], name.split("/")[1:2]
    if own[0] not in RUNTIME or target[0] not in RUNTIME:
        return "a folder of src/runtime is not in the list of check_layers.py"
    if RUNTIME.index(target[0]) <= RUNTIME.index(own[0]):
        return None
    return f"runtime/{own[0]} may not include runtime/{target[0]}"


def check_quoted(path: str, name: str) -> str | None:
    layer, target = layer_of(path), layer_of_include(name)
    if layer == "tests":
        return None  # tests may include private headers
    if layer == target == "runtime":
        return check_runtime(path, name)
    if target is None:
        if layer in {"python", "examples", "benchmarks"}:
            return None
        return 'write the path from the root ("graph/program.h")'
    if target == layer or target in ALLOWED[layer]:
        return None
    return f"{layer} may not include {target}"


def check_file(file: Path) -> list[str]:
    path = file.relative_to(ROOT).as_posix()
    layer = layer_of(path)
    if layer != "tests" and layer not in ALLOWED:
        return [f"{path}: folder {layer} is not in the table of check_layers.py"]
    text = file.read_text(encoding="utf-8")
    problems = []
    for match in INCLUDE.finditer(text):
        name = match[1][1:-1]
        problem = None
        if path not in FOR_PYTHON or not PYTHON.match(name):
            is_system = match[1][0] == "<"
            problem = (
                check_system(path, name) if is_system else check_quoted(path, name)
            )
        if problem:
            line = text.count("\n", 0, match.start(1)) + 1
            problems.append(f"{path}:{line}: includes {match[1]}: {problem}")
    guard = "TRAINGRAPH_" + file.stem.upper() + "_H"
    is_guarded = "#pragma once" in text or f"#ifndef {guard}" in text
    if file.suffix == ".h" and not is_guarded:
        problems.append(f"{path}: has no #pragma once")
    if layer == "metal" and file.suffix == ".cpp" and "@interface" in text:
        problems.append(f"{path}: Objective-C belongs in .mm files")
    return problems


def main() -> int:
    problems: list[str] = []
    for folder in (PUBLIC, "src", "metal", "python", "tests", "examples", "benchmarks"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix in SUFFIXES:
                problems += check_file(file)
    print("\n".join(problems) or "layers: fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
