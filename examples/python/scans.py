# SPDX-License-Identifier: MIT
"""What the examples that read scikit-learn's handwritten digits share.

1,797 real scans of 8x8 pixels, a fixed 80/20 split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

mpl.use("Agg")
from matplotlib import pyplot as plt

if TYPE_CHECKING:
    from pathlib import Path

    import traingraph as tg

BATCH = 64


def load_data() -> tuple[np.ndarray, ...]:
    """Images (n, 1, 8, 8) in [0, 1] and one-hot labels (n, 10): train, test."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    labels = np.eye(10, dtype=np.float32)[digits.target]
    return train_test_split(
        images, labels, test_size=0.2, random_state=0, stratify=digits.target
    )


def predict(inference: tg.InferenceGraph, images: np.ndarray) -> np.ndarray:
    """The class of each image, from a graph of `image` to `logits`."""
    classes = []
    for start in range(0, len(images), BATCH):
        batch = images[start : start + BATCH]
        run = inference.execute({"image": batch})
        classes.append(run.result().outputs["logits"].argmax(axis=1))
    return np.concatenate(classes)


def plot(
    path: Path,
    history: dict[str, list[float]],
    images: np.ndarray,
    truth: np.ndarray,
    predicted: np.ndarray,
) -> None:
    """Loss and accuracy of each epoch, and eight scans that were misread."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 6), gridspec_kw={"bottom": 0.35})
    epochs = np.arange(1, len(history["loss"]) + 1)
    axes[0].semilogy(epochs, history["loss"])
    axes[0].set(title="training loss", xlabel="epoch")
    axes[1].plot(epochs, history["accuracy"])
    axes[1].set(title="held-out accuracy (%)", xlabel="epoch", ylim=(80, 100))
    wrong = np.flatnonzero(predicted != truth)[:8]
    for i, sample in enumerate(wrong):
        axis = figure.add_axes((0.05 + 0.115 * i, 0.04, 0.1, 0.16))
        axis.imshow(images[sample, 0], cmap="gray_r")
        axis.set_title(f"{truth[sample]}, not {predicted[sample]}", fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)
