# SPDX-License-Identifier: MIT
"""Trains a LeNet made of filter nodes on scikit-learn's handwritten digits.

1,797 real scans of 8x8 pixels, a fixed 80/20 split. The backward half of the
graph is made by `training_graph()`, which is watched as it goes; a second graph
of the forward half reads the trained weights. Writes a picture of the training
graph as Graphviz text.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scans import BATCH, load_data

import traingraph as tg
from traingraph import nodes

SEED = 1
LEARNING_RATE = 2e-3
CLASSES = 10


def make_weights(
    rng: np.random.Generator,
    name: str,
    shape: tuple[int, int, int, int],
    optimizer: tg.optimizers.Optimizer | None,
) -> nodes.ConvolutionData:
    """(out, height, width, in): Gaussian, as large as keeps variances with ReLU."""
    scale = np.sqrt(2 / np.prod(shape[1:]))
    return nodes.ConvolutionData(
        (scale * rng.standard_normal(shape)).astype(np.float32),
        np.zeros(shape[0], np.float32),
        optimizer=optimizer,
        name=name,
    )


@dataclass
class Network:
    """The forward half, its loss, and where the weights are."""

    logits: nodes.ImageNode
    loss: nodes.LossNode
    weights: list[nodes.ConvolutionData]


def build(
    rng: np.random.Generator, optimizer: tg.optimizers.Optimizer | None
) -> Network:
    weights = [
        make_weights(rng, "conv1", (16, 3, 3, 1), optimizer),
        make_weights(rng, "conv2", (32, 3, 3, 16), optimizer),
        make_weights(rng, "hidden", (64, 2, 2, 32), optimizer),
        make_weights(rng, "classes", (CLASSES, 1, 1, 64), optimizer),
    ]
    conv1, conv2, hidden, classes = weights
    image = nodes.ImageNode("image", (1, 8, 8))
    labels = nodes.ImageNode("labels", (CLASSES, 1, 1))
    h = nodes.ConvolutionNode(image, conv1, padding="same").result_image
    h = nodes.ReLUNode(h).result_image
    h = nodes.PoolingMaxNode(h, 2).result_image
    h = nodes.ConvolutionNode(h, conv2, padding="same").result_image
    h = nodes.ReLUNode(h).result_image
    h = nodes.PoolingMaxNode(h, 2).result_image
    h = nodes.FullyConnectedNode(h, hidden).result_image
    h = nodes.ReLUNode(h).result_image
    logits = nodes.FullyConnectedNode(h, classes).result_image
    logits.handle = "logits"
    loss = nodes.LossNode(
        logits, labels, nodes.LossDescriptor("softmax_cross_entropy", "sum")
    )
    loss.loss_image.handle = "loss"
    return Network(logits, loss, weights)


def walk_backward(net: Network) -> list[nodes.ImageNode]:
    """Gradients of everything in front of the loss; the last ones of the chain."""

    def tell(
        gradient_node: nodes.FilterNode,
        inference_node: nodes.FilterNode | None,
        inference_source: nodes.ImageNode,
        gradient_source: nodes.ImageNode,
    ) -> None:
        # Whoever takes the calls names the gradients; here they stay nameless.
        print(
            f"{gradient_node.class_name:24} {gradient_source.size!s:12} -> "
            f"{inference_source.size!s:12} of {inference_node}"
        )

    return [leaf.result_image for leaf in net.loss.training_graph(None, tell)]


def make_training_graph(ends: list[nodes.ImageNode], device: str) -> nodes.Graph:
    # Nobody reads the gradient of the scans: the graph leaves it out.
    return nodes.Graph(
        device, ends, batch_size=BATCH, results_are_needed=[False] * len(ends)
    )


def train_epoch(
    graph: nodes.Graph, images: np.ndarray, labels: np.ndarray, epoch: int
) -> float:
    """The mean loss. Runs are enqueued ahead; the last one is waited for."""
    order = np.random.default_rng((SEED, epoch)).permutation(len(images))
    runs = [
        graph.execute(
            {"image": images[rows], "labels": labels[rows]}, batch_size=len(rows)
        )
        for rows in np.split(order, range(BATCH, len(order), BATCH))
    ]
    losses = [run.result().output("loss") for run in runs]
    return float(np.concatenate(losses).mean())


def predict(graph: nodes.Graph, images: np.ndarray) -> np.ndarray:
    found = [
        graph.execute({"image": rows}, batch_size=len(rows)).result().output("logits")
        for rows in np.array_split(images, -(-len(images) // BATCH))
    ]
    return np.concatenate(found).argmax(axis=1)[:, 0, 0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=25)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    (images, labels), (test_images, test_labels) = load_data()
    labels, truth = labels[:, :, None, None], test_labels.argmax(axis=1)
    net = build(np.random.default_rng(SEED), tg.optimizers.Adam(LEARNING_RATE))
    ends = walk_backward(net)
    training = make_training_graph(ends, options.device)
    inference = nodes.Graph(options.device, [net.logits], batch_size=BATCH)
    print(training.compiled.memory)

    start = time.perf_counter()
    for epoch in range(options.epochs):
        loss = train_epoch(training, images, labels, epoch)
        for data in net.weights:
            trained = training.weights(data)
            data.weights, data.bias_terms = trained["weights"], trained["biases"]
        inference.reload_from_data_sources()
        accuracy = 100 * float(np.mean(predict(inference, test_images) == truth))
        print(f"epoch {epoch + 1:3d}  loss {loss:.5f}  held-out {accuracy:.2f} %")
    seconds = time.perf_counter() - start

    picture = options.out / "filter_nodes.dot"
    picture.write_text(nodes.summarized_dot_description(ends))
    print(f"wrote {picture}")
    print(f"held-out accuracy: {accuracy:.2f} %")
    print(f"seconds: {seconds:.1f}")


if __name__ == "__main__":
    main()
