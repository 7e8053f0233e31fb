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

_repr.install()
_values.install()
