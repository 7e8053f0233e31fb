# SPDX-License-Identifier: MIT
"""Optimizers: hyperparameters and the update rule they become.

Give one to :class:`traingraph.TrainingGraph`. Its rate may follow a :class:`Schedule`,
and :class:`traingraph.ParameterGroup` says what is different for some parameters.

Example:
    >>> optimizer = tg.optimizers.AdamW(1e-3, regularization_scale=0.01)
    >>> optimizer.schedule = tg.optimizers.Schedule.cosine(1e-3, steps=1000)
    >>> round(optimizer.schedule.rate(500), 6)
    0.0005
"""

from __future__ import annotations

from ._core import (
    SGD,
    Adam,
    AdamW,
    Optimizer,
    OptimizerDescriptor,
    RMSProp,
    Schedule,
)

__all__ = [
    "SGD",
    "Adam",
    "AdamW",
    "Optimizer",
    "OptimizerDescriptor",
    "RMSProp",
    "Schedule",
]
