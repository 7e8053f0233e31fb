# SPDX-License-Identifier: MIT
"""Types of ML Compute's, by its names, for programs that come from it.

Enumerations here are the strings that everything takes: where ML Compute wants
``MLCReductionTypeMean``, ``"mean"`` and ``ReductionType.mean`` are the same.
"""

from __future__ import annotations

from ._core import (
    ActivationType,
    ArithmeticOperation,
    ComparisonOperation,
    ConvolutionType,
    DeviceType,
    GradientClippingType,
    LossType,
    LSTMResultMode,
    PaddingPolicy,
    PaddingType,
    Platform,
    PoolingType,
    RandomInitializerType,
    ReductionType,
    RegularizationType,
    SampleMode,
    SequenceDescriptor,
    SoftmaxOperation,
    TensorData,
    TensorOptimizerDeviceData,
    TensorParameter,
)

__all__ = [
    "ActivationType",
    "ArithmeticOperation",
    "ComparisonOperation",
    "ConvolutionType",
    "DeviceType",
    "GradientClippingType",
    "LSTMResultMode",
    "LossType",
    "PaddingPolicy",
    "PaddingType",
    "Platform",
    "PoolingType",
    "RandomInitializerType",
    "ReductionType",
    "RegularizationType",
    "SampleMode",
    "SequenceDescriptor",
    "SoftmaxOperation",
    "TensorData",
    "TensorOptimizerDeviceData",
    "TensorParameter",
]
