# SPDX-License-Identifier: MIT
"""Commands that tools/mac_check.sh runs, and the script itself on Macs that lack
something: processes that hang, are ended, or are none."""

from __future__ import annotations

import argparse
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from mac_check import run


def run_in(output: Path) -> run.Run:
    return run.Run(argparse.Namespace(output=output))


def script(path: Path, text: str) -> Path:
    path.write_text("#!/bin/bash\n" + text, "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_what_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    hangs = script(
        tmp_path / "hangs",
        f"echo begun; (while true; do date > {alive}; sleep 0.05; done) & wait\n",
    )
    given = run_in(tmp_path)
    with pytest.raises(run.StepError, match=r"did not end within 1 s:(.|\n)*begun"):
        given.call("step", hangs, patience=0.7)
    alive.unlink(missing_ok=True)
    time.sleep(0.3)
    assert not alive.exists()


def test_commands_that_cannot_be_run(tmp_path: Path) -> None:
    given = run_in(tmp_path)
    plain = tmp_path / "plain"
    plain.write_text("no program")
    for command in (tmp_path / "nothing", plain, tmp_path):
        with pytest.raises(run.StepError, match="cannot be run"):
            given.call("step", command)


def test_ends_of_commands(tmp_path: Path) -> None:
    given = run_in(tmp_path)
    assert given.call("step", script(tmp_path / "a", "exit 7")) == 7
    assert given.call("step", script(tmp_path / "b", "kill -ABRT $$")) == -6
    with pytest.raises(run.StepError, match=r"SIGABRT:(.|\n)*last words"):
        given.require("step", script(tmp_path / "c", "echo last words; kill -ABRT $$"))
    assert run.how_it_ended(-250) == "was ended by signal 250"


def shell(tmp_path: Path, **programs: str) -> subprocess.CompletedProcess[str]:
    """mac_check.sh where only these programs are."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "dirname").symlink_to("/usr/bin/dirname")
    for name, text in programs.items():
        script(folder / name.replace("_", "-"), text)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHON"}
    return subprocess.run(
        ["/bin/bash", ROOT / "tools" / "mac_check.sh", "--help"],
        env=environment | {"PATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_mac_without_xcode(tmp_path: Path) -> None:
    done = shell(tmp_path, uname="echo Darwin", xcode_select="exit 2")
    assert done.returncode == 1
    assert "xcode-select --install" in done.stderr


def test_a_mac_without_a_new_python(tmp_path: Path) -> None:
    # macOS has Python 3.9, or something that only asks for Xcode.
    for number, python in enumerate(("exit 1", f'exec {sys.executable} -c "1/0"')):
        folder = tmp_path / str(number)
        folder.mkdir()
        done = shell(folder, uname="echo Darwin", xcode_select="true", python3=python)
        assert done.returncode == 1
        assert "Python 3.10 or newer is missing" in done.stderr


def test_a_mac_with_a_new_python_by_another_name(tmp_path: Path) -> None:
    done = shell(
        tmp_path,
        uname="echo Darwin",
        xcode_select="true",
        python3="exit 1",
        **{"python3.12": f'exec {sys.executable} "$@"'},
    )
    assert done.returncode == 0, done.stderr
    assert "--compare" in done.stdout
