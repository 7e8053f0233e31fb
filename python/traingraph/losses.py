# SPDX-License-Identifier: MIT
"""Losses: what :class:`traingraph.TrainingGraph` minimises.

Labels have the shape of the prediction, or are indices of classes; the gradient
is the exact derivative of the value that is reported, reduction included. Any result
of a graph may be a loss as well.

Example:
    >>> x, label = tg.Tensor((64, 16), name="x"), tg.Tensor((64,), "int32", name="label")
    >>> g = tg.Graph()
    >>> scores = g.node(tg.layers.FullyConnected(10), x)
    >>> loss = tg.losses.SoftmaxCrossEntropy()
    >>> training = tg.TrainingGraph([g], loss, tg.optimizers.Adam(1e-3))
    >>> training.add_inputs({"x": x}, loss_labels={"label": label})
    >>> training.compile("cpu")
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
