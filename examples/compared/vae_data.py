# SPDX-License-Identifier: MIT
"""scikit-learn's scanned digits, (N, 64), as a variational autoencoder has them."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

EPOCHS = 30
BATCH = 64
CODE = 8

x = (load_digits().data / 16).astype(np.float32)
x_train, x_test = train_test_split(x, test_size=0.25, random_state=0)
