# SPDX-License-Identifier: MIT
"""``tg.predict``: a compiled graph's outputs for any number of samples."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from . import _core
from ._arguments import got
from ._batches import Declared
from ._calls import checked
from ._data import open_data
from ._make_error import make_error
from ._outputs import RESULT, batch_axes, joined
from .errors import CallError, InvalidArgument, UnsupportedError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._batches import Arrays
    from ._core import Execution, InferenceGraph, TrainingGraph
    from ._data import DataSet
    from ._typing import Data

__all__ = ["predict"]

IN_FLIGHT = 4  # executions whose outputs nobody has read yet


@checked
def predict(
    graph: TrainingGraph | InferenceGraph,
    data: Data,
    *,
    batch_size: int | None = None,
) -> Any:
    """Runs a compiled graph in inference form on any number of samples.

    Args:
        graph: the graph.
        data: arrays of all samples: a mapping, name -> array, of all declared inputs,
            or the array alone where one is declared; a data frame by the names of its
            columns, or as one array where none is declared. Or batches of any size:
            an iterable of such mappings and arrays. Labels are left out, in mappings
            by their names, and behind the input in tuples (x, y).
        batch_size: of whole arrays, in samples; None: as the graph was compiled,
            which is the most.

    Returns:
        The declared outputs by name, a dict, or the array of the graph's last result
        where none are declared, for all samples; type checkers let it be either.
        Outputs that depend on labels are missing.

    Raises:
        CallError: an argument of another type, data without names.
        InvalidArgument: a name that is not declared, no batch, nothing to return.
        ShapeError: arrays of different lengths, or of other shapes than declared.
        UnsupportedError: an output has no batch axis, and there is more than one
            batch.
        Error: what execute() raises.

    Example:
        >>> x = tg.Tensor((8, 2), name="x")
        >>> graph = tg.Graph()
        >>> double = graph.node(tg.layers.Affine(2.0), x)
        >>> inference = tg.InferenceGraph([graph])
        >>> inference.add_inputs({"x": x})
        >>> inference.compile("cpu")
        >>> tg.predict(inference, np.ones((20, 2))).sum()
        np.float32(80.0)
    """
    if not isinstance(graph, _core.CompiledGraph):
        raise make_error(
            CallError,
            "this does not run",
            op="predict",
            node="graph",
            expected="a TrainingGraph or an InferenceGraph",
            got=got(graph),
        )
    declared = Declared("predict", graph, inputs_only=True)
    batches = open_data(declared, "data", data, batch_size=batch_size, cut=True)
    return _predicted(graph, batches)


def _predicted(
    graph: TrainingGraph | InferenceGraph, data: DataSet
) -> dict[str, NDArray[Any]] | NDArray[Any]:
    axes = batch_axes(graph)
    running: deque[Execution] = deque()
    parts: list[dict[str, NDArray[Any]]] = []

    def read(keep: int) -> None:
        while len(running) > keep:
            result = running.popleft().result()
            if parts:
                _require_batch_axes(axes, parts[0], graph.batch_size)
            named = {RESULT: result.result} if RESULT in axes else result.outputs
            parts.append({k: v for k, v in named.items() if v is not None})

    for batch in data.start(0).batches:
        running.append(_execute(graph, batch))
        read(keep=IN_FLIGHT)
    read(keep=0)
    if not parts:
        raise data.no_batch(0)
    axes = {name: axis for name, axis in axes.items() if name in parts[0]}
    if not axes:
        raise make_error(
            InvalidArgument,
            "the graph computes nothing without labels",
            op="predict",
            expected="a declared output, or a last result that is no loss",
            got="none",
            hint="Call add_outputs() before compile().",
        )
    whole: dict[str, NDArray[Any]]
    if len(parts) == 1:
        whole = {name: parts[0][name].copy() for name in axes}
    else:
        whole = joined(parts, axes)
    if RESULT in whole:
        return whole[RESULT]
    return whole


def _execute(graph: TrainingGraph | InferenceGraph, inputs: Arrays) -> Execution:
    if isinstance(graph, _core.InferenceGraph):
        return graph.execute(inputs)
    return graph.execute(inputs, forward_for_inference=True)


def _require_batch_axes(
    axes: dict[str, int], computed: dict[str, Any], size: int
) -> None:
    """Of what is computed in more than one batch."""
    for name in computed:
        if axes[name] < 0:
            raise make_error(
                UnsupportedError,
                "the output has no batch axis, and there is more than one batch",
                op="predict",
                node=name or "result",
                expected=f"at most {size} samples, or outputs of samples",
                got="more samples",
                hint="Call execute() for each batch.",
            )
