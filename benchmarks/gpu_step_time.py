# SPDX-License-Identifier: MIT
"""Time of a training step on a GPU, beside PyTorch and JAX.

    python benchmarks/gpu_step_time.py
    python benchmarks/gpu_step_time.py --workloads mlp-large --precisions mixed-bfloat16

Three times for each, in microseconds: "queued", steps on data that is on the device,
many in flight; "read", the same with each loss read; "fed", data from NumPy for each
step, and its loss read. PyTorch runs eager, compiled, with its step captured as a CUDA
graph by hand (which its documentation describes), and both; its optimizers are fused.

The systems take turns in processes of their own. The last row is our time divided by
that of the best peer: 0.25 is four times as fast.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workloads import WORKLOADS, Workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

SYSTEMS = (
    "traingraph",
    "torch",
    "torch-captured",
    "torch-compile",
    "torch-compile-captured",
    "jax",
)
PRECISIONS = ("float32", "fast", "mixed-bfloat16", "mixed-float16")
KINDS = ("queued", "read", "fed")
COMPARED_STEPS = 5
TOLERANCE = {
    "float32": 1e-3,
    "fast": 2e-2,
    "mixed-bfloat16": 5e-2,
    "mixed-float16": 2e-2,
}
BLOCK_SECONDS = 0.15


@dataclass
class Steps:
    """What a system can do; `wait` until all that is queued is over."""

    queue: Callable[[], object]
    wait: Callable[[], None]
    read: Callable[[], float]
    fed: Callable[[], float]


def traingraph_steps(workload: Workload, precision: str, device: str) -> Steps:
    from systems import with_traingraph  # noqa: PLC0415

    training = with_traingraph.build(workload)
    training.compile(device=device, precision=precision.replace("-", "_"))
    batches = with_traingraph.data_of(workload)
    inputs, labels = next(batches)
    training.bind_and_write_data({**inputs, **labels})
    in_flight = []

    def queue() -> None:
        in_flight.append(training.execute(synchronous=False))
        if len(in_flight) > 32:
            in_flight.pop(0).result()

    def wait() -> None:
        for each in in_flight:
            each.result()
        in_flight.clear()

    def read() -> float:
        return training.execute(synchronous=True).result().loss

    def fed() -> float:
        return training.execute(*next(batches), synchronous=True).result().loss

    return Steps(queue, wait, read, fed)


def torch_steps(workload: Workload, precision: str, variant: str) -> Steps:
    import torch  # noqa: PLC0415
    from systems import with_torch  # noqa: PLC0415
    from torch import nn  # noqa: PLC0415

    torch.set_float32_matmul_precision("high" if precision == "fast" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "fast"
    torch.backends.cudnn.benchmark = True
    low_type = with_torch.AUTOCAST.get(precision)
    model = with_torch.build(workload).cuda()
    images, classes = map(torch.from_numpy, workload.batches()[0])
    host = images.pin_memory(), classes.pin_memory()
    x, y = images.cuda(), classes.cuda()
    if x.dim() == 4:  # images
        model = model.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    parameters = with_torch._trained(model)
    if workload.optimizer == "adam":
        optimizer = torch.optim.Adam(parameters, 1e-3, fused=True, capturable=True)
    else:
        optimizer = torch.optim.SGD(parameters, 1e-2, fused=True)
    forward = torch.compile(model) if "compile" in variant else model

    def step() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", low_type or torch.bfloat16, enabled=bool(low_type)):
            loss = nn.functional.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = step
    if "captured" in variant:
        # Warming up trains; the network then starts from its first values again.
        first = [p.detach().clone() for p in parameters]
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(4):
                step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            captured = step()
        with torch.no_grad():
            for p, value in zip(parameters, first, strict=True):
                p.copy_(value)
            for state in optimizer.state.values():
                for value in state.values():
                    if isinstance(value, torch.Tensor):
                        value.zero_()

        def replay() -> torch.Tensor:
            graph.replay()
            return captured

        run = replay

    def fed() -> float:
        x.copy_(host[0], non_blocking=True)
        y.copy_(host[1], non_blocking=True)
        return run().item()

    return Steps(run, torch.cuda.synchronize, lambda: run().item(), fed)


def jax_steps(workload: Workload, precision: str) -> Steps:
    from systems import with_jax  # noqa: PLC0415

    step = with_jax.steps(workload, "", precision)
    return Steps(step, lambda: None, step, step)


def steps_of(system: str, workload: Workload, precision: str, device: str) -> Steps:
    if system == "traingraph":
        return traingraph_steps(workload, precision, device)
    if system == "jax":
        return jax_steps(workload, precision)
    return torch_steps(workload, precision, system)


def time_block(steps: Steps, kind: str, count: int) -> float:
    """Seconds of a step."""
    start = time.perf_counter()
    if kind == "queued":
        for _ in range(count):
            steps.queue()
        steps.wait()
    else:
        step = steps.read if kind == "read" else steps.fed
        for _ in range(count):
            step()
    return (time.perf_counter() - start) / count


def serve(connection: Connection, *arguments: str) -> None:
    """Runs in the child: sends the first losses, then the time of each block asked for."""
    system, workload, precision, device = arguments
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    try:
        start = time.perf_counter()
        steps = steps_of(system, WORKLOADS[workload], precision, device)
        losses = [steps.fed()]
        first = time.perf_counter() - start
        losses += [steps.fed() for _ in range(COMPARED_STEPS - 1)]
        counts = {}
        for kind in KINDS:
            time_block(steps, kind, 10)
            seconds = time_block(steps, kind, 20)
            counts[kind] = max(10, min(5000, int(BLOCK_SECONDS / seconds)))
        connection.send((losses, first))
    except Exception as error:  # noqa: BLE001 - the table goes on without it
        connection.send(repr(error))
        return
    try:
        while True:
            kind = connection.recv()
            connection.send(time_block(steps, kind, counts[kind]))
    except EOFError:
        return  # the parent has closed its end


class Runner:
    def __init__(self, *arguments: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, *arguments))
        self.process.start()
        other.close()
        try:
            ready = self.connection.recv()
        except EOFError:
            ready = "the process ended"
        self.error = ready if isinstance(ready, str) else None
        self.losses, self.first_seconds = ([], 0.0) if self.error else ready
        self.seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}

    def run(self) -> None:
        for kind, seconds in self.seconds.items():
            self.connection.send(kind)
            seconds.append(self.connection.recv())

    def stop(self) -> None:
        self.connection.close()
        self.process.join()

    def microseconds(self, kind: str) -> float:
        return statistics.median(self.seconds[kind]) * 1e6


def measure(
    workload: str, precision: str, systems: list[str], rounds: int, device: str
) -> dict[str, dict[str, float]]:
    runners = {}
    for system in systems:
        runner = Runner(system, workload, precision, device)
        if runner.error:
            print(f"{workload}, {precision}, {system}: {runner.error}", flush=True)
            runner.stop()
        else:
            runners[system] = runner
    for _ in range(rounds):
        for runner in runners.values():
            runner.run()
    expected = next(iter(runners.values())).losses if runners else []
    table: dict[str, dict[str, float]] = {}
    for system, runner in runners.items():
        runner.stop()
        table[system] = {kind: runner.microseconds(kind) for kind in KINDS}
        table[system]["first_s"] = runner.first_seconds
        off = max(
            abs(a - b) / max(abs(b), 1e-2)
            for a, b in zip(runner.losses, expected, strict=True)
        )
        if off > TOLERANCE[precision]:
            print(f"{system} computes other losses: {runner.losses}, {expected}")
    return table


def print_table(name: str, table: dict[str, dict[str, float]]) -> None:
    print(f"\n{name}, us a step")
    print(f"  {'system':<26}" + "".join(f"{kind:>10}" for kind in KINDS) + "   first s")
    for system, row in table.items():
        times = "".join(f"{row[kind]:>10.1f}" for kind in KINDS)
        print(f"  {system:<26}{times}{row['first_s']:>10.2f}")
    peers = [row for system, row in table.items() if system != "traingraph"]
    if "traingraph" in table and peers:
        ours = table["traingraph"]
        ratios = [ours[kind] / min(peer[kind] for peer in peers) for kind in KINDS]
        cells = "".join(f"{ratio:>10.2f}" for ratio in ratios)
        print(f"  {'ours / best peer':<26}{cells}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--workloads",
        nargs="+",
        choices=WORKLOADS,
        default=["mlp-tiny", "mlp-small", "mlp-large"],
    )
    parser.add_argument(
        "--precisions", nargs="+", choices=PRECISIONS, default=["float32"]
    )
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--device", default="gpu", help="traingraph's")
    parser.add_argument("--rounds", type=int, default=7, help="blocks per system")
    parser.add_argument("--json", type=Path, help="write {workload: {system: us}}")
    arguments = parser.parse_args()
    tables = {}
    for workload in arguments.workloads:
        for precision in arguments.precisions:
            name = f"{workload}, {precision}"
            tables[name] = measure(
                workload,
                precision,
                arguments.systems,
                arguments.rounds,
                arguments.device,
            )
            print_table(name, tables[name])
            if arguments.json:
                arguments.json.write_text(json.dumps(tables, indent=1))


if __name__ == "__main__":
    main()
