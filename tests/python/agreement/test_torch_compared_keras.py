# SPDX-License-Identifier: MIT
"""The programs of examples/compared in Keras, over PyTorch; apart from the others, so that
both run side by side.

Optional: runs where PyTorch, Keras and scikit-learn are installed.
"""

from __future__ import annotations

import importlib.util

import pytest

pytest.importorskip("torch", reason="PyTorch is optional")
pytest.importorskip("sklearn", reason="of the demo extra")
# Importing it wants to know the backend, which the programs' processes are told.
if importlib.util.find_spec("keras") is None:
    pytest.skip("Keras is optional", allow_module_level=True)

from .compared_support import count, require_what_the_page_says


@pytest.mark.parametrize("name", count.PROGRAMS)
def test_programs_reach_what_the_page_says(name: str) -> None:
    require_what_the_page_says(name, "keras")
