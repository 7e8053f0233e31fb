# SPDX-License-Identifier: MIT
"""Learns to write a digit in 24 bits: two linked graphs, NumPy between them.

    encoder:  image -> z                                the device
    NumPy:    z -> the nearest rows of a codebook       the host
    decoder:  codes, z -> image, and how far z is off   the device

Looking up the nearest row is no layer and has no derivative. Each phase is a
call of its own, so the host does it between two of them; the gradient of the
codes is passed on to z as it is, from graph to graph by the link.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path

import matplotlib as mpl
import numpy as np
from scans import load_data

import traingraph as tg
from traingraph import layers

mpl.use("Agg")
from matplotlib import pyplot as plt

BATCH = 60  # of all runs: linked graphs read each other's memory
CODES, WIDTH = 64, 16  # rows of the codebook; four of them are an image
LEARNING_RATE = 3e-3
SEED = 1


@dataclass
class Codebook:
    """Rows that follow the mean of what is nearest to them."""

    rows: np.ndarray = field(default_factory=lambda: np.zeros((CODES, WIDTH)))
    counts: np.ndarray = field(default_factory=lambda: np.zeros(CODES))
    random: np.random.Generator = field(
        default_factory=lambda: np.random.default_rng(SEED)
    )

    def nearest(self, z: np.ndarray) -> np.ndarray:
        """The row for each vector of z (n, WIDTH)."""
        products = z @ self.rows.T
        return np.argmin((self.rows**2).sum(1) - 2 * products, axis=1)

    def follow(self, z: np.ndarray, index: np.ndarray) -> None:
        share = 0.05
        for row in np.unique(index):
            near = z[index == row]
            self.rows[row] += share * (near.mean(0) - self.rows[row])
        self.counts *= 1 - share
        self.counts += share * np.bincount(index, minlength=CODES)
        # A row that hardly anything is near to starts again somewhere else.
        unused = np.flatnonzero(self.counts < 0.05)
        self.rows[unused] = z[self.random.choice(len(z), len(unused))]
        self.counts[unused] = 1

    def codes(self, z: np.ndarray, *, follows: bool = False) -> np.ndarray:
        """z (N, WIDTH, 2, 2) with each of its vectors replaced by a row."""
        vectors = z.transpose(0, 2, 3, 1).reshape(-1, WIDTH)
        index = self.nearest(vectors)
        if follows:
            self.follow(vectors, index)
        rows = self.rows[index].astype(np.float32)
        moved = rows.reshape(len(z), 2, 2, WIDTH).transpose(0, 3, 1, 2)
        return np.ascontiguousarray(moved)


class Network:
    def __init__(self, device: str) -> None:
        self.codebook = Codebook()
        image = tg.Tensor((BATCH, 1, 8, 8), name="image")
        encoder, z = build_encoder(image)
        codes = tg.Tensor(z.shape, name="codes")
        wanted = tg.Tensor(image.shape, name="wanted")
        decoder, difference, result = build_decoder(z, codes)

        # One optimizer: its step advances when both graphs have updated.
        adam = tg.optimizers.Adam(LEARNING_RATE)
        self.encoder = tg.TrainingGraph([encoder], optimizer=adam)
        self.encoder.add_inputs({"image": image})
        self.encoder.add_outputs({"z": z})
        self.decoder = tg.TrainingGraph([decoder], tg.losses.MeanSquaredError(), adam)
        self.decoder.add_inputs({"z": z, "codes": codes}, {"wanted": wanted})
        self.decoder.add_outputs({"image": result})
        self.decoder.stop_gradient([difference])
        self.encoder.compile(device, link_graphs=True)
        self.decoder.compile(device, link_graphs=True)
        self.encoder.link([self.decoder])

        # Not linked: of any batch size.
        self.to_z = tg.InferenceGraph([encoder])
        self.to_z.add_inputs({"image": image})
        self.to_z.add_outputs({"z": z})
        self.to_z.compile(device)
        self.to_image = tg.InferenceGraph([decoder])
        self.to_image.add_inputs({"z": z, "codes": codes})
        self.to_image.add_outputs({"image": result})
        self.to_image.compile(device)

    def step(self, images: np.ndarray) -> float:
        z = self.encoder.execute_forward({"image": images}).result().outputs["z"]
        codes = self.codebook.codes(z, follows=True)
        run = self.decoder.execute_forward({"codes": codes}, {"wanted": images})
        self.decoder.execute_gradient()
        self.encoder.execute_gradient()
        self.decoder.execute_optimizer_update()
        self.encoder.execute_optimizer_update()
        return run.result().loss

    def read(self, images: np.ndarray) -> np.ndarray:
        """The codes of the images."""
        return self.codebook.codes(tg.predict(self.to_z, images)["z"])

    def write(self, codes: np.ndarray) -> np.ndarray:
        # The decoder's z is there for its gradient: z + (codes - z).
        return tg.predict(self.to_image, {"z": codes, "codes": codes})["image"]

    def reconstruct(self, images: np.ndarray) -> np.ndarray:
        return self.write(self.read(images))


def build_encoder(image: tg.Tensor) -> tuple[tg.Graph, tg.Tensor]:
    """(N, 1, 8, 8) -> (N, WIDTH, 2, 2)."""
    graph = tg.Graph()
    return graph, graph.sequence(
        image,
        layers.Convolution(32, kernel_size=3),
        layers.ReLU(),
        layers.MaxPooling(2),
        layers.Convolution(64, kernel_size=3),
        layers.ReLU(),
        layers.Convolution(WIDTH, kernel_size=2, strides=2),
    )


def build_decoder(
    z: tg.Tensor, codes: tg.Tensor
) -> tuple[tg.Graph, tg.Tensor, tg.Tensor]:
    """The graph, what stops the gradient, and the image."""
    graph = tg.Graph()
    # Draws z to the codes.
    graph.node(tg.losses.MeanSquaredError(weight=0.25), z, loss_labels=[codes])
    # The codes in value, z for the gradient, which does not pass the difference.
    difference = graph.node(layers.Arithmetic("subtract"), [codes, z])
    image = graph.sequence(
        graph.node(layers.Arithmetic("add"), [z, difference]),
        layers.Flatten(),
        layers.FullyConnected(128),
        layers.ReLU(),
        layers.FullyConnected(64),
        layers.Sigmoid(),
        layers.Reshape((BATCH, 1, 8, 8)),
    )
    return graph, difference, image


def train_epoch(net: Network, images: np.ndarray, epoch: int) -> float:
    """One pass over the shuffled data but for an incomplete batch; mean loss."""
    order = np.random.default_rng((SEED, epoch)).permutation(len(images))
    starts = range(0, len(order) - BATCH + 1, BATCH)
    losses = [net.step(images[order[start : start + BATCH]]) for start in starts]
    return float(np.mean(losses))


def squared_error(images: np.ndarray, others: np.ndarray) -> float:
    return float(np.mean((images - others) ** 2))


def principal_components(train: np.ndarray, test: np.ndarray, count: int) -> np.ndarray:
    """What is left of the images in so many real numbers each."""
    flat, mean = train.reshape(len(train), -1), train.mean(0).reshape(-1)
    axes = np.linalg.svd(flat - mean, full_matrices=False)[2][:count]
    kept = (test.reshape(len(test), -1) - mean) @ axes.T @ axes + mean
    return kept.reshape(test.shape)


def plot(
    path: Path, history: dict[str, list[float]], images: np.ndarray, net: Network
) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(13, 5))
    for name, values in history.items():
        axes[0].semilogy(np.arange(1, len(values) + 1), values, label=name)
    axes[0].set(title="squared error per pixel", xlabel="epoch")
    axes[0].legend()
    shown = images[:30]
    pairs = np.stack([shown, net.reconstruct(shown)])[:, :, 0]
    pairs = np.pad(pairs, ((0, 0), (0, 0), (1, 1), (1, 1)))
    # Three rows of ten digits, each above what 24 bits make of it.
    grid = pairs.reshape(2, 3, 10, 10, 10).transpose(1, 0, 3, 2, 4).reshape(3, 20, 100)
    grid = np.pad(grid, ((0, 0), (2, 2), (0, 0))).reshape(72, 100)
    axes[1].imshow(grid, cmap="gray_r")
    axes[1].set_title("held-out digits, each above its four codes")
    axes[1].axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("demo"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    (train, _), (test, _) = load_data()
    tg.set_seed(SEED)
    net = Network(options.device)
    history: dict[str, list[float]] = {"training": [], "held out": []}
    seconds = 0.0
    for epoch in range(options.epochs):
        start = time.perf_counter()
        history["training"].append(train_epoch(net, train, epoch))
        seconds += time.perf_counter() - start
        history["held out"].append(squared_error(test, net.reconstruct(test)))
        if epoch % 5 == 4:
            print(
                f"epoch {epoch + 1:3d}  training {history['training'][-1]:.5f}  "
                f"held out {history['held out'][-1]:.5f}"
            )

    plot(options.out / "vector_quantization.png", history, test, net)
    four = squared_error(test, principal_components(train, test, 4))
    vectors = net.read(test[:BATCH]).transpose(0, 2, 3, 1).reshape(-1, WIDTH)
    used = len(np.unique(vectors, axis=0))
    print(f"wrote {options.out / 'vector_quantization.png'}")
    print(f"codes that {BATCH} digits use: {used} of {CODES}")
    print(f"steps per second: {options.epochs * (len(train) // BATCH) / seconds:.0f}")
    print(f"held out, four principal components: {four:.5f}")
    print(f"held out, four codes: {history['held out'][-1]:.5f}")


if __name__ == "__main__":
    main()
