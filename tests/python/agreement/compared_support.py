# SPDX-License-Identifier: MIT
"""What the programs of examples/compared reach, and what docs/compared.md says."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "examples" / "compared"
PAGE = (ROOT / "docs" / "compared.md").read_text()

spec = importlib.util.spec_from_file_location("compared_count", FOLDER / "count.py")
assert spec is not None
assert spec.loader is not None
count = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = count
spec.loader.exec_module(count)


def require_what_the_page_says(name: str, framework: str) -> None:
    program = count.PROGRAMS[name]
    row = re.search(rf"^\| {program.title}: .*\|$", PAGE, re.MULTILINE)
    assert row is not None
    said = [float(cell) for cell in row[0].split("|")[2:-1]]
    assert max(said) - min(said) <= program.tolerance
    reached = count.figure_of(count.path_of(name, framework))
    place = list(count.FRAMEWORKS).index(framework)
    assert reached == pytest.approx(said[place], abs=program.tolerance)
