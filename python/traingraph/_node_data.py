# SPDX-License-Identifier: MIT
"""Data sources of filter nodes for who has arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._core import NodeConvolutionDescriptor

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .optimizers import Optimizer

__all__ = ["ConvolutionData", "NormalizationData"]


class ConvolutionData:
    """A data source of arrays, for convolutions and fully connected filters.

    weights are (out, height, width, in / groups), bias_terms (out). Without a
    descriptor it is that of the weights' shape, with strides of 1 and one group.
    """

    def __init__(
        self,
        weights: ArrayLike,
        bias_terms: ArrayLike | None = None,
        *,
        descriptor: NodeConvolutionDescriptor | None = None,
        optimizer: Optimizer | None = None,
        label: str = "",
    ) -> None:
        """Keeps the arrays; lists become some."""
        self.weights = _array(weights)
        self.bias_terms = None if bias_terms is None else _array(bias_terms)
        if descriptor is None:
            out, height, width, channels = self.weights.shape
            descriptor = NodeConvolutionDescriptor((height, width), channels, out)
        self.descriptor = descriptor
        self.optimizer = optimizer
        self.label = label


class NormalizationData:
    """A data source of arrays, for batch, instance and group normalization.

    Each array has one number per channel. gamma and beta that are not given are
    1 and 0 and not trained; mean and variance 0 and 1.
    """

    def __init__(
        self,
        feature_channels: int,
        gamma: ArrayLike | None = None,
        beta: ArrayLike | None = None,
        *,
        mean: ArrayLike | None = None,
        variance: ArrayLike | None = None,
        groups: int = 1,
        epsilon: float = 1e-5,
        momentum: float = 0.99,
        optimizer: Optimizer | None = None,
        label: str = "",
    ) -> None:
        """Keeps the arrays; lists become some."""
        self.feature_channels = feature_channels
        self.gamma = None if gamma is None else _array(gamma)
        self.beta = None if beta is None else _array(beta)
        self.mean = None if mean is None else _array(mean)
        self.variance = None if variance is None else _array(variance)
        self.groups = groups
        self.epsilon = epsilon
        self.momentum = momentum
        self.optimizer = optimizer
        self.label = label


def _array(values: ArrayLike) -> NDArray[Any]:
    """Arrays as they are: graphs refuse other types than float32."""
    return values if isinstance(values, np.ndarray) else np.asarray(values, np.float32)
