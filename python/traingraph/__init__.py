# SPDX-License-Identifier: MIT
"""Networks that train as one static graph, compiled once.

The shortest program, from which examples in help() go on:

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

What it is made of, each with its own help, such as help(tg.fit):

- `Tensor`, an input, a label or a result; results take operators and methods, such as
  ``h @ w + 1``, ``h[:, 0]`` and ``h.mean(axis=1)``
- `Graph`, to which `node` and `sequence` add layers
- `TrainingGraph` and `InferenceGraph`: declare, `compile`, `execute`, `save`
- `fit`, `evaluate`, `predict`: the loop over batches and epochs; `prefetch`
- `Device`, `set_num_threads`, `set_seed`: where and how it runs

And by module:

- `layers`: convolutions, dense, recurrent and attention layers, normalizations ...
- `losses`: what training minimizes, beside any result of a graph
- `optimizers`: SGD, Adam, AdamW, RMSProp, and schedules of their rates
- `ops`: what a graph computes without parameters, as ``graph.ops.gather(...)``
- `metrics`: the functions behind ``metrics=["accuracy"]``
- `callbacks`: a rate that is reduced on a plateau, averages of parameters
- `nodes`: filter nodes and their walk backward, as with MPSNN
- `onnx`: models of ONNX as graphs that train, and graphs as models
- `mlcompute`: names of ML Compute for which the field has others
- `errors`: what is raised; each error says what it expected, got and what to try

Read on: the docstrings of `TrainingGraph.execute`, for the step in three phases with
gradients in between, and of `fit`; then the guides and programs in docs/ and examples/
of the repository, of which docs/index.md is the first.
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
    DeviceLostError,
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
    "DeviceLostError",
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
