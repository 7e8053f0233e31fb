# SPDX-License-Identifier: MIT
"""Networks that train as one static graph, compiled once.

The shortest program:

>>> import numpy as np
>>> import traingraph as tg
>>> points = np.random.default_rng(1).uniform(-1, 1, (1000, 2)).astype(np.float32)
>>> inside = (np.hypot(*points.T) < 0.7).astype(np.int64)

>>> x = tg.Tensor((50, 2), name="x")  # axis 0 is the batch
>>> y = tg.Tensor((50,), "int64", name="y")
>>> g = tg.Graph()
>>> dense = tg.layers.FullyConnected
>>> scores = g.sequence(x, dense(32), tg.layers.ReLU(), dense(2))
>>> t = tg.TrainingGraph([g], tg.losses.SoftmaxCrossEntropy(), tg.optimizers.Adam(0.02))
>>> t.add_inputs({"x": x}, {"y": y})
>>> t.add_outputs({"scores": scores})
>>> t.compile("cpu")  # t.memory and t.report() are known from here on
>>> history = tg.fit(t, (points, inside), epochs=20, metrics=["accuracy"])
>>> history.metrics["accuracy"][-1] > 0.95
True

What it is made of, each with its own help, such as help(tg.fit):

* `Tensor`, an input, a label or a result; results take operators and methods, such as
  ``h @ w + 1``, ``h[:, 0]`` and ``h.mean(axis=1)``
* `Graph`, to which `node` and `sequence` add layers
* `TrainingGraph` and `InferenceGraph`: declare, `compile`, `execute`, `save`
* `fit`, `evaluate`, `predict`: the loop over batches and epochs; `prefetch`
* `Device`, `set_num_threads`, `set_seed`: where and how it runs

And by module:

* `layers`: convolutions, dense, recurrent and attention layers, normalizations ...
* `losses`: what training minimizes, beside any result of a graph
* `optimizers`: SGD, Adam, AdamW, RMSProp, and schedules of their rates
* `ops`: what a graph computes without parameters, as ``graph.ops.gather(...)``
* `metrics`: the functions behind ``metrics=["accuracy"]``
* `callbacks`: a rate that is reduced on a plateau, averages of parameters
* `nodes`: filter nodes and their walk backward, as with MPSNN
* `onnx`: models of ONNX as graphs that train, and graphs as models
* `mlcompute`: names of ML Compute for which the field has others
* `errors`: what is raised; each error says what it expected, got and what to try

Read on: the docstrings of `TrainingGraph.execute`, for the step in three phases with
gradients in between, and of `fit`; then the guides and programs in docs/ and examples/
of the repository, of which docs/index.md is the first.
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
