# SPDX-License-Identifier: MIT
"""Trains a small vision transformer on scikit-learn's handwritten digits.

An 8x8 scan becomes 16 tokens of 2x2 pixels, which look at each other in two
pre-norm layers of attention. 1,437 scans to learn from, 360 to be tested with.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scans import BATCH, Scans, load_data, plot

import traingraph as tg
from traingraph import layers

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    h = graph.node(layers.LayerNormalization(), x)
    x = x + graph.node(layers.MultiheadAttention(WIDTH, HEADS, dropout=0.1), [h, h, h])
    return x + graph.sequence(
        x,
        layers.LayerNormalization(),
        layers.FullyConnected(2 * WIDTH),
        layers.GELU(),
        layers.FullyConnected(WIDTH),
        layers.Dropout(0.1),
    )


def build(device: str, precision: str = "float32") -> tg.TrainingGraph:
    image = tg.Tensor((BATCH, 1, 8, 8), name="image")
    label = tg.Tensor((BATCH, 10), name="label")
    graph = tg.Graph()
    h = graph.sequence(
        image,
        layers.Convolution(32, kernel_size=3, name="stem"),
        layers.GELU(),
        layers.Convolution(WIDTH, kernel_size=2, strides=2, name="patches"),
    )
    # What is added for the place of a patch: a row of a table for each.
    places = tg.Tensor((PATCHES,), "int32", data=np.arange(PATCHES), batch_axis=None)
    table = layers.Embedding(
        PATCHES, WIDTH, initializer="glorot_uniform", name="positions"
    )
    h = h.reshape(BATCH, WIDTH, PATCHES).transpose(0, 2, 1) + graph.node(table, places)
    for _ in range(LAYERS):
        h = add_layer(graph, h)
    h = graph.node(layers.LayerNormalization(), h).mean(axis=1)
    logits = graph.node(layers.FullyConnected(10, name="classes"), h)

    training = tg.TrainingGraph(
        [graph],
        tg.losses.SoftmaxCrossEntropy(),
        tg.optimizers.AdamW(LEARNING_RATE, regularization_scale=0.01),
    )
    training.add_inputs({"image": image}, {"label": label})
    training.add_outputs({"logits": logits})
    training.compile(device, precision=precision)
    return training


def train(
    training: tg.TrainingGraph, data: Scans, epochs: int, **options: object
) -> tg.History:
    """On shuffled, shifted scans; options are those of fit()."""
    images, labels = data
    steps = -(-len(images) // BATCH)
    schedule = tg.optimizers.Schedule
    training.optimizer.schedule = schedule.warm_up(
        schedule.cosine(LEARNING_RATE, steps * epochs), steps
    )

    def batches(epoch: int) -> Iterator[Scans]:
        random = np.random.default_rng((SEED, epoch))
        order = random.permutation(len(images))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            yield shifted(images[rows], random), labels[rows]

    return tg.fit(training, batches, epochs=epochs, metrics=["accuracy"], **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="float32", help="mixed-bfloat16 ...")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    parser.add_argument("--seed", type=int, default=SEED, help="of the first values")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    data, test = load_data()
    tg.set_seed(options.seed)
    training = build(options.device, options.precision)
    print(training.memory)
    start = time.perf_counter()
    history = train(training, data, options.epochs, validation=test)
    seconds = time.perf_counter() - start

    predicted = tg.predict(training, test[0])["logits"].argmax(axis=1)
    picture = options.out / "vision_transformer.png"
    plot(picture, history.metrics, test, predicted)
    accuracy = history.metrics["validation_accuracy"][-1]
    print(f"wrote {picture}")
    print(
        f"steps per second: {options.epochs * -(-len(data[0]) // BATCH) / seconds:.0f}"
    )
    print(f"held-out accuracy: {100 * accuracy:.2f} %")


if __name__ == "__main__":
    main()
