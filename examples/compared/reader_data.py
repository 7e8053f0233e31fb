# SPDX-License-Identifier: MIT
"""Lines of four scanned digits with gaps of any width between them.

There are no lines of text in the packages that these programs use, so they are put
together from scikit-learn's scans; nothing says where a digit is. A column of pixels
is a step: x is (N, 52, 8), y the digits plus 1, (N, 4), for class 0 is CTC's blank.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

EPOCHS = 15
BATCH = 32
STEPS = 52
CLASSES = 11
DIGITS = 4


def lines(
    images: np.ndarray, classes: np.ndarray, count: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    x = np.zeros((count, STEPS, 8), np.float32)
    y = np.zeros((count, DIGITS), np.int32)
    for line in range(count):
        column = 0
        for place in range(DIGITS):
            column += int(random.integers(0, 6))
            which = random.integers(len(images))
            x[line, column : column + 8] = images[which].T
            y[line, place] = classes[which] + 1
            column += 8
    return x, y


def share_read(scores: np.ndarray, labels: np.ndarray) -> float:
    """Of lines without a mistake, by the best path through scores (N, T, C)."""
    paths = scores.argmax(axis=2)
    starts = np.diff(paths, axis=1, prepend=0) != 0
    read = [path[start & (path > 0)] for path, start in zip(paths, starts, strict=True)]
    pairs = zip(read, labels, strict=True)
    return float(np.mean([np.array_equal(*pair) for pair in pairs]))


digits = load_digits()
train, test, y_of_train, y_of_test = train_test_split(
    digits.images / 16, digits.target, test_size=0.25, random_state=0
)
x_train, y_train = lines(train, y_of_train, 1600, seed=1)
x_test, y_test = lines(test, y_of_test, 400, seed=2)
