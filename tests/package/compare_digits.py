# SPDX-License-Identifier: MIT
"""Trains the digits network from Python, C++ and C and compares the bits.

    compare_digits.py path/to/example_digits path/to/c_digits

The C program knows nothing of the network: Python exports it. The C++ program is linked against the installed package and has no Python in
its process; it goes on from a checkpoint of Python's, sees the same batches, and
leaves a checkpoint that Python reads.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import traingraph as tg

STEPS = 50
SEED = 7
ROOT = Path(__file__).resolve().parent.parent.parent


def load_example():
    path = ROOT / "examples" / "python" / "digits.py"
    sys.path.append(str(path.parent))  # what examples share
    spec = importlib.util.spec_from_file_location("digits", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits"] = module
    spec.loader.exec_module(module)
    return module


def losses_of(program: str, folder: str) -> list[float]:
    command = [program, folder, str(STEPS)]
    output = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float.fromhex(line.split()[-1]) for line in output.stdout.splitlines()]


def main() -> int:
    digits = load_example()
    (images, labels), _ = digits.load_data()
    tg.set_seed(SEED)
    training = digits.build("cpu")
    training.optimizer.schedule = None  # as in C++
    batch = digits.BATCH

    def step(number: int) -> float:
        begin = number % (len(images) // batch) * batch
        data = {"image": images[begin : begin + batch]}
        label = {"label": labels[begin : begin + batch]}
        return training.execute(data, label).result().loss

    for number in range(3):  # so that there are buffers and steps to go on from
        step(number)
    with tempfile.TemporaryDirectory() as folder:
        images.tofile(f"{folder}/images.f32")
        labels.tofile(f"{folder}/labels.f32")
        training.save(f"{folder}/start.safetensors")
        training.export_graph(f"{folder}/net.tg.safetensors")
        from_cpp = losses_of(sys.argv[1], folder)
        from_c = losses_of(sys.argv[2], folder)
        from_python = [step(number) for number in range(STEPS)]
        training.save(f"{folder}/python.safetensors")
        training.export_graph(f"{folder}/python.tg.safetensors")
        exported = [
            Path(folder, f"{name}.tg.safetensors").read_bytes()
            for name in ("end", "python")
        ]
        ends = [
            Path(folder, f"{name}.safetensors").read_bytes()
            for name in ("end", "python")
        ]
        training.restore(f"{folder}/end.safetensors")
        back = [step(number) for number in range(5)]
        training.restore(f"{folder}/python.safetensors")
        stayed = [step(number) for number in range(5)]
    for name, losses in (("C++", from_cpp), ("C", from_c)):
        if losses == from_python:
            continue
        first = next(i for i in range(STEPS) if losses[i] != from_python[i])
        print(f"step {first}: {name} {losses[first]!r}, Python {from_python[first]!r}")
        return 1
    if ends[0] != ends[1] or back != stayed:
        print("the checkpoints of C++ and Python differ")
        return 1
    if exported[0] != exported[1]:
        print("what C and Python exported differs")
        return 1
    print(f"{STEPS} losses and the checkpoint after them: equal, bit for bit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
