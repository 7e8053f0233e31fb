#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails when a source file and the explicit lists of CMake disagree.

With --fix, rewrites the lists instead. Also fails when a file of an op folder
is named after no family.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY_FOLDERS = (
    "src/base", "src/graph", "src/ops", "src/autodiff", "src/layers", "src/nodes",
    "src/compiler", "src/runtime", "src/lowering", "src/cpu", "src/cpu/cblas",
    "src/cpu/onednn", "src/cpu/thread_pool", "src/cuda", "python",
)  # fmt: skip
# Of tests/cpp: what needs Objective-C++ and the emulator of Apple's classes.
EMULATOR_TESTS = ("emulator", "metal")
CUDA_TESTS = ("cuda",)
# Family x of ops is x.* or x_<part>.* in each of these folders ...
FAMILIES = (
    "elementwise", "matmul", "conv", "pool", "norm", "reduce", "upsample", "gather",
    "rnn", "attention", "layout", "loss", "update", "collective",
)  # fmt: skip
# ... besides what serves several families.
SHARED: dict[str, set[str]] = {
    "src/ops": {
        "batch_rules", "cost", "flops", "op_docs", "op_info", "registry", "shape_rules",
        "window",
    },
    "src/cpu/ops": set(),
    "src/cuda/ops": {"walk"},
    "metal/ops": set(),
    "tests/cpp/ops": {
        "accuracy_test", "case_program", "cases", "cost_test", "error_cases",
        "error_cases_types", "errors_test",
        "extreme_sizes_test", "gradient_edges_test", "gradient_rules_test",
        "half_bounds_test", "half_cases_test", "huge_windows_test", "kernel_table_test",
        "nonfinite_test", "op_cases_test",
        "result_types_test", "shape_rules_test", "sweep_test", "unused_options_test",
        "window_test",
    },
}  # fmt: skip
SOURCES = re.compile(
    r"((?:target_sources|add_library|pybind11_add_module)\([\w ]+)"
    r"(?:\n  [\w/]+\.cpp)*\)"
)
OBJECTIVE_SOURCES = re.compile(r"set\((\w+_sources)(?:\n  [\w/]+\.\w+)*\n  \)")
HEADERS = re.compile(r'(?:\n    "\$\{header_dir\}/[\w/.]+")+')
TESTS = re.compile(r"\n# Begin of test lists\n.*# End of test lists\n", re.DOTALL)


def find_sources(folder: Path, pattern: str = "*.cpp") -> list[str]:
    """Without those of folders that have lists of their own."""
    inner = [p.parent for p in folder.rglob("*/CMakeLists.txt")]
    return sorted(
        p.relative_to(folder).as_posix()
        for p in folder.rglob(pattern)
        if not any(p.is_relative_to(other) for other in inner)
    )


def listing(sources: list[str]) -> str:
    return "".join(f"\n  {s}" for s in sources)


def library_lists(folder: Path, text: str) -> str:
    sources = listing(find_sources(folder))
    return SOURCES.sub(lambda match: f"{match[1]}{sources})", text, count=1)


def objective_list(folder: Path, text: str) -> str:
    sources = sorted([*find_sources(folder), *find_sources(folder, "*.mm")])
    lines = listing([s for s in sources if s != "no_metal.cpp"])
    return OBJECTIVE_SOURCES.sub(
        lambda match: f"set({match[1]}{lines}\n  )", text, count=1
    )


def header_list(folder: Path, text: str) -> str:
    folder = folder.parent / "include" / "traingraph"
    headers = sorted([*find_sources(folder, "*.h"), *find_sources(folder, "*.inc")])
    lines = "".join(f'\n    "${{header_dir}}/{h}"' for h in headers)
    return HEADERS.sub(lambda _: lines, text, count=1)


def test_lists(folder: Path, text: str) -> str:
    """One executable per folder of tests/cpp; what it shares is a library."""
    commands = []
    for sub in sorted(p for p in (folder / "cpp").iterdir() if p.is_dir()):
        files = sorted([*find_sources(sub), *find_sources(sub, "*.mm")])
        sources = [f"cpp/{sub.name}/{s}" for s in files]
        shared = [
            s for s in sources if sub.name == "support" and not s.endswith("_test.cpp")
        ]
        tests = [s for s in sources if s not in shared]
        if shared:
            commands.append(
                f"target_sources(traingraph_private PRIVATE{listing(shared)})\n"
            )
        command = f"traingraph_test({sub.name}{listing(tests)})\n"
        if sub.name in EMULATOR_TESTS:
            command = f"if(TRAINGRAPH_METAL_EMULATOR)\n{command}endif()\n"
        if sub.name in CUDA_TESTS:
            command = f"if(TRAINGRAPH_CUDA_EMULATOR)\n{command}endif()\n"
        if tests:
            commands.append(command)
    body = "\n".join(commands)
    return TESTS.sub(
        f"\n# Begin of test lists\n{body}# End of test lists\n", text, count=1
    )


def check_families() -> list[str]:
    problems = []
    for folder, shared in SHARED.items():
        names = {p.stem for p in (ROOT / folder).iterdir() if p.suffix != ".txt"}
        strays = {n for n in names - shared if n.split("_")[0] not in FAMILIES}
        problems += [
            f"{folder}/{name}: starts with no family: {', '.join(FAMILIES)}"
            for name in sorted(strays)
        ]
        problems += [
            f"{folder}/{name}: listed as shared but missing"
            for name in sorted(shared - names)
        ]
    return problems


def main() -> int:
    is_fixing = "--fix" in sys.argv[1:]
    lists = {f"{name}/CMakeLists.txt": library_lists for name in LIBRARY_FOLDERS}
    lists["tests/CMakeLists.txt"] = test_lists
    lists["src/public_headers.cmake"] = header_list
    for name in ("metal", "tests/emulator"):
        lists[f"{name}/CMakeLists.txt"] = objective_list
    problems = check_families()
    for name, rewrite in lists.items():
        file = ROOT / name
        if not file.exists():
            if file.parent.exists() and find_sources(file.parent):
                problems.append(f"{file.parent} has sources but no CMakeLists.txt")
            continue
        text = file.read_text(encoding="utf-8")
        wanted = rewrite(file.parent, text)
        if wanted == text:
            continue
        if is_fixing:
            file.write_text(wanted, encoding="utf-8")
        else:
            old, new = (set(re.findall(r"[\w/]+\.\w+", t)) for t in (text, wanted))
            problems.append(
                f"{name}: missing {sorted(new - old)}, stale {sorted(old - new)}: "
                "run tools/check_sources.py --fix"
            )
    print("\n".join(problems) or "sources: fine")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
