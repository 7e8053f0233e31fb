# SPDX-License-Identifier: MIT
"""569 biopsies of breast tissue, 30 numbers of each: is the tumour benign?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

if TYPE_CHECKING:
    from numpy.typing import NDArray

EPOCHS = 30
BATCH = 32

x, y = load_breast_cancer(return_X_y=True)
x_train: NDArray[np.float32]
x_test: NDArray[np.float32]
y_train: NDArray[np.int64]
y_test: NDArray[np.int64]
x_train, x_test, y_train, y_test = train_test_split(
    x, y.astype(np.int64), test_size=0.25, stratify=y, random_state=0
)
scaler = StandardScaler().fit(x_train)
x_train = scaler.transform(x_train).astype(np.float32)
x_test = scaler.transform(x_test).astype(np.float32)
