# SPDX-License-Identifier: MIT
"""Trains the digits network from Python and from C++ and compares the bits.

    compare_digits.py path/to/example_digits

The C++ program is linked against the installed package and has no Python in
its process; it starts from the same parameters and sees the same batches.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

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
    training.optimizer.learning_rate = 1e-3  # as in examples/cpp/digits.cpp
    with tempfile.TemporaryDirectory() as folder:
        images.tofile(f"{folder}/images.f32")
        labels.tofile(f"{folder}/labels.f32")
        parameters = [p.numpy().ravel() for p in training.parameters]
        np.concatenate(parameters).tofile(f"{folder}/parameters.f32")
        program = [sys.argv[1], folder, str(SEED), str(STEPS)]
        output = subprocess.run(program, check=True, capture_output=True, text=True)
    from_cpp = [float.fromhex(s.split()[-1]) for s in output.stdout.splitlines()]

    batch = digits.BATCH
    from_python = []
    for step in range(STEPS):
        begin = step % (len(images) // batch) * batch
        data = {"image": images[begin : begin + batch]}
        label = {"label": labels[begin : begin + batch]}
        from_python.append(training.execute(data, label).result().loss)
    if from_cpp != from_python:
        step = next(i for i in range(STEPS) if from_cpp[i] != from_python[i])
        print(f"step {step}: C++ {from_cpp[step]!r}, Python {from_python[step]!r}")
        return 1
    print(f"{STEPS} losses from C++ and Python: equal, bit for bit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
