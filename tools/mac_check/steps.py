# SPDX-License-Identifier: MIT
"""The steps of the check: each runs commands, keeps what they print in a log, and
says how it went. One that fails does not end the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mac_check import machine

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = Path(__file__).resolve().parent
#: Of a step that hangs.
PATIENCE = 3600 * 3
#: Exit codes of metal_probes (tests/metal_probes/options.cpp).
CONTRADICTED, NO_DEVICE = 2, 3
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


@dataclass
class Run:
    """What the steps share."""

    options: argparse.Namespace
    #: The interpreter that has traingraph; empty: not yet.
    python: str = ""
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def output(self) -> Path:
        path: Path = self.options.output
        return path

    def call(self, name: str, *command: str | Path) -> int:
        """The exit code; what it prints goes to a log."""
        words = [str(word) for word in command]
        with (self.output / f"{name}.log").open("a", encoding="utf-8") as log:
            log.write("$ " + " ".join(words) + "\n")
            log.flush()
            try:
                done = subprocess.run(
                    words,
                    cwd=ROOT,
                    env=self.environment,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL,
                    timeout=PATIENCE,
                    check=False,
                )
            except FileNotFoundError as error:
                raise StepError(f"{words[0]} is not there: {error}") from error
            except subprocess.TimeoutExpired as error:
                raise StepError(f"{words[0]} did not end") from error
        return done.returncode

    def require(self, name: str, *command: str | Path) -> None:
        code = self.call(name, *command)
        if code == 0:
            return
        log = (self.output / f"{name}.log").read_text("utf-8", errors="replace")
        tail = "\n".join(log.splitlines()[-LINES_SHOWN:])
        raise StepError(f"{command[0]} ended with exit code {code}:\n{tail}")


def check_tools(_run: Run) -> Result:
    if not machine.is_mac():
        return Result("tools", "skipped", "not a Mac")
    found = machine.describe()
    complaints = machine.complaints(found["system"], found["compiler"])
    if complaints:
        raise StepError("\n".join(complaints))
    return Result("tools", detail=found["compiler"])


def make_environment(run: Run) -> Result:
    """An environment of its own with what building needs."""
    if run.options.python:
        run.python = str(run.options.python)
        return Result("environment", "skipped", "--python")
    folder = run.output / "venv"
    if not (folder / "bin" / "python").exists():
        run.require("environment", sys.executable, "-m", "venv", folder)
    run.python = str(folder / "bin" / "python")
    run.environment["PATH"] = f"{folder / 'bin'}:{run.environment.get('PATH', '')}"
    pip = (run.python, "-m", "pip", "install", "--quiet")
    run.require("environment", *pip, "-r", "tools/requirements.txt")
    return Result("environment", detail=str(folder))


def probe_arguments(options: argparse.Namespace, path: Path) -> list[str]:
    arguments = ["--json", str(path)]
    if options.slow:
        arguments.append("--slow")
    if options.memory:
        arguments += ["--memory", str(options.memory)]
    for answer in options.answer:
        arguments += ["--answer", answer]
    return arguments + list(options.probe)


def ask_probes(run: Run) -> Result:
    program = run.options.probes
    if program is None:
        build = run.output / "probes"
        source = ROOT / "tests" / "metal_probes"
        run.require("probes", "cmake", "-S", source, "-B", build)
        run.require("probes", "cmake", "--build", build)
        program = build / "metal_probes"
    path = run.output / "probes.json"
    path.unlink(missing_ok=True)
    code = run.call("probes", program.resolve(), *probe_arguments(run.options, path))
    if not path.exists():
        raise StepError(f"metal_probes ended with exit code {code}: probes.log")
    found = json.loads(path.read_text("utf-8"))
    if code == NO_DEVICE:
        return Result("probes", "failed", "there is no Metal device", found=found)
    state = {0: "passed", CONTRADICTED: "contradicted"}.get(code, "failed")
    counts = ", ".join(f"{n} {name}" for name, n in found["counts"].items() if n)
    return Result("probes", state, counts, found=found)


def build_wheel(run: Run) -> Result:
    if run.options.python:
        return Result("wheel", "skipped", "--python")
    dist = run.output / "dist"
    pip = (run.python, "-m", "pip")
    run.require("wheel", *pip, "wheel", ".", "--no-deps", "--wheel-dir", dist)
    wheel = max(dist.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    install = (*pip, "install", "--quiet", "--force-reinstall", "--no-deps")
    run.require("wheel", *install, wheel)
    return Result("wheel", detail=wheel.name)


def run_script(run: Run, name: str) -> list[dict[str, Any]]:
    """Rows that one of our scripts writes, in the interpreter with traingraph."""
    path = run.output / f"{name}.json"
    path.unlink(missing_ok=True)
    python = run.python or sys.executable
    run.require(
        name, python, FOLDER / f"{name}.py", "--device", run.options.device, path
    )
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return rows


def train(run: Run) -> Result:
    rows = run_script(run, "training")
    wrong = [row["network"] for row in rows if row["problem"]]
    state = "failed" if wrong else "passed"
    detail = "; ".join(f"{row['network']}: {row['problem'] or 'fine'}" for row in rows)
    return Result("training", state, detail, found=rows)


def measure(run: Run) -> Result:
    rows = run_script(run, "timings")
    return Result("timings", detail=f"{len(rows)} measurements", found=rows)


def run_suites(run: Run) -> Result:
    """C++ tests of everything that holds on every device."""
    folder = run.output / "dev"
    python = run.python or sys.executable
    run.require(
        "suites",
        "cmake",
        "--preset",
        "dev",
        "-B",
        folder,
        f"-DPython_EXECUTABLE={python}",
    )
    run.require("suites", "cmake", "--build", folder)
    log = run.output / "suites-failed.txt"
    ctest = ("ctest", "--test-dir", folder, "-R", r"\.gpu\.", "--output-on-failure")
    code = run.call("suites", *ctest, "--output-log", log)
    text = log.read_text("utf-8", errors="replace") if log.exists() else ""
    summary = [line for line in text.splitlines() if "tests passed" in line]
    if code != 0:
        detail = summary[-1] if summary else f"ctest ended with exit code {code}"
        return Result("suites", "failed", f"{detail} ({log.name})")
    return Result("suites", detail=summary[-1] if summary else "no tests")


STEPS: dict[str, Callable[[Run], Result]] = {
    "tools": check_tools,
    "environment": make_environment,
    "probes": ask_probes,
    "wheel": build_wheel,
    "training": train,
    "timings": measure,
    "suites": run_suites,
}
NAMES = tuple(STEPS)


def run_all(options: argparse.Namespace, wanted: list[str]) -> list[Result]:
    run = Run(options)
    if options.python:
        run.python = str(options.python)
    results = []
    for name in NAMES:
        if name not in wanted:
            results.append(Result(name, "skipped", "not asked for"))
            continue
        print(f"{name} ...", flush=True)
        (run.output / f"{name}.log").unlink(missing_ok=True)
        start = time.monotonic()
        try:
            result = STEPS[name](run)
        except StepError as error:
            result = Result(name, "failed", str(error))
        result.seconds = time.monotonic() - start
        print(f"  {result.state} ({result.seconds:.0f} s)", flush=True)
        results.append(result)
    return results
