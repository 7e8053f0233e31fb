# SPDX-License-Identifier: MIT
"""Trains a convolutional network on scikit-learn's handwritten digits.

1,797 real scans of 8x8 pixels, a fixed 80/20 split. Writes pictures of the run and
of what lies where in memory during a step, and a checkpoint from which `--resume`
continues bit-exactly.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from scans import BATCH, load_data, plot

import traingraph as tg
from traingraph import layers

SEED = 1
STEPS = 23  # of an epoch


def build(
    device: str, precision: str = "float32", collective: tg.Collective | None = None
) -> tg.TrainingGraph:
    image = tg.Tensor((BATCH, 1, 8, 8), name="image")
    label = tg.Tensor((BATCH, 10), name="label")
    graph = tg.Graph()
    logits = graph.sequence(
        image,
        layers.Convolution(32, kernel_size=3, name="conv1"),
        # Few steps an epoch: statistics that forget faster than the default's 0.99.
        layers.BatchNormalization(momentum=0.9, name="norm32"),
        layers.ReLU(),
        layers.MaxPooling(2),
        layers.Convolution(64, kernel_size=3, name="conv2"),
        layers.BatchNormalization(momentum=0.9, name="norm64"),
        layers.ReLU(),
        layers.MaxPooling(2),
        layers.Flatten(),
        layers.Dropout(0.25),
        layers.FullyConnected(128, name="hidden"),
        layers.ReLU(),
        layers.FullyConnected(10, name="classes"),
    )
    adam = tg.optimizers.Adam()
    adam.schedule = tg.optimizers.Schedule.exponential(
        2e-3, 0.93, STEPS, staircase=True
    )
    training = tg.TrainingGraph([graph], tg.losses.SoftmaxCrossEntropy(), adam)
    training.add_inputs({"image": image}, {"label": label})
    training.add_outputs({"logits": logits})
    training.compile(device, precision=precision, collective=collective)
    return training


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30, help="to train now")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32", help="mixed-bfloat16 ...")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    checkpoint = options.out / "digits.safetensors"

    data, test = load_data()
    tg.set_seed(SEED)
    training = build(options.device, options.precision)
    metrics: dict[str, list[float]] = {}
    if options.resume:
        metrics = json.loads(training.restore(checkpoint).metadata["metrics"])
    print(training.memory)
    bytes_predicted = training.memory.total_bytes(with_step=True, with_inference=True)

    first, start = len(metrics.get("loss", [])), time.perf_counter()
    history = tg.fit(
        training,
        data,
        first_epoch=first,
        epochs=first + options.epochs,
        seed=SEED,
        validation=test,
        metrics=["accuracy"],
    )
    seconds = time.perf_counter() - start

    metrics = {k: metrics.get(k, []) + v for k, v in history.metrics.items()}
    training.save(checkpoint, metadata={"metrics": json.dumps(metrics)})
    predicted = tg.predict(training, test[0])["logits"].argmax(axis=1)
    plot(options.out / "digits.png", metrics, test, predicted)
    training.report().save_svg(options.out / "digits_memory.svg")
    print(f"wrote {checkpoint} and {options.out / 'digits.png'}")
    print(f"held-out accuracy: {100 * metrics['validation_accuracy'][-1]:.2f} %")
    print(f"steps per second: {options.epochs * STEPS / seconds:.0f}")
    print(
        f"device bytes: {bytes_predicted} predicted, "
        f"{training.memory.allocated_bytes} allocated"
    )


if __name__ == "__main__":
    main()
