# SPDX-License-Identifier: MIT
"""The programs of examples/compared: in each framework they reach the same, and
docs/compared.md has their lines and what they reach.

Optional: runs where PyTorch, scikit-learn and Keras are installed.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is optional")
pytest.importorskip("sklearn", reason="of the demo extra")

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "examples" / "compared"
PAGE = (ROOT / "docs" / "compared.md").read_text()

spec = importlib.util.spec_from_file_location("compared_count", FOLDER / "count.py")
assert spec is not None
assert spec.loader is not None
count = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = count
spec.loader.exec_module(count)


def test_the_page_has_the_lines() -> None:
    assert count.table_of_lines() in PAGE


def test_every_program_is_in_every_framework() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")} - {"count"}
    kinds = ("data", *count.FRAMEWORKS)
    assert names == {f"{name}_{kind}" for name in count.PROGRAMS for kind in kinds}


def require_what_the_page_says(name: str, framework: str) -> None:
    program = count.PROGRAMS[name]
    row = re.search(rf"^\| {program.title}: .*\|$", PAGE, re.MULTILINE)
    assert row is not None
    said = [float(cell) for cell in row[0].split("|")[2:-1]]
    assert max(said) - min(said) <= program.tolerance
    reached = count.figure_of(count.path_of(name, framework))
    place = list(count.FRAMEWORKS).index(framework)
    assert reached == pytest.approx(said[place], abs=program.tolerance)


@pytest.mark.parametrize("framework", ["traingraph", "pytorch"])
@pytest.mark.parametrize("name", count.PROGRAMS)
def test_programs_reach_what_the_page_says(name: str, framework: str) -> None:
    require_what_the_page_says(name, framework)
