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

- tensors and graphs: Tensor, Graph, and what graphs are made of: layers, losses,
  optimizers, ops
- running: TrainingGraph, InferenceGraph, Device, Execution, ExecutionResult
- loops: fit, evaluate, predict, History, metrics, callbacks, prefetch, parameters_of
- what happens: MemoryReport, Report, Profile
- several processes: mpi_collective, Collective, fixed_order
- other formats: onnx; coming from ML Compute: mlcompute, nodes
- what can go wrong: errors
"""

from __future__ import annotations

from . import (
    _attributes,
    _repr,
    _values,
    callbacks,
    errors,
    layers,
    losses,
    metrics,
    mlcompute,
    nodes,
    onnx,
    ops,
    optimizers,
)
from ._collective import mpi_collective
from ._core import (
    Collective,
    DataType,
    Device,
    Execution,
    ExecutionResult,
    Graph,
    InferenceGraph,
    LayerTime,
    MemoryReport,
    ParameterGroup,
    PlanMemory,
    Precision,
    RestoreReport,
    Tensor,
    TensorDescriptor,
    TrainingGraph,
    __version__,
    fixed_order,
    num_threads,
    read_metadata,
    set_num_threads,
    set_seed,
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
    "CallError",
    "CancelledError",
    "Collective",
    "DTypeError",
    "DataType",
    "Device",
    "DeviceError",
    "Epoch",
    "Error",
    "Execution",
    "ExecutionResult",
    "FileError",
    "Graph",
    "History",
    "InferenceGraph",
    "InternalError",
    "InvalidArgument",
    "LayerTime",
    "MemoryReport",
    "OutOfMemoryError",
    "ParameterGroup",
    "PlanMemory",
    "Precision",
    "Profile",
    "Report",
    "RestoreReport",
    "Scaling",
    "ShapeError",
    "StateError",
    "Tensor",
    "TensorDescriptor",
    "TrainingGraph",
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
    "mlcompute",
    "mpi_collective",
    "nodes",
    "num_threads",
    "onnx",
    "ops",
    "optimizers",
    "parameters_of",
    "predict",
    "prefetch",
    "read_metadata",
    "set_num_threads",
    "set_seed",
]

_attributes.install()
_repr.install()
_values.install()
