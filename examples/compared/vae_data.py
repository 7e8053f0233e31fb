# SPDX-License-Identifier: MIT
"""scikit-learn's scanned digits, (N, 64), as a variational autoencoder has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPOCHS = 30
BATCH = 64
CODE = 8

x = (load_digits().data / 16).astype(np.float32)
x_train: NDArray[np.float32]
x_test: NDArray[np.float32]
x_train, x_test = train_test_split(x, test_size=0.25, random_state=0)
