# SPDX-License-Identifier: MIT
"""The formulas of src/formulas in CUDA C++: NVRTC compiles them, without a GPU."""

from __future__ import annotations

import ctypes
import os
import platform
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests" / "cuda" / "formulas.cu"
FORMULAS = ROOT / "src" / "formulas"
#: Where the extra `test` installs NVRTC.
HAS_WHEEL = sys.platform == "linux" and platform.machine() == "x86_64"


def library() -> Path | None:
    spec = find_spec("nvidia.cu13") if find_spec("nvidia") else None
    folders = spec.submodule_search_locations if spec else None
    found = [p for f in folders or [] for p in Path(f).glob("lib/libnvrtc.so.*")]
    return found[0] if found else None


class Nvrtc:
    """The few of its functions that compile a text."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))

    def _call(self, name: str, *arguments: object) -> int:
        return int(getattr(self._library, f"nvrtc{name}")(*arguments))

    def _text(self, what: str, program: ctypes.c_void_p) -> str:
        size = ctypes.c_size_t()
        assert self._call(f"Get{what}Size", program, ctypes.byref(size)) == 0
        text = ctypes.create_string_buffer(size.value)
        assert self._call(f"Get{what}", program, text) == 0
        return text.value.decode()

    def compile(self, source: str, options: list[str]) -> tuple[bool, str, str]:
        """Whether it did, what it said, and the PTX."""
        program = ctypes.c_void_p()
        created = self._call(
            "CreateProgram", ctypes.byref(program), source.encode(),
            KERNELS.name.encode(), 0, None, None,
        )  # fmt: skip
        assert created == 0
        given = [option.encode() for option in options]
        array = (ctypes.c_char_p * len(given))(*given)
        is_compiled = self._call("CompileProgram", program, len(given), array) == 0
        log = self._text("ProgramLog", program).strip()
        ptx = self._text("PTX", program) if is_compiled else ""
        self._call("DestroyProgram", ctypes.byref(program))
        return is_compiled, log, ptx


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    path = library()
    if path is None:
        if HAS_WHEEL and "CI" in os.environ:
            pytest.fail("nvidia-cuda-nvrtc is not installed")
        pytest.skip("nvidia-cuda-nvrtc is not installed")
    return Nvrtc(path)


def options(architecture: str) -> list[str]:
    # Metal's language has C++14.
    return [
        f"--gpu-architecture={architecture}", "--std=c++14", f"-I{ROOT / 'src'}",
        "--device-as-default-execution-space",
    ]  # fmt: skip


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_formulas_compile_without_warnings(nvrtc: Nvrtc, architecture: str) -> None:
    is_compiled, log, ptx = nvrtc.compile(KERNELS.read_text(), options(architecture))
    assert is_compiled, log
    assert log == ""
    assert len(re.findall(r"\.entry \w+_kernel", ptx)) > 80


def found(header: str, pattern: str) -> list[str]:
    return re.findall(pattern, (FORMULAS / header).read_text(), re.MULTILINE)


def test_every_formula_has_a_kernel() -> None:
    source = KERNELS.read_text()
    for header in FORMULAS.glob("*.h"):
        if header.name != "portable.h":
            assert f'#include "formulas/{header.name}"' in source
    with_value = r"^struct (\w+) \{(?=[^}]*\bvalue\()"
    names = [
        *found("activation.h", with_value),
        *found("loss.h", with_value),
        *found("fast_math.h", r"^inline float (fast_\w+)\("),
        *found("arithmetic.h", r"^TRAINGRAPH_\w+\((\w+),"),
    ]
    assert len(names) > 75
    for name in names:
        assert re.search(rf"\({name}\b", source), f"{KERNELS} has no {name}"


def test_a_warning_fails(nvrtc: Nvrtc) -> None:
    source = 'extern "C" __global__ void f(float* x) { int unused = 1; x[0] = 1; }'
    assert "unused" in nvrtc.compile(source, options("sm_90"))[1]
