# SPDX-License-Identifier: MIT
"""What type checkers say of tests/typing: the annotations take what the calls
take. Those that are installed are asked; `make lint` brings mypy."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "typing" / "surface.py"


def test_mypy(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is in tools/requirements-lint.txt")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file="),
            *("--cache-dir", str(tmp_path), str(PROGRAM)),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_pyright(tmp_path: Path) -> None:
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if pyright is None:
        pytest.skip("pyright is not installed beside this interpreter")
    program = tmp_path / PROGRAM.name
    program.write_text(PROGRAM.read_text())
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"typeCheckingMode": "strict", "include": [PROGRAM.name]})
    )
    done = subprocess.run(
        [pyright, "--pythonpath", sys.executable, "-p", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
