# SPDX-License-Identifier: MIT
"""Optimizers: hyperparameters and the update rule they become."""

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
