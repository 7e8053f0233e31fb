# SPDX-License-Identifier: MIT
"""The steps of the check: each runs commands, keeps what they print in a log, and
says how it went. One that fails does not end the others."""

from __future__ import annotations

import json
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mac_check import machine, report
from mac_check.run import FOLDER, ROOT, Result, Run, StepError, how_it_ended

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

#: Exit codes of metal_probes (tests/metal_probes/options.cpp).
CONTRADICTED, NO_DEVICE = 2, 3
#: Seconds for one network, which are a minute at most.
NETWORK_PATIENCE = 600


def check_tools(_run: Run) -> Result:
    if not machine.is_mac():
        return Result("tools", "skipped", "not a Mac")
    found = machine.describe()
    complaints = machine.complaints(found["system"], found["compiler"])
    if complaints:
        raise StepError("\n".join(complaints))
    return Result("tools", detail=found["compiler"])


def use_environment(run: Run) -> bool:
    """That of this or an earlier check. False: there is none."""
    folder = run.output / "venv" / "bin"
    if not (folder / "python").exists():
        return False
    run.python = str(folder / "python")
    run.environment["PATH"] = f"{folder}:{run.environment.get('PATH', '')}"
    return True


def make_environment(run: Run) -> Result:
    """An environment of its own with what building needs."""
    if run.options.python:
        return Result("environment", "skipped", "--python")
    folder = run.output / "venv"
    if not run.python:
        run.require("environment", sys.executable, "-m", "venv", folder)
        use_environment(run)
    pip = (run.python, "-m", "pip", "install", "--quiet")
    run.require("environment", *pip, "-r", "tools/requirements.txt")
    detail = str(folder)
    if run.options.compare and run.call("environment", *pip, "torch", "mlx") != 0:
        detail += ", without PyTorch or MLX: they could not be installed"
    return Result("environment", detail=detail)


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
        raise StepError(f"metal_probes {how_it_ended(code)}:\n{run.tail('probes')}")
    found = read_probes(path)
    if code == NO_DEVICE:
        return Result("probes", "failed", "there is no Metal device", found=found)
    state = {0: "passed", CONTRADICTED: "contradicted"}.get(code, "failed")
    counts = [f"{n} {name}" for name, n in found["counts"].items() if n]
    if state == "failed":
        counts.append(f"metal_probes {how_it_ended(code)}")
    return Result("probes", state, ", ".join(counts), found=found)


def read_probes(path: Path) -> dict[str, Any]:
    """Answers may be any bytes: those of a crash are what a process left."""
    try:
        found: dict[str, Any] = json.loads(path.read_text("utf-8", errors="replace"))
    except ValueError as error:
        raise StepError(f"{path.name} is not JSON: {error}") from error
    if not isinstance(found, dict) or not {"probes", "counts"} <= found.keys():
        raise StepError(f"{path.name} is not metal_probes' report")
    unknown = {p["verdict"] for p in found["probes"]} - set(report.VERDICTS)
    if unknown:
        raise StepError(f"{path.name} has unknown verdicts: {sorted(unknown)}")
    return found


def build_wheel(run: Run) -> Result:
    if run.options.python:
        return Result("wheel", "skipped", "--python")
    dist = run.output / "dist"
    pip = (run.python, "-m", "pip")
    run.require("wheel", *pip, "wheel", ".", "--no-deps", "--wheel-dir", dist)
    wheels = sorted(dist.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    if not wheels:
        raise StepError("pip made no wheel: wheel.log")
    wheel = wheels[-1]
    install = (*pip, "install", "--quiet", "--force-reinstall", "--no-deps")
    run.require("wheel", *install, wheel)
    return Result("wheel", detail=wheel.name)


def run_script(run: Run, name: str) -> list[dict[str, Any]]:
    """Rows that one of our scripts writes, in the interpreter with traingraph. Each
    in a process of its own: one that is ended or hangs is a row as well."""
    path = run.output / f"{name}.json"
    command = (
        run.python or sys.executable,
        FOLDER / f"{name}.py",
        "--device",
        run.options.device,
    )
    path.unlink(missing_ok=True)
    run.require(name, *command, "--list", path)
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    for number, row in enumerate(rows):
        path.unlink()
        try:
            code = run.call(
                name,
                *command,
                *("--only", str(number), path),
                patience=NETWORK_PATIENCE,
            )
            ended = how_it_ended(code)
            problem = f"the process {ended}:\n{run.tail(name)}" if code else ""
        except StepError as error:
            problem = str(error)
        if not problem:
            row.update(json.loads(path.read_text("utf-8"))[0])
        else:
            row["problem"] = problem
            path.touch()
    path.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return rows


def train(run: Run) -> Result:
    rows = run_script(run, "training")
    wrong = [row["network"] for row in rows if row["problem"]]
    state = "failed" if wrong or not rows else "passed"
    detail = "; ".join(f"{row['network']}: {row['problem'] or 'fine'}" for row in rows)
    return Result("training", state, detail, found=rows)


def measure(run: Run) -> Result:
    """What others cannot is in the table, and no failure of ours."""
    rows = run_script(run, "timings")
    wrong = [
        f"{row['network']}, {row['system']}: {row['problem']}"
        for row in rows
        if row["problem"] and row["system"].startswith("traingraph")
    ]
    if wrong or not rows:
        return Result("timings", "failed", "; ".join(wrong), found=rows)
    measured = sum(1 for row in rows if not row["problem"])
    return Result("timings", detail=f"{measured} measurements", found=rows)


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
    log.unlink(missing_ok=True)
    ctest = ("ctest", "--test-dir", folder, "-R", r"\.gpu\.", "--output-on-failure")
    code = run.call("suites", *ctest, "--output-log", log)
    text = log.read_text("utf-8", errors="replace") if log.exists() else ""
    summary = [line for line in text.splitlines() if "tests passed" in line]
    if code != 0:
        detail = summary[-1] if summary else f"ctest {how_it_ended(code)}"
        return Result("suites", "failed", f"{detail} ({log.name})")
    if not summary:
        return Result("suites", "failed", f"no test ran ({log.name})")
    return Result("suites", detail=summary[-1])


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


def run_step(run: Run, name: str) -> Result:
    """Whatever happens, there is a result for the report."""
    log = run.output / f"{name}.log"
    log.unlink(missing_ok=True)
    start = time.monotonic()
    try:
        result = STEPS[name](run)
    except StepError as error:
        result = Result(name, "failed", str(error))
    except KeyboardInterrupt:
        result = Result(name, "interrupted", "by Ctrl-C")
    except Exception as error:  # noqa: BLE001  a report in any case
        with log.open("a", encoding="utf-8") as to:
            to.write(traceback.format_exc())
        problem = f"mac_check itself: {type(error).__name__}: {error} ({log.name})"
        result = Result(name, "failed", problem)
    result.seconds = time.monotonic() - start
    return result


def run_all(options: argparse.Namespace, wanted: list[str]) -> list[Result]:
    run = Run(options)
    if options.python:
        # Commands run elsewhere. Not resolved: that leaves an environment.
        found = shutil.which(options.python) or options.python
        run.python = str(Path(found).absolute())
    else:
        use_environment(run)
    results: list[Result] = []
    for name in NAMES:
        if results and results[-1].state == "interrupted":
            wanted = []
        if name not in wanted:
            results.append(Result(name, "skipped", "not asked for"))
            continue
        print(f"{name} ...", flush=True)
        results.append(run_step(run, name))
        print(f"  {results[-1].state} ({results[-1].seconds:.0f} s)", flush=True)
    return results
