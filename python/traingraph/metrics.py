# SPDX-License-Identifier: MIT
"""Metrics: what tells more of a network than its loss.

Each is a function of outputs and labels, arrays of any number of samples.
:func:`traingraph.fit` and :func:`traingraph.evaluate` take them by name, and
functions of one's own with the same two arguments::

    scores = tg.evaluate(training, (x, y), metrics=["accuracy", "top_5_accuracy"])
"""

from __future__ import annotations

from ._metrics import (
    accuracy,
    mean_absolute_error,
    mean_squared_error,
    root_mean_squared_error,
    top_k_accuracy,
)

__all__ = [
    "accuracy",
    "mean_absolute_error",
    "mean_squared_error",
    "root_mean_squared_error",
    "top_k_accuracy",
]
