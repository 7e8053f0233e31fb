# SPDX-License-Identifier: MIT
"""What the steps share: commands whose output goes to a log, which end by
themselves or are ended, and what a step has to say in the end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(__file__).resolve().parent
#: Seconds, of a command that builds or tests everything.
PATIENCE = 3600 * 3
#: Of a log, when a command failed.
LINES_SHOWN = 12


class StepError(Exception):
    """What went wrong, for the report."""


@dataclass
class Result:
    name: str
    state: str = "passed"  # passed, failed, contradicted or skipped
    detail: str = ""
    seconds: float = 0.0
    #: What the step found out, for the report.
    found: Any = None


def how_it_ended(code: int) -> str:
    """MPSGraph ends a process by a signal when it does not like a graph."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it started."""
    if process.poll() is None:
        # macOS says "not permitted" of one that has ended meanwhile.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@dataclass
class Run:
    options: argparse.Namespace
    #: The interpreter that has traingraph; empty: not yet.
    python: str = ""
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def output(self) -> Path:
        path: Path = self.options.output
        return path

    def call(
        self, name: str, *command: str | Path, patience: float | None = None
    ) -> int:
        """The exit code, -n for signal n; what it prints goes to a log."""
        words = [str(word) for word in command]
        seconds = PATIENCE if patience is None else patience
        with (self.output / f"{name}.log").open("a", encoding="utf-8") as log:
            log.write("$ " + " ".join(words) + "\n")
            log.flush()
            try:
                process = subprocess.Popen(
                    words,
                    cwd=ROOT,
                    env=self.environment,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                raise StepError(f"{words[0]} cannot be run: {error}") from error
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired as error:
                text = f"{words[0]} did not end within {seconds:.0f} s"
                raise StepError(f"{text}:\n{self.tail(name)}") from error
            finally:
                _end(process)

    def require(self, name: str, *command: str | Path) -> None:
        code = self.call(name, *command)
        if code != 0:
            ended = how_it_ended(code)
            raise StepError(f"{command[0]} {ended}:\n{self.tail(name)}")

    def tail(self, name: str) -> str:
        log = (self.output / f"{name}.log").read_text("utf-8", errors="replace")
        return "\n".join(log.splitlines()[-LINES_SHOWN:])
