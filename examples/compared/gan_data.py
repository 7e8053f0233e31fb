# SPDX-License-Identifier: MIT
"""scikit-learn's scanned digits, (N, 64), and how far others are from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPOCHS = 60
BATCH = 64
NOISE = 16
RATE = 1e-3

images = (load_digits().data / 16).astype(np.float32)
images = np.random.default_rng(0).permutation(images)[:1792]


def energy_distance(made: NDArray[np.float32]) -> float:
    """Between two distributions of points; 0 when they are the same."""
    within = cdist(images, images).mean() + cdist(made, made).mean()
    return float(2 * cdist(images, made).mean() - within)
