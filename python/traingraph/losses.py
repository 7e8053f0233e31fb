# SPDX-License-Identifier: MIT
"""Losses: what :class:`traingraph.TrainingGraph` minimises.

Labels have the shape of the prediction, or are indices of classes; the gradient
is the exact derivative of the value that is reported, reduction included.
"""

from __future__ import annotations

from ._core import (
    CTC,
    CategoricalCrossEntropy,
    CosineDistance,
    CTCDescriptor,
    Hinge,
    Huber,
    KullbackLeiblerDivergence,
    Log,
    Loss,
    LossDescriptor,
    MeanAbsoluteError,
    MeanSquaredError,
    SigmoidCrossEntropy,
    SoftmaxCrossEntropy,
    Value,
    YOLOLoss,
    YOLOLossDescriptor,
)

__all__ = [
    "CTC",
    "CTCDescriptor",
    "CategoricalCrossEntropy",
    "CosineDistance",
    "Hinge",
    "Huber",
    "KullbackLeiblerDivergence",
    "Log",
    "Loss",
    "LossDescriptor",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "SigmoidCrossEntropy",
    "SoftmaxCrossEntropy",
    "Value",
    "YOLOLoss",
    "YOLOLossDescriptor",
]
