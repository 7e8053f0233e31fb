# SPDX-License-Identifier: MIT
"""Trains the digits network from Python and from C++ and compares the bits.

    compare_digits.py path/to/example_digits

The C++ program is linked against the installed package and has no Python in
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


def main() -> int:
    digits = load_example()
    images, _, labels, _ = digits.load_data()
    tg.Platform.set_rng_seed(SEED)
    training = digits.build("cpu").training
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
        program = [sys.argv[1], folder, str(STEPS)]
        output = subprocess.run(program, check=True, capture_output=True, text=True)
        from_cpp = [float.fromhex(s.split()[-1]) for s in output.stdout.splitlines()]
        from_python = [step(number) for number in range(STEPS)]
        training.save(f"{folder}/python.safetensors")
        ends = [
            Path(folder, f"{name}.safetensors").read_bytes()
            for name in ("end", "python")
        ]
        training.restore(f"{folder}/end.safetensors")
        back = [step(number) for number in range(5)]
        training.restore(f"{folder}/python.safetensors")
        stayed = [step(number) for number in range(5)]
    if from_cpp != from_python:
        first = next(i for i in range(STEPS) if from_cpp[i] != from_python[i])
        print(f"step {first}: C++ {from_cpp[first]!r}, Python {from_python[first]!r}")
        return 1
    if ends[0] != ends[1] or back != stayed:
        print("the checkpoints of C++ and Python differ")
        return 1
    print(f"{STEPS} losses and the checkpoint after them: equal, bit for bit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
