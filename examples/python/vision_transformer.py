# SPDX-License-Identifier: MIT
"""Trains a small vision transformer on scikit-learn's handwritten digits.

An 8x8 scan becomes 16 tokens of 2x2 pixels, which look at each other in two
pre-norm layers of attention. 1,437 scans to learn from, 360 to be tested with.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scans import BATCH, load_data, plot, predict

import traingraph as tg

PATCHES, WIDTH, HEADS, LAYERS = 16, 64, 4, 2
LEARNING_RATE = 3e-3
SEED = 1


def shifted(images: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Half of them by up to one pixel: a transformer does not know that this is
    nothing."""
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    moves = random.integers(0, 3, (len(images), 2))
    moves[random.random(len(images)) < 0.5] = 1
    windows = [
        x[:, i : i + 8, j : j + 8] for x, (i, j) in zip(padded, moves, strict=True)
    ]
    return np.stack(windows)


def add_layer(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    """x + attention(norm(x)), then the same with two fully connected layers."""
    h = graph.node(tg.layers.LayerNormalization(WIDTH), x)
    attention = tg.layers.MultiheadAttention(WIDTH, HEADS, dropout=0.1)
    h = graph.node(attention, [h, h, h])
    x = graph.ops.binary(x, h, operation="add")
    h = graph.node(tg.layers.LayerNormalization(WIDTH), x)
    h = graph.node(tg.layers.FullyConnected(WIDTH, 2 * WIDTH), h)
    h = graph.node(tg.layers.GELU(), h)
    h = graph.node(tg.layers.FullyConnected(2 * WIDTH, WIDTH), h)
    h = graph.node(tg.layers.Dropout(0.1), h)
    return graph.ops.binary(x, h, operation="add")


@dataclass
class Network:
    training: tg.TrainingGraph
    inference: tg.InferenceGraph
    optimizer: tg.optimizers.AdamW


def build(device: str, precision: str = "float32") -> Network:
    image = tg.Tensor((BATCH, 1, 8, 8), name="image")
    label = tg.Tensor((BATCH, 10), name="label")
    graph = tg.Graph()
    stem = tg.layers.Convolution(1, 32, kernel_size=3, padding="same", name="stem")
    h = graph.node(tg.layers.GELU(), graph.node(stem, image))
    patches = tg.layers.Convolution(32, WIDTH, kernel_size=2, strides=2, name="patches")
    h = graph.ops.reshape(graph.node(patches, h), shape=(BATCH, WIDTH, PATCHES))
    h = graph.ops.transpose(h, axes=(0, 2, 1))
    # What is added for the place of a patch: a row of a table for each.
    table = tg.layers.Embedding(
        PATCHES, WIDTH, initializer="glorot_uniform", name="positions"
    )
    places = tg.Tensor(
        (PATCHES,), np.int32, data=np.arange(PATCHES, dtype=np.int32), batch_axis=None
    )
    h = graph.ops.binary(h, graph.node(table, places), operation="add")
    for _ in range(LAYERS):
        h = add_layer(graph, h)
    h = graph.node(tg.layers.LayerNormalization(WIDTH), h)
    h = graph.ops.reshape(
        graph.ops.reduce(h, type="mean", axes=[1]), shape=(BATCH, WIDTH)
    )
    logits = graph.node(tg.layers.FullyConnected(WIDTH, 10, name="classes"), h)

    optimizer = tg.optimizers.AdamW(LEARNING_RATE, regularization_scale=0.01)
    training = tg.TrainingGraph(
        [graph], loss=tg.losses.SoftmaxCrossEntropy(), optimizer=optimizer
    )
    training.add_inputs({"image": image}, loss_labels={"label": label})
    training.compile(device, precision=precision)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"image": image})
    inference.add_outputs({"logits": logits})
    inference.compile(device, precision=precision)
    return Network(training, inference, optimizer)


def train_epoch(
    net: Network, images: np.ndarray, labels: np.ndarray, epoch: int, epochs: int
) -> float:
    """One pass over the shuffled, shifted data; the mean loss per sample."""
    # Half of it at first, then down along a cosine.
    warm = min(1, (epoch + 1) / 2)
    rate = LEARNING_RATE * warm * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
    net.optimizer.learning_rate = float(rate)
    random = np.random.default_rng((SEED, epoch))
    order = random.permutation(len(images))
    total = 0.0
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        run = net.training.execute(
            {"image": shifted(images[batch], random)}, {"label": labels[batch]}
        )
        total += run.result().loss * len(batch)
    return total / len(order)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32", help="mixed-bfloat16 ...")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--seed", type=int, default=SEED, help="of the first values")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    train_images, test_images, train_labels, test_labels = load_data()
    truth = test_labels.argmax(axis=1)
    tg.set_seed(options.seed)
    net = build(options.device, options.precision)
    print(net.training.memory)
    history: dict[str, list[float]] = {"loss": [], "accuracy": []}
    seconds = 0.0
    for epoch in range(options.epochs):
        start = time.perf_counter()
        loss = train_epoch(net, train_images, train_labels, epoch, options.epochs)
        seconds += time.perf_counter() - start
        predicted = predict(net.inference, test_images)
        accuracy = 100 * float(np.mean(predicted == truth))
        history["loss"].append(loss)
        history["accuracy"].append(accuracy)
        print(f"epoch {epoch + 1:3d}  loss {loss:.5f}  held-out {accuracy:.2f} %")

    picture = options.out / "vision_transformer.png"
    plot(picture, history, test_images, truth, predicted)
    steps = options.epochs * -(-len(train_images) // BATCH)
    print(f"wrote {picture}")
    print(f"steps per second: {steps / seconds:.0f}")
    print(f"held-out accuracy: {accuracy:.2f} %")


if __name__ == "__main__":
    main()
