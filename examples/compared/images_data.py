# SPDX-License-Identifier: MIT
"""scikit-learn's 1,797 scanned digits, (N, 1, 8, 8), a quarter of them held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPOCHS = 8
BATCH = 32

x, y = load_digits(return_X_y=True)
x = (x / 16).astype(np.float32).reshape(-1, 1, 8, 8)
x_train: NDArray[np.float32]
x_test: NDArray[np.float32]
y_train: NDArray[np.int64]
y_test: NDArray[np.int64]
x_train, x_test, y_train, y_test = train_test_split(
    x, y.astype(np.int64), test_size=0.25, stratify=y, random_state=0
)
