# SPDX-License-Identifier: MIT
"""The programs of examples/python as modules, and their main() as a call."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "python"


def load_example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        f"traingraph_{name}_example", FOLDER / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # As when Python runs it: what examples share lies beside them.
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    # dataclasses look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run_main(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> None:
    monkeypatch.setattr(sys, "argv", [str(module.__file__), *arguments])
    module.main()
