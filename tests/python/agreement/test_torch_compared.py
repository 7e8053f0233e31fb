# SPDX-License-Identifier: MIT
"""The programs of examples/compared: in each framework they reach the same, and
docs/compared.md has their lines and what they reach.

Optional: runs where PyTorch and scikit-learn are installed.
"""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="PyTorch is optional")
pytest.importorskip("sklearn", reason="of the demo extra")

from .compared_support import FOLDER, PAGE, count, require_what_the_page_says


def test_the_page_has_the_lines() -> None:
    assert count.table_of_lines() in PAGE


def test_every_program_is_in_every_framework() -> None:
    names = {path.stem for path in FOLDER.glob("*.py")} - {"count"}
    kinds = ("data", *count.FRAMEWORKS)
    assert names == {f"{name}_{kind}" for name in count.PROGRAMS for kind in kinds}


@pytest.mark.parametrize("framework", ["traingraph", "pytorch"])
@pytest.mark.parametrize("name", count.PROGRAMS)
def test_programs_reach_what_the_page_says(name: str, framework: str) -> None:
    require_what_the_page_says(name, framework)
