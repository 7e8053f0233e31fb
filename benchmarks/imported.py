# SPDX-License-Identifier: MIT
"""Steps of networks that were written in PyTorch, exported to ONNX and loaded.

    python benchmarks/imported.py
    python benchmarks/imported.py --networks gpt unet --exporter dynamo
    python benchmarks/imported.py --before FOLDER

Each network trains in PyTorch (eager, with images in channels-last, compiled), and
here, all in processes of their own that take turns, so that they see the same noise
of the machine. The first losses are compared: all of them train the same parameters.
PyTorch's newer exporter ("dynamo") folds batch normalizations into convolutions, so
that another network trains. With --before FOLDER a package of another version takes part, too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

SYSTEMS = ("torch", "torch-channels-last", "torch-compile", "traingraph")
COMPARED_STEPS = 4
TOLERANCE = {"float32": 2e-3, "mixed_bfloat16": 3e-2}
BLOCK_SECONDS = 0.4
EXPORTERS = ("legacy", "dynamo")


def be_quiet() -> None:
    """Exporters and compilers warn of what does not matter here."""
    with Path(os.devnull).open("w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)


def export(name: str, exporter: str, path: Path) -> None:
    import torch  # noqa: PLC0415
    from imported_networks import NETWORKS  # noqa: PLC0415

    be_quiet()
    torch.manual_seed(0)
    module = NETWORKS[name].make().train()
    x, _ = NETWORKS[name].data()
    options: dict[str, Any] = {"dynamo": exporter == "dynamo"}
    if exporter == "legacy":
        options["training"] = torch.onnx.TrainingMode.TRAINING
        options["do_constant_folding"] = False
    names = {"input_names": ["x"], "output_names": ["y"]}
    torch.onnx.export(module, (x,), path, **names, **options)


def torch_step(name: str, variant: str, precision: str) -> Callable[[], float]:
    import torch  # noqa: PLC0415
    from imported_networks import NETWORKS  # noqa: PLC0415

    torch.manual_seed(0)
    module = NETWORKS[name].make().train()
    x, target = NETWORKS[name].data()
    if variant == "channels-last":
        module = module.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    run = torch.compile(module) if variant == "compile" else module
    optimizer = torch.optim.Adam(module.parameters(), 1e-3, fused=True)
    autocast = torch.autocast("cpu", enabled=precision != "float32")

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        with autocast:
            loss = torch.nn.functional.mse_loss(run(x).float(), target)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def traingraph_step(name: str, path: Path, precision: str) -> Callable[[], float]:
    from imported_networks import NETWORKS  # noqa: PLC0415

    import traingraph as tg  # noqa: PLC0415

    x, target = (tensor.numpy() for tensor in NETWORKS[name].data())
    model = tg.onnx.load(path)
    labels = tg.Tensor(target.shape, name="target")
    training = model.training_graph(
        tg.losses.MeanSquaredError(),
        tg.optimizers.Adam(1e-3),
        loss_labels={"target": labels},
    )
    training.compile("cpu", precision=precision)
    inputs, targets = {"x": x}, {"target": target}

    def step() -> float:
        return float(training.execute(inputs, targets).result().loss)

    return step


def serve(
    connection: Connection,
    system: str,
    name: str,
    path: Path,
    precision: str,
    package: Path | None,
) -> None:
    """Runs in the child: sends the first losses, then times of as many steps as are
    asked for."""
    if package:
        sys.path.insert(0, str(package.resolve()))
    be_quiet()
    try:
        if system.startswith("torch"):
            step = torch_step(name, system.partition("-")[2], precision)
        else:
            step = traingraph_step(name, path, precision)
        connection.send([step() for _ in range(COMPARED_STEPS)])
    except Exception as error:  # noqa: BLE001 - the table goes on without it
        connection.send(repr(error))
        return
    try:
        while True:
            seconds = []
            for _ in range(connection.recv()):
                start = time.perf_counter()
                step()
                seconds.append(time.perf_counter() - start)
            connection.send(seconds)
    except EOFError:
        return


class Runner:
    def __init__(
        self, system: str, name: str, path: Path, precision: str, package: Path | None
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.system = system
        self.connection, other = context.Pipe()
        arguments = (other, system, name, path, precision, package)
        self.process = context.Process(target=serve, args=arguments)
        self.process.start()
        other.close()
        self.seconds: list[float] = []
        try:
            self.losses = self.connection.recv()
        except EOFError:
            self.losses = f"ended with exit code {self.process.exitcode}"

    def run(self, steps: int) -> list[float]:
        self.connection.send(steps)
        return self.connection.recv()

    def stop(self) -> None:
        self.connection.close()
        self.process.join()


def compare(name: str, runners: list[Runner], precision: str) -> None:
    expected = runners[0]
    for runner in runners[1:]:
        pairs = zip(expected.losses, runner.losses, strict=True)
        if any(abs(a - b) > TOLERANCE[precision] * abs(a) for a, b in pairs):
            print(
                f"{name}: {runner.system} computes other losses than "
                f"{expected.system}: {runner.losses}, {expected.losses}",
                file=sys.stderr,
            )


def measure(name: str, path: Path, arguments: argparse.Namespace) -> dict[str, float]:
    """Milliseconds of a step, by system."""
    from imported_networks import NETWORKS  # noqa: PLC0415

    systems = [(system, None) for system in arguments.systems]
    if arguments.before:
        systems.append(("before", arguments.before))
    runners = []
    for system, package in systems:
        is_image = len(NETWORKS[name].sample) == 3  # channels, height, width
        if system == "torch-channels-last" and not is_image:
            continue
        runner = Runner(system, name, path, arguments.precision, package)
        if isinstance(runner.losses, str):
            print(f"{name}: {system}: {runner.losses}", file=sys.stderr)
            runner.stop()
        else:
            runners.append(runner)
    compare(name, runners, arguments.precision)
    steps = {r.system: math.ceil(BLOCK_SECONDS / min(r.run(3))) for r in runners}
    for _, runner in itertools.product(range(arguments.rounds), runners):
        runner.seconds += runner.run(steps[runner.system])
    for runner in runners:
        runner.stop()
    return {r.system: statistics.median(r.seconds) * 1e3 for r in runners}


def main() -> None:
    from imported_networks import NETWORKS  # noqa: PLC0415

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--exporter", choices=EXPORTERS, default="legacy")
    parser.add_argument("--precision", choices=TOLERANCE, default="float32")
    parser.add_argument("--before", type=Path, help="a folder with another package")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", type=Path, help="write {network: {system: ms}}")
    arguments = parser.parse_args()
    table: dict[str, dict[str, float]] = {}
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.networks:
            path = Path(folder) / f"{name}.onnx"
            context = multiprocessing.get_context("spawn")
            exporting = context.Process(
                target=export, args=(name, arguments.exporter, path)
            )
            exporting.start()
            exporting.join()
            row = table[name] = measure(name, path, arguments)
            peers = [ms for system, ms in row.items() if system.startswith("torch")]
            text = "  ".join(f"{system} {ms:.3f}" for system, ms in row.items())
            if peers and "traingraph" in row:
                ratios.append(min(peers) / row["traingraph"])
                text += f"  best of PyTorch / traingraph {ratios[-1]:.2f}"
            if "before" in row and "traingraph" in row:
                text += f"  before / traingraph {row['before'] / row['traingraph']:.2f}"
            print(f"{name:<12}{text}  (ms)", flush=True)
    if ratios:
        print(f"geometric mean {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
