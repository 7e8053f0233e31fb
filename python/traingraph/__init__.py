# SPDX-License-Identifier: MIT
"""Static training graphs for Apple GPUs and every CPU.

Build a graph of layers, compile it for a device, then run forward, gradient
and optimizer update: in one call, or phase by phase, asynchronously::

    import traingraph as tg

    image = tg.Tensor((64, 16), name="image")
    label = tg.Tensor((64, 10), name="label")
    graph = tg.Graph()
    logits = graph.node(tg.layers.FullyConnected(16, 10), image)

    training = tg.TrainingGraph(
        [graph],
        loss=tg.losses.SoftmaxCrossEntropy(),
        optimizer=tg.optimizers.Adam(1e-3),
    )
    training.add_inputs({"image": image}, loss_labels={"label": label})
    training.compile(device="cpu")
    loss = training.execute({"image": x}, {"label": y}).result().loss
"""

from __future__ import annotations

from . import (
    _repr,
    _values,
    callbacks,
    errors,
    layers,
    losses,
    metrics,
    nodes,
    onnx,
    optimizers,
)
from ._collective import mpi_collective
from ._core import (
    ActivationType,
    ArithmeticOperation,
    Collective,
    ComparisonOperation,
    ConvolutionType,
    DataType,
    Device,
    DeviceType,
    Execution,
    ExecutionResult,
    GradientClippingType,
    Graph,
    GRUDescriptor,
    ImageEdgeMode,
    ImageReduction,
    InferenceGraph,
    LayerTime,
    LossType,
    LSTMOpDescriptor,
    LSTMResultMode,
    MemoryReport,
    NeuronType,
    PaddingAlignment,
    PaddingExtent,
    PaddingPolicy,
    PaddingRemainder,
    PaddingType,
    ParameterGroup,
    PlanMemory,
    Platform,
    PoolingType,
    Precision,
    RandomInitializerType,
    ReductionType,
    RegularizationType,
    RestoreReport,
    SampleMode,
    SequenceDescriptor,
    SingleGateRNNDescriptor,
    SoftmaxOperation,
    Tensor,
    TensorData,
    TensorDescriptor,
    TensorOptimizerDeviceData,
    TensorParameter,
    TrainingGraph,
    TrainingStyle,
    __version__,
    fixed_order,
    num_threads,
    read_metadata,
    set_num_threads,
)
from ._fit import Epoch, evaluate, fit
from ._history import History
from ._insight import Profile, Report, Scaling
from ._parameters import parameters_of
from ._predict import predict
from ._prefetch import prefetch
from .errors import (
    CallError,
    CancelledError,
    DeviceError,
    DTypeError,
    Error,
    FileError,
    InternalError,
    InvalidArgument,
    OutOfMemoryError,
    ShapeError,
    StateError,
    UnsupportedError,
)

__all__ = [
    "ActivationType",
    "ArithmeticOperation",
    "CallError",
    "CancelledError",
    "Collective",
    "ComparisonOperation",
    "ConvolutionType",
    "DTypeError",
    "DataType",
    "Device",
    "DeviceError",
    "DeviceType",
    "Epoch",
    "Error",
    "Execution",
    "ExecutionResult",
    "FileError",
    "GRUDescriptor",
    "GradientClippingType",
    "Graph",
    "History",
    "ImageEdgeMode",
    "ImageReduction",
    "InferenceGraph",
    "InternalError",
    "InvalidArgument",
    "LSTMOpDescriptor",
    "LSTMResultMode",
    "LayerTime",
    "LossType",
    "MemoryReport",
    "NeuronType",
    "OutOfMemoryError",
    "PaddingAlignment",
    "PaddingExtent",
    "PaddingPolicy",
    "PaddingRemainder",
    "PaddingType",
    "ParameterGroup",
    "PlanMemory",
    "Platform",
    "PoolingType",
    "Precision",
    "Profile",
    "RandomInitializerType",
    "ReductionType",
    "RegularizationType",
    "Report",
    "RestoreReport",
    "SampleMode",
    "Scaling",
    "SequenceDescriptor",
    "ShapeError",
    "SingleGateRNNDescriptor",
    "SoftmaxOperation",
    "StateError",
    "Tensor",
    "TensorData",
    "TensorDescriptor",
    "TensorOptimizerDeviceData",
    "TensorParameter",
    "TrainingGraph",
    "TrainingStyle",
    "UnsupportedError",
    "__version__",
    "callbacks",
    "errors",
    "evaluate",
    "fit",
    "fixed_order",
    "layers",
    "losses",
    "metrics",
    "mpi_collective",
    "nodes",
    "num_threads",
    "onnx",
    "optimizers",
    "parameters_of",
    "predict",
    "prefetch",
    "read_metadata",
    "set_num_threads",
]

_repr.install()
_values.install()
