# SPDX-License-Identifier: MIT
"""The pages that compare with PyTorch or Keras run, and their assertions hold.

Optional: each runs where the other library is installed.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import docs_pages
import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("torch", reason="PyTorch is optional")


@pytest.mark.parametrize("library", ["torch", "keras"])
def test_pages_that_need(library: str, tmp_path: Path) -> None:
    # Found and not imported: Keras asks for a backend.
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is optional")
    pages = {
        block.page
        for page in docs_pages.pages()
        for block in docs_pages.blocks_of(page)
        if (block.marker, block.reason) == ("needs", library)
    }
    assert pages
    for page in pages:
        done = subprocess.run(
            [sys.executable, docs_pages.__file__, str(page), library],
            cwd=tmp_path,
            env={**os.environ, "KERAS_BACKEND": "torch"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
