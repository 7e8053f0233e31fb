# SPDX-License-Identifier: MIT
"""Static training graphs for Apple GPUs and every CPU.

Build a graph of layers, compile it for a device, then train it: as a whole, or step
by step, phase by phase, asynchronously.

    >>> import numpy as np
    >>> import traingraph as tg
    >>> x = tg.Tensor((8, 4), name="x")
    >>> y = tg.Tensor((8, 2), name="y")
    >>> graph = tg.Graph()
    >>> h = graph.node(tg.layers.FullyConnected(2, name="fc"), x)
    >>> training = tg.TrainingGraph(
    ...     [graph], tg.losses.MeanSquaredError(), tg.optimizers.Adam(0.01)
    ... )
    >>> training.add_inputs({"x": x}, {"y": y})
    >>> training.add_outputs({"h": h})
    >>> training.compile("cpu")
    >>> points = np.random.default_rng(0).normal(size=(8, 4))
    >>> targets = points[:, :2]
    >>> history = tg.fit(training, (points, targets), epochs=3)
    >>> loss = training.execute({"x": points}, {"y": targets}).result().loss

Examples in help() go on from here, those of methods from the one of their class.

Where to look:

* tensors and graphs: Tensor, Graph, and what graphs are made of: layers, losses,
  optimizers, ops
* running: TrainingGraph, InferenceGraph, Device, Execution, ExecutionResult
* loops: fit, evaluate, predict, History, metrics, callbacks, prefetch, parameters_of
* what happens: MemoryReport, Report, Profile
* several processes: mpi_collective, Collective, fixed_order
* other formats: onnx; coming from ML Compute: nodes
* what can go wrong: errors
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
