# SPDX-License-Identifier: MIT
"""Time of a training step of several processes with one thread each, against one
process with as many threads, and against PyTorch's DistributedDataParallel over
gloo. All have the same batch, of which a process has its part.

"sharded-ranks" shard the optimizer (`shard_optimizer`). "lone-ranks" exchange
nothing, so that each has a network of its own: the time that an exchange adds to.

The systems take turns in blocks of steps; ranks are bound to a core each. The columns
at the end are the time of one process, and of lone ranks, divided by that of a system:
the second is what an exchange leaves, the first also what ranks do twice. Losses are
compared: those of several processes with each other's system, and with one process
where no layer has statistics of its own samples.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener
from pathlib import Path

import rank_worker
from workloads import WORKLOADS, Norm, Residual, Workload

#: Networks, the first of which others are compared with.
SYSTEMS = ["one-process", "lone-ranks", "ranks", "sharded-ranks", "ddp"]
#: What others are compared with.
IDEALS = SYSTEMS[:2]
#: Different orders of adding; Adam amplifies it.
LOSS_TOLERANCE = 5e-3
#: Seconds for imports, compilation and the first steps of all ranks.
START_PATIENCE = 120.0
LOG_SHOWN = 2000


@dataclass
class Runner:
    system: str
    processes: list[subprocess.Popen]
    connections: list[Connection]  # by rank
    losses: list[float]  # means of all ranks
    seconds: list[float] = field(default_factory=list)

    def run(self, steps: int) -> list[float]:
        """Of each step, the slowest rank's."""
        for connection in self.connections:
            connection.send(steps)
        blocks = [connection.recv() for connection in self.connections]
        return [max(step) for step in zip(*blocks, strict=True)]

    def stop(self) -> None:
        for connection in self.connections:
            connection.close()
        for process in self.processes:
            process.wait()

    @property
    def milliseconds(self) -> float:
        return statistics.median(self.seconds) * 1e3

    @property
    def fastest(self) -> float:
        return min(self.seconds) * 1e3


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def commands(system: str, workload: str, ranks: int) -> list[tuple[list[str], dict]]:
    """Command lines with what they add to the environment."""
    script = str(Path(rank_worker.__file__))
    own = [sys.executable, script, system, workload, str(ranks)]
    if system in ("ranks", "sharded-ranks"):
        launcher = Path(sys.executable).parent / "mpiexec"
        found = str(launcher) if launcher.exists() else "mpiexec"
        # What Open MPI does by itself, and MPICH does not.
        launch = [found, "-n", str(ranks), "--bind-to", "core"]
        return [([*launch, *own], {"OMP_NUM_THREADS": "1"})]
    if system == "one-process":
        return [(own, {"OMP_NUM_THREADS": str(ranks)})]
    meeting = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "WORLD_SIZE": str(ranks),
        "OMP_NUM_THREADS": "1",
    }
    return [(own, {**meeting, "RANK": str(rank)}) for rank in range(ranks)]


def start(system: str, workload: str, ranks: int, folder: Path) -> Runner | str:
    """The runner, or why there is none."""
    address, key = str(folder / system), secrets.token_hex()
    log = folder / f"{system}.log"
    with Listener(address, authkey=key.encode()) as listener, log.open("w") as output:
        listener._listener._socket.settimeout(START_PATIENCE)
        processes = [
            subprocess.Popen(
                command,
                env={**os.environ, **more, "PARENT": address, "PARENT_KEY": key},
                stdout=output,
                stderr=output,
            )
            for command, more in commands(system, workload, ranks)
        ]
        count = 1 if system == "one-process" else ranks
        by_rank: dict[int, tuple[Connection, list[float]]] = {}
        with contextlib.suppress(EOFError, TimeoutError):
            while len(by_rank) < count:
                connection = listener.accept()
                rank, losses = connection.recv()
                by_rank[rank] = (connection, losses)
    if len(by_rank) < count:
        for process in processes:
            process.terminate()
            process.wait()
        return log.read_text(encoding="utf-8", errors="replace")[-LOG_SHOWN:]
    connections = [by_rank[rank][0] for rank in range(count)]
    losses = [by_rank[rank][1] for rank in range(count)]
    means = [statistics.fmean(step) for step in zip(*losses, strict=True)]
    return Runner(system, processes, connections, means)


def has_statistics(layers: tuple) -> bool:
    """Of a process's own samples: batch normalization."""
    return any(
        isinstance(layer, Norm)
        or (isinstance(layer, Residual) and has_statistics(layer.body))
        for layer in layers
    )


def compare_losses(name: str, workload: Workload, runners: list[Runner]) -> None:
    runners = [runner for runner in runners if runner.system != "lone-ranks"]
    if has_statistics(workload.layers):
        runners = [runner for runner in runners if runner.system != "one-process"]
    for runner in runners[1:]:
        first = runners[0]
        if any(
            abs(ours - theirs) > LOSS_TOLERANCE * abs(ours)
            for ours, theirs in zip(first.losses, runner.losses, strict=True)
        ):
            print(
                f"{name}: {runner.system} computes other losses than {first.system}: "
                f"{runner.losses}, {first.losses}",
                file=sys.stderr,
            )


def measure(name: str, systems: list[str], ranks: int, rounds: int) -> list[Runner]:
    workload = WORKLOADS[name]
    runners = []
    with tempfile.TemporaryDirectory() as folder:
        for system in systems:
            runner = start(system, name, ranks, Path(folder))
            if isinstance(runner, str):
                print(f"{name}: {system}: {runner}", file=sys.stderr)
            else:
                runners.append(runner)
        if runners:
            compare_losses(name, workload, runners)
        for round_number in range(rounds + 1):
            for runner in runners:
                block = runner.run(workload.block)
                if round_number > 0:  # the first warms up
                    runner.seconds += block
        for runner in runners:
            runner.stop()
    return runners


def print_table(name: str, runners: list[Runner]) -> None:
    ideals = [r for r in runners if r.system in IDEALS]
    print(f"\n{name}")
    print(f"  {'system':<14}{'ms/step':>10}{'fastest':>10}", end="")
    print("".join(f"{'of ' + ideal.system:>16}" for ideal in ideals))
    for r in runners:
        print(f"  {r.system:<14}{r.milliseconds:>10.4f}{r.fastest:>10.4f}", end="")
        ratios = [ideal.milliseconds / r.milliseconds for ideal in ideals]
        print("".join(f"{ratio:>16.2f}" for ratio in ratios), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workloads", nargs="+", choices=WORKLOADS)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=15, help="blocks per system")
    parser.add_argument("--json", type=Path, help="write {workload: {system: ms}}")
    arguments = parser.parse_args()
    divisible = [
        name for name, each in WORKLOADS.items() if each.batch % arguments.ranks == 0
    ]
    results = {}
    for name in arguments.workloads or divisible:
        if name not in divisible:
            parser.error(f"the batch of {name} is not divisible by the ranks")
        runners = measure(name, arguments.systems, arguments.ranks, arguments.rounds)
        print_table(name, runners)
        results[name] = {r.system: r.milliseconds for r in runners}
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
