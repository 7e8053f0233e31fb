# SPDX-License-Identifier: MIT
"""What type checkers say, strictly, of tests/typing and of the programs that
docs/compared.md counts; and that they know the type of every public name. Those that
are installed are asked; the extra `test` brings both."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = [
    ROOT / "tests" / "typing" / "surface.py",
    *(ROOT / "examples" / "compared").glob("*_traingraph.py"),
]
# What the programs import is scikit-learn's, which has no types.
DATA = [*(ROOT / "examples" / "compared").glob("*_data.py")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the programs, so that no configuration of the repository counts."""
    for path in PROGRAMS + DATA:
        shutil.copy(path, tmp_path)
    return tmp_path


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr


def pyright() -> list[str]:
    """The command of one of the two packages that have it."""
    for name in ("pyright", "basedpyright"):
        found = shutil.which(name, path=str(Path(sys.executable).parent))
        if found is not None:
            return [found, "--pythonpath", sys.executable]
    pytest.skip("neither pyright nor basedpyright is beside this interpreter")


def test_mypy(folder: Path) -> None:
    pytest.importorskip("mypy", reason="of the extra `test`")
    names = [path.name for path in PROGRAMS]
    options = ("--strict", "--ignore-missing-imports", "--config-file=")
    run(folder, sys.executable, "-m", "mypy", *options, *names)


def test_pyright(folder: Path) -> None:
    names = [path.name for path in PROGRAMS]
    options = {"typeCheckingMode": "strict", "include": names}
    (folder / "pyrightconfig.json").write_text(json.dumps(options))
    run(folder, *pyright(), "-p", ".")


def test_every_public_name_has_a_type(tmp_path: Path) -> None:
    """Of NumPy's and others' types, what they say is left out."""
    run(tmp_path, *pyright(), "--verifytypes", "traingraph", "--ignoreexternal")
