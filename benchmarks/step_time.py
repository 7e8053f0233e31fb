# SPDX-License-Identifier: MIT
"""Time of one training step (forward, gradient, update; the loss is read back)
against PyTorch, JAX and ONNX Runtime training, whichever are installed.

Each system trains the same network from the same values in a process of its
own; they take turns in blocks of steps. Who computes other losses is named.

With --precisions each computes in each of these, where it can: the peer of mixed
precision is PyTorch's autocast, with its GradScaler for float16.

With --cblas FOLDER the package of a build with the CPU's other engine takes part,
too, as traingraph-cblas: an environment can hold only one.

With --busy they take turns again while another process computes on each core,
which leaves every system half of the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import worker
from workloads import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

SYSTEMS = [
    "traingraph",
    "traingraph-phases",
    "traingraph-cblas",
    "torch",
    "torch-channels-last",
    "torch-compile",
    "torch-compile-channels-last",
    "jax",
    "onnxruntime",
]
#: Systems that compute in float32 alone.
FLOAT32_ALONE = ["jax", "onnxruntime"]
#: Relative difference of losses that different orders of adding, or roundings,
#: explain; Adam amplifies it.
LOSS_TOLERANCE = {
    "float32": 5e-3,
    "fast": 5e-2,
    "mixed-bfloat16": 5e-2,
    "mixed-float16": 2e-2,
}
PRECISIONS = list(LOSS_TOLERANCE)
#: Of what a system printed, when it ends by itself.
LOG_SHOWN = 2000


@dataclass
class Runner:
    system: str
    precision: str
    process: multiprocessing.Process
    connection: Connection
    ready: worker.Ready
    seconds: list[float] = field(default_factory=list)
    busy_seconds: list[float] = field(default_factory=list)
    peak_bytes: int = 0

    def run(self, steps: int) -> list[float]:
        self.connection.send(steps)
        block = self.connection.recv()
        self.peak_bytes = block.peak_bytes
        return block.seconds

    def stop(self) -> None:
        self.connection.close()
        self.process.join()

    @property
    def name(self) -> str:
        if self.precision == "float32":
            return self.system
        return f"{self.system}, {self.precision}"

    @property
    def milliseconds(self) -> float:
        return statistics.median(self.seconds) * 1e3


def compute(processor: int) -> None:
    os.sched_setaffinity(0, [processor])
    while True:
        pass


@contextlib.contextmanager
def busy_machine() -> Iterator[None]:
    """One process that computes for each processor."""
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=compute, args=(processor,), daemon=True)
        for processor in sorted(os.sched_getaffinity(0))
    ]
    for process in processes:
        process.start()
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.join()


def percentile_99(seconds: list[float]) -> float:
    return sorted(seconds)[int(0.99 * (len(seconds) - 1))]


def start(
    system: str, workload: str, precision: str, packages: Path | None, logs: Path
) -> Runner | str:
    """The runner, or why there is none. Its packages are those of `packages` before
    the environment's. What the system prints goes to `logs`."""
    context = multiprocessing.get_context("spawn")
    connection, other = context.Pipe()
    log = logs / f"{system}-{precision}.log"
    log.touch()
    process = context.Process(
        target=worker.serve,
        args=(other, system, workload, precision, packages, str(log)),
    )
    process.start()
    other.close()
    try:
        ready = connection.recv()
    except EOFError:
        process.join()
        said = log.read_text(encoding="utf-8", errors="replace")[-LOG_SHOWN:]
        return f"ended with exit code {process.exitcode}\n{said}".rstrip()
    if isinstance(ready, worker.Ready):
        return Runner(system, precision, process, connection, ready)
    process.join()
    return "not installed" if isinstance(ready, ImportError) else ready


def is_worth_it(system: str, workload: str, precision: str) -> bool:
    """Channels-last is for images."""
    if system in FLOAT32_ALONE and precision != "float32":
        return False
    return "channels-last" not in system or len(WORKLOADS[workload].sample) == 3


def compare_losses(workload: str, runners: list[Runner]) -> None:
    expected = runners[0].ready.losses
    for runner in runners[1:]:
        losses = runner.ready.losses
        tolerance = LOSS_TOLERANCE[runner.precision]
        if any(
            abs(ours - theirs) > tolerance * abs(ours)
            for ours, theirs in zip(expected, losses, strict=True)
        ):
            print(
                f"{workload}: {runner.system} in {runner.precision} computes other "
                f"losses than {runners[0].system} in {runners[0].precision}: "
                f"{losses}, {expected}",
                file=sys.stderr,
            )


def measure(
    workload: str,
    systems: list[str],
    precisions: list[str],
    rounds: int,
    logs: Path,
    *,
    cblas: Path | None,
    busy: bool,
) -> list[Runner]:
    runners = []
    for precision in precisions:
        for system in systems:
            if not is_worth_it(system, workload, precision):
                continue
            packages = cblas if system == "traingraph-cblas" else None
            runner = start(system, workload, precision, packages, logs)
            if isinstance(runner, str):
                print(f"{workload}: {system}, {precision}: {runner}", file=sys.stderr)
            else:
                runners.append(runner)
    if not runners:
        return []
    compare_losses(workload, runners)
    block = WORKLOADS[workload].block
    for runner in runners:
        runner.run(block)
    for _ in range(rounds):
        for runner in runners:
            runner.seconds += runner.run(block)
    if busy:
        with busy_machine():
            for runner in runners:
                runner.run(block)
            for _ in range(rounds):
                for runner in runners:
                    runner.busy_seconds += runner.run(block)
    for runner in runners:
        runner.stop()
    return runners


def print_table(workload: str, runners: list[Runner]) -> None:
    best: dict[str, float] = {}
    for r in runners:
        if not r.system.startswith("traingraph"):
            fastest = best.get(r.precision, r.milliseconds)
            best[r.precision] = min(fastest, r.milliseconds)
    print(f"\n{workload}")
    print(
        f"  {'system':<28}{'precision':<16}{'ms/step':>10}{'best/it':>9}"
        f"{'peak MiB':>10}{'start s':>9}"
    )
    for r in sorted(runners, key=lambda r: r.milliseconds):
        ratio = best.get(r.precision, float("nan")) / r.milliseconds
        print(
            f"  {r.system:<28}{r.precision:<16}{r.milliseconds:>10.4f}{ratio:>9.2f}"
            f"{r.peak_bytes / 2**20:>10.0f}{r.ready.first_step_seconds:>9.2f}"
        )
    print(
        "  best/it: time of the fastest peer in this precision, divided by the row's",
        flush=True,
    )


def print_busy_table(workload: str, runners: list[Runner]) -> None:
    print(f"\n{workload}, idle and with a busy process on each core (ms)")
    print(f"  {'system':<44}{'mean':>9}{'busy':>9}{'ratio':>7}{'p99':>9}{'busy':>9}")
    for r in runners:
        idle, busy = statistics.fmean(r.seconds), statistics.fmean(r.busy_seconds)
        print(
            f"  {r.name:<44}{idle * 1e3:>9.4f}{busy * 1e3:>9.4f}{busy / idle:>7.2f}"
            f"{percentile_99(r.seconds) * 1e3:>9.3f}"
            f"{percentile_99(r.busy_seconds) * 1e3:>9.3f}"
        )
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS, default=WORKLOADS)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument(
        "--precisions", nargs="+", choices=PRECISIONS, default=["float32"]
    )
    parser.add_argument(
        "--cblas",
        type=Path,
        metavar="FOLDER",
        help="pip install --target FOLDER <a wheel of the engine cblas>",
    )
    parser.add_argument("--rounds", type=int, default=15, help="blocks per system")
    parser.add_argument("--busy", action="store_true", help="also on a busy machine")
    parser.add_argument("--json", type=Path, help="write {workload: {system: ms}}")
    arguments = parser.parse_args()
    systems = list(arguments.systems)
    if not arguments.cblas and "traingraph-cblas" in systems:
        systems.remove("traingraph-cblas")
        print("traingraph-cblas: no --cblas", file=sys.stderr)
    results = {}
    for workload in arguments.workloads:
        with tempfile.TemporaryDirectory() as logs:
            runners = measure(
                workload,
                systems,
                arguments.precisions,
                arguments.rounds,
                Path(logs),
                cblas=arguments.cblas,
                busy=arguments.busy,
            )
        print_table(workload, runners)
        if arguments.busy:
            print_busy_table(workload, runners)
        results[workload] = {r.name: r.milliseconds for r in runners}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
