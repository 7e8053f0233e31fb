# SPDX-License-Identifier: MIT
"""Scanned digits in two tasks: 0 to 4, of which there are many, and 5 to 9, of which
200 are for training. Labels of both are 0 to 4."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_digits

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPOCHS = 3
HEAD_EPOCHS = 20
BATCH = 20

x, y = load_digits(return_X_y=True)
x, y = (x / 16).astype(np.float32).reshape(-1, 1, 8, 8), y.astype(np.int64)
x_many: NDArray[np.float32]
y_many: NDArray[np.int64]
x_train: NDArray[np.float32]
x_test: NDArray[np.float32]
y_train: NDArray[np.int64]
y_test: NDArray[np.int64]
x_many, y_many = x[y < 5], y[y < 5]
x, y = x[y >= 5], y[y >= 5] - 5
x_train, y_train, x_test, y_test = x[:200], y[:200], x[200:], y[200:]
