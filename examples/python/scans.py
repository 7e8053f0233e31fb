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

BATCH = 64

Scans = tuple[np.ndarray, np.ndarray]


def load_data() -> tuple[Scans, Scans]:
    """Images (n, 1, 8, 8) in [0, 1] and one-hot labels (n, 10), to train and to test."""
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[:, None]
    labels = np.eye(10, dtype=np.float32)[digits.target]
    x, test_x, y, test_y = train_test_split(
        images, labels, test_size=0.2, random_state=0, stratify=digits.target
    )
    return (x, y), (test_x, test_y)


def plot(
    path: Path, metrics: dict[str, list[float]], test: Scans, predicted: np.ndarray
) -> None:
    """Loss and accuracy of each epoch, and eight scans that were misread."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 6), gridspec_kw={"bottom": 0.35})
    epochs = np.arange(1, len(metrics["loss"]) + 1)
    axes[0].semilogy(epochs, metrics["loss"])
    axes[0].set(title="training loss", xlabel="epoch")
    axes[1].plot(epochs, 100 * np.array(metrics["validation_accuracy"]))
    axes[1].set(title="held-out accuracy (%)", xlabel="epoch", ylim=(80, 100))
    truth = test[1].argmax(axis=1)
    for i, sample in enumerate(np.flatnonzero(predicted != truth)[:8]):
        axis = figure.add_axes((0.05 + 0.115 * i, 0.04, 0.1, 0.16))
        axis.imshow(test[0][sample, 0], cmap="gray_r")
        axis.set_title(f"{truth[sample]}, not {predicted[sample]}", fontsize=9)
        axis.axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)
