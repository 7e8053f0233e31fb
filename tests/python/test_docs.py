# SPDX-License-Identifier: MIT
"""Every code block of README.md and docs/ runs, with the installed package."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import docs_pages
import pytest

import traingraph as tg
from traingraph.__main__ import cmake_dir

if TYPE_CHECKING:
    from types import ModuleType

BLOCKS = [block for page in docs_pages.pages() for block in docs_pages.blocks_of(page)]
# Blocks that are not run, by page: each is a promise that nobody checks.
# Those of several ranks, as test_mpi.py and test_data_parallel.py run them.
NOT_RUN: dict[str, int] = {"docs/distributed.md": 5}
COMPILERS = {
    "cpp": (os.environ.get("CXX", "c++"), "-std=c++20"),
    "c": (os.environ.get("CC", "cc"), "-std=c11"),
}


def is_program(block: docs_pages.Block) -> bool:
    return "int main(" in block.text


def squeezed(text: str) -> str:
    return "".join(text.split())


def pages_with(*languages: str, marker: str = "") -> list[object]:
    """Pages that have such blocks, as arguments of a test."""
    pages = {b.page for b in BLOCKS if b.language in languages and b.marker == marker}
    root = docs_pages.ROOT
    return [pytest.param(p, id=str(p.relative_to(root))) for p in sorted(pages)]


def run(*command: str, folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


SESSION = """
<!-- python
base = 20
-->

```python
answer = base + 22
```

```pycon
>>> answer
42
>>> answer / 7
6.0...
```
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("base = 20", "base = 20", None),
        ("base + 22", "base + missing", 7),
        ("42\n>>>", "41\n>>>", 11),
        ("20\n-->", "20", 2),
    ],
    ids=["right", "an error", "another output", "no end"],
)
def test_a_page_is_a_session(
    old: str, new: str, line: int | None, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text(SESSION.replace(old, new))
    driver = [sys.executable, docs_pages.__file__, str(page)]
    done = subprocess.run(driver, capture_output=True, text=True)
    assert (done.returncode == 0) == (line is None), done.stderr
    said = done.stdout + done.stderr
    assert line is None or re.search(rf"page.md(:|\", line ){line}\b", said), said


def test_blocks_are_what_they_say() -> None:
    for block in BLOCKS:
        known = docs_pages.CODE | docs_pages.SHOWN
        assert block.language in known, f"{block}: a block of what?"
        assert block.marker in {"", *docs_pages.MARKERS}, f"{block}: {block.marker}?"
        assert not block.marker or block.reason, f"{block}: {block.marker} what?"
        assert block.language != "text" or ">>>" not in block.text, f"{block}: pycon?"


def test_links_lead_to_files() -> None:
    """Headings are checked by `make docs`."""
    link = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
    code = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    for page in docs_pages.pages():
        for target in link.findall(code.sub("", page.read_text())):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_few_blocks_are_not_run() -> None:
    not_run = Counter(
        str(block.page.relative_to(docs_pages.ROOT))
        for block in BLOCKS
        if block.marker == "no-run"
    )
    assert not_run == NOT_RUN


def test_reference_has_the_package() -> None:
    """Modules have a page each; what else tg has is named on one."""
    folder = docs_pages.ROOT / "docs" / "reference"
    named = "".join(page.read_text() for page in folder.glob("*.rst"))
    for name in tg.__all__:
        if name != "__version__" and not hasattr(tg.errors, name):
            assert re.search(rf":: traingraph.{name}$", named, re.MULTILINE), name


def cpp_reference() -> ModuleType:
    path = docs_pages.ROOT / "docs" / "cpp_reference.py"
    spec = importlib.util.spec_from_file_location("cpp_reference", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_has_what_headers_say() -> None:
    """What is public: types have a heading, and no comment is lost."""
    reference = cpp_reference()
    type_ = r"^(?:class|struct|enum class) (?:TRAINGRAPH_API )?(\w+)[^;]*$"
    macro = r"^(?:///.*\n)*#define (?:.*\\\n)*.*\n"
    for header in sorted((reference.INCLUDE / "traingraph").rglob("*.h")):
        if header.name in reference.INTERNAL:
            continue
        path = header.relative_to(reference.INCLUDE).as_posix()
        shown = reference.header_as_markdown(path)
        text = re.sub(macro, "", header.read_text(), flags=re.MULTILINE)
        for name in re.findall(type_, text, re.MULTILINE):
            assert f"### {name}\n" in shown, f"{path}: {name}"
        public = re.sub(r" private:\n.*?\n};", "", text, flags=re.DOTALL)
        words = re.sub(r"\W", "", shown)
        for line in re.findall(r"^ *///(.*)$", public, re.MULTILINE):
            assert re.sub(r"\W", "", line) in words, f"{path}: {line}"


@pytest.mark.parametrize("page", pages_with("python", "pycon"))
def test_python_runs(page: Path, tmp_path: Path) -> None:
    if page.stem == "onnx":
        pytest.importorskip("onnx", reason="the page reads and writes ONNX files")
    driver = [sys.executable, "-W", "error", docs_pages.__file__, str(page)]
    output = run(*driver, folder=tmp_path)
    if page.name == "README.md":
        assert output.splitlines()[-1] == "(5, 10)"


def test_quotes_stand_in_their_files() -> None:
    """Function by function, whatever the lines are."""
    for block in BLOCKS:
        if block.marker == "in":
            source = squeezed((docs_pages.ROOT / block.reason).read_text())
            for part in block.text.split("\n\n"):
                assert squeezed(part) in source, f"{block}: not in {block.reason}"


@pytest.mark.parametrize(
    ("page", "language"),
    [(*page.values, c) for c in COMPILERS for page in pages_with(c)],
    ids=str,
)
def test_compiles(page: Path, language: str, tmp_path: Path) -> None:
    """What is no program: all blocks of a page are one source."""
    compiler, standard = COMPILERS[language]
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler} here")
    parts = [
        f'#line {block.line + 1} "{page}"\n{block.text}'
        for block in docs_pages.blocks_of(page)
        if block.language == language and not block.marker and not is_program(block)
    ]
    source = tmp_path / f"page.{language}"
    source.write_text("".join(parts))
    include = Path(tg.__file__).parent / "include"
    options = [standard, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{include}"]
    run(compiler, *options, str(source), folder=tmp_path)


@pytest.mark.parametrize("program", [b for b in BLOCKS if is_program(b)], ids=str)
def test_program_learns(program: docs_pages.Block, tmp_path: Path) -> None:
    """Built by the CMake block in front of it; it prints losses."""
    if shutil.which("cmake") is None:
        pytest.skip("no cmake here")
    lists = [
        b.text for b in docs_pages.blocks_of(program.page) if b.language == "cmake"
    ]
    (name,) = re.findall(r"add_executable\(\w+ (\w+)\.cpp\)", lists[0])
    (tmp_path / "CMakeLists.txt").write_text(lists[0])
    (tmp_path / f"{name}.cpp").write_text(program.text)
    run("cmake", "-B", "build", f"-Dtraingraph_DIR={cmake_dir()}", folder=tmp_path)
    run("cmake", "--build", "build", folder=tmp_path)
    folder = "build"
    if "install(" in lists[0]:
        run("cmake", "--install", "build", "--prefix", "shipped", folder=tmp_path)
        folder = "shipped"
    losses = [float(line) for line in run(f"{folder}/{name}", folder=tmp_path).split()]
    assert losses[-1] < 1e-2 * losses[0]


def test_option_conflicts_are_those_of_the_library() -> None:
    root = Path(__file__).parents[2]
    source = (root / "src/runtime/session/option_conflicts.cpp").read_text("utf-8")
    table = source[source.index("kConflicts[]") : source.index("}  // namespace")]
    # Texts that follow each other are one.
    joined = re.sub(r'"\s+"', "", table)
    rows = re.findall(r'\{"(\w+)",\s*"([^"]+)",\s*"([^"]+)",', joined)
    page = (root / "docs/training.md").read_text("utf-8")
    documented = re.findall(r"^\| `(\w+)` \| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert len(rows) == table.count("[](const Compiled& c)")
    assert documented == rows
