# SPDX-License-Identifier: MIT
"""Data sources of filter nodes for who has arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._calls import checked
from ._conversion import array_of, converted
from ._core import NodeConvolutionDescriptor
from ._make_error import make_error
from .errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from .optimizers import Optimizer

__all__ = ["ConvolutionData", "NormalizationData"]


class ConvolutionData:
    """A data source of arrays, for convolutions and fully connected filters.

    weights are (out, height, width, in / groups), bias_terms (out). Without a
    descriptor it is that of the weights' shape, with strides of 1 and one group.
    """

    @checked
    def __init__(
        self,
        weights: ArrayLike,
        bias_terms: ArrayLike | None = None,
        *,
        descriptor: NodeConvolutionDescriptor | None = None,
        optimizer: Optimizer | None = None,
        name: str = "",
    ) -> None:
        """Keeps the arrays; lists become some.

        Raises InvalidArgument for what is no array, ShapeError for weights of
        another rank.
        """
        op = "ConvolutionData"
        self.weights = _array(op, "weights", weights)
        self.bias_terms = _array_or_none(op, "bias_terms", bias_terms)
        if descriptor is None:
            if self.weights.ndim != 4:
                raise make_error(
                    ShapeError,
                    "the weights have the wrong rank",
                    op=op,
                    node="weights",
                    expected="(out, height, width, in)",
                    got=str(self.weights.shape),
                    hint="That is x.transpose(0, 2, 3, 1) of PyTorch's weights.",
                )
            out, height, width, channels = self.weights.shape
            descriptor = NodeConvolutionDescriptor((height, width), channels, out)
        self.descriptor = descriptor
        self.optimizer = optimizer
        self.name = name

    def __repr__(self) -> str:
        return _repr(self.name, f"weights {self.weights.shape}", self)


class NormalizationData:
    """A data source of arrays, for batch, instance and group normalization.

    Each array has one number per channel. gamma and beta that are not given are
    1 and 0 and not trained; mean and variance 0 and 1.
    """

    @checked
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
        name: str = "",
    ) -> None:
        """Keeps the arrays; lists become some.

        Raises InvalidArgument for what is no array.
        """
        op = "NormalizationData"
        self.feature_channels = feature_channels
        self.gamma = _array_or_none(op, "gamma", gamma)
        self.beta = _array_or_none(op, "beta", beta)
        self.mean = _array_or_none(op, "mean", mean)
        self.variance = _array_or_none(op, "variance", variance)
        self.groups = groups
        self.epsilon = epsilon
        self.momentum = momentum
        self.optimizer = optimizer
        self.name = name

    def __repr__(self) -> str:
        return _repr(self.name, f"{self.feature_channels} channels", self)


def _repr(name: str, what: str, data: ConvolutionData | NormalizationData) -> str:
    optimizer = "" if data.optimizer is None else f", {data.optimizer!r}"
    quoted = f'"{name}", ' if name else ""
    return f"<{type(data).__name__} {quoted}{what}{optimizer}>"


def _array(op: str, name: str, values: ArrayLike) -> NDArray[Any]:
    """float32, by the rules of all data; one that is that already is kept."""
    array = array_of(values, op, name)
    if array.dtype == np.float32:
        return array
    return converted(array, np.float32, op, name)


def _array_or_none(op: str, name: str, values: ArrayLike | None) -> NDArray[Any] | None:
    return None if values is None else _array(op, name, values)
