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

    Nodes with the same object share its weights, which the optimizer updates on the
    device; without one nobody does.

    Args:
        weights: (out, height, width, in / groups); lists become arrays of float32.
        bias_terms: (out), added to each channel; None: none.
        descriptor: Strides, groups and such; None: that of the weights' shape, with
            strides of 1 and one group.
        optimizer: Updates the weights; the data sources of one graph have the same.
        name: Errors and results name it.

    Raises:
        InvalidArgument: for what is no array.
        ShapeError: for weights of another rank than 4, without a descriptor.

    Example:
        >>> data = tg.nodes.ConvolutionData(np.zeros((4, 3, 3, 1)))
        >>> data.descriptor.kernel_size, data.descriptor.output_feature_channels
        ((3, 3), 4)
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
        op = "ConvolutionData"
        self.weights: NDArray[Any] = _array(op, "weights", weights)
        self.bias_terms: NDArray[Any] | None = _array_or_none(
            op, "bias_terms", bias_terms
        )
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

    Each array has one number per channel; lists become arrays of float32.

    Args:
        feature_channels: The number of channels.
        gamma: The scale; None: 1, and not trained.
        beta: The shift; None: 0, and not trained.
        mean: The running mean; None: 0.
        variance: The running variance; None: 1.
        groups: Into how many group normalization cuts the channels.
        epsilon: Added to the variance.
        momentum: The share that running statistics keep in each run, 0 to 1.
        optimizer: Updates gamma and beta on the device; the data sources of one
            graph have the same.
        name: Errors and results name it.

    Raises:
        InvalidArgument: for what is no array.

    Example:
        >>> data = tg.nodes.NormalizationData(4, np.ones(4), np.zeros(4))
        >>> image = tg.nodes.ImageNode("image", (4, 8, 8))
        >>> tg.nodes.BatchNormalizationNode(image, data).result_image.size
        (4, 8, 8)
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
        op = "NormalizationData"
        self.feature_channels = feature_channels
        self.gamma: NDArray[Any] | None = _array_or_none(op, "gamma", gamma)
        self.beta: NDArray[Any] | None = _array_or_none(op, "beta", beta)
        self.mean: NDArray[Any] | None = _array_or_none(op, "mean", mean)
        self.variance: NDArray[Any] | None = _array_or_none(op, "variance", variance)
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
