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
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scans import BATCH, load_data, plot, predict
from tqdm import tqdm

import traingraph as tg

SEED = 1
LEARNING_RATE = 2e-3


@dataclass
class Network:
    """The graph's two faces, which share parameters."""

    training: tg.TrainingGraph
    inference: tg.InferenceGraph
    optimizer: tg.optimizers.Adam


def build(
    device: str,
    precision: str = "float32",
    collective: tg.Collective | None = None,
) -> Network:
    image = tg.Tensor((BATCH, 1, 8, 8), name="image")
    label = tg.Tensor((BATCH, 10), name="label")
    # 23 steps an epoch: statistics that forget faster than the default's 0.99.
    norms = [
        tg.layers.BatchNormalization(c, momentum=0.9, name=f"norm{c}") for c in (32, 64)
    ]
    graph = tg.Graph()
    h = graph.node(tg.layers.Convolution(1, 32, kernel_size=3, name="conv1"), image)
    h = graph.node(norms[0], h)
    h = graph.node(tg.layers.ReLU(), h)
    h = graph.node(tg.layers.MaxPooling(2), h)
    h = graph.node(tg.layers.Convolution(32, 64, kernel_size=3, name="conv2"), h)
    h = graph.node(norms[1], h)
    h = graph.node(tg.layers.ReLU(), h)
    h = graph.node(tg.layers.MaxPooling(2), h)
    h = graph.reshape((BATCH, -1), h)
    h = graph.node(tg.layers.Dropout(0.25), h)
    h = graph.node(tg.layers.FullyConnected(256, 128, name="hidden"), h)
    h = graph.node(tg.layers.ReLU(), h)
    logits = graph.node(tg.layers.FullyConnected(128, 10, name="classes"), h)

    optimizer = tg.optimizers.Adam(LEARNING_RATE)
    training = tg.TrainingGraph(
        [graph], loss=tg.losses.SoftmaxCrossEntropy(), optimizer=optimizer
    )
    training.add_inputs({"image": image}, loss_labels={"label": label})
    training.compile(device=device, precision=precision, collective=collective)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"image": image})
    inference.add_outputs({"logits": logits})
    inference.compile(device=device, precision=precision)
    return Network(training, inference, optimizer)


def train_epoch(
    net: Network, images: np.ndarray, labels: np.ndarray, epoch: int
) -> float:
    """One pass over the shuffled data; the mean loss per sample."""
    net.optimizer.learning_rate = LEARNING_RATE * 0.93**epoch
    order = np.random.default_rng((SEED, epoch)).permutation(len(images))
    total = 0.0
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        run = net.training.execute({"image": images[batch]}, {"label": labels[batch]})
        total += run.result().loss * len(batch)
    return total / len(order)


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

    train_images, test_images, train_labels, test_labels = load_data()
    truth = test_labels.argmax(axis=1)
    tg.Platform.set_rng_seed(SEED)
    net = build(options.device, options.precision)
    history: dict[str, list[float]] = {"loss": [], "accuracy": []}
    if options.resume:
        history = json.loads(net.training.restore(checkpoint).metadata["history"])
    print(net.training.memory)
    predicted_bytes = net.training.memory.total_bytes(with_step=True)
    predicted_bytes += net.inference.memory.total_bytes(
        with_step=False, with_inference=True
    )

    seconds, first = 0.0, len(history["loss"])
    progress = tqdm(range(first, first + options.epochs), unit="epoch")
    for epoch in progress:
        start = time.perf_counter()
        loss = train_epoch(net, train_images, train_labels, epoch)
        seconds += time.perf_counter() - start
        predicted = predict(net.inference, test_images)
        accuracy = 100 * float(np.mean(predicted == truth))
        history["loss"].append(loss)
        history["accuracy"].append(accuracy)
        progress.write(
            f"epoch {epoch + 1:3d}  loss {loss:.5f}  held-out {accuracy:.2f} %"
        )

    net.training.save(checkpoint, metadata={"history": json.dumps(history)})
    plot(options.out / "digits.png", history, test_images, truth, predicted)
    net.training.report().save_svg(options.out / "digits_memory.svg")
    steps = options.epochs * -(-len(train_images) // BATCH)
    allocated = (
        net.training.memory.allocated_bytes + net.inference.memory.allocated_bytes
    )
    print(f"wrote {checkpoint} and {options.out / 'digits.png'}")
    print(f"held-out accuracy: {accuracy:.2f} %")
    print(f"steps per second: {steps / seconds:.0f}")
    print(f"device bytes: {predicted_bytes} predicted, {allocated} allocated")


if __name__ == "__main__":
    main()
