# SPDX-License-Identifier: MIT
"""``tg.predict``: a compiled graph's outputs for any number of samples."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arguments import got
from ._batches import is_mapping
from ._calls import checked
from ._conversion import array_of
from ._make_error import make_error
from ._names import did_you_mean
from .errors import CallError, InvalidArgument, ShapeError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from ._core import Execution, ExecutionResult, InferenceGraph, TrainingGraph
    from ._typing import SupportsDLPack

__all__ = ["predict"]

IN_FLIGHT = 4  # executions whose outputs nobody has read yet
RESULT = ""  # the name of the last result, where no outputs are declared


@checked
def predict(
    graph: TrainingGraph | InferenceGraph,
    inputs: Mapping[str, ArrayLike | SupportsDLPack] | ArrayLike | SupportsDLPack,
) -> dict[str, NDArray[Any]] | NDArray[Any]:
    """Runs a compiled graph in inference form on any number of samples.

    inputs: name -> array of all declared inputs, with as many samples as you like
    on their batch axes, or the array alone where one is declared. They run in
    batches of the size that the graph was compiled for, the last one smaller.
    Returns the declared outputs by name, or the array of the graph's last result
    where none are declared, for all samples. Raises what execute() raises,
    ShapeError, CallError and InvalidArgument; UnsupportedError for more than one
    batch when an output has no batch axis.
    """
    return _Prediction(graph).run(inputs)


def _along(axis: int, begin: int, end: int) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(begin, end))


class _Prediction:
    def __init__(self, graph: TrainingGraph | InferenceGraph) -> None:
        if not isinstance(graph, _core.CompiledGraph):
            raise make_error(
                CallError,
                "this does not run",
                op="predict",
                node="graph",
                expected="a TrainingGraph or an InferenceGraph",
                got=got(graph),
            )
        self._graph = graph
        self._compiled = graph.batch_size
        self._tensors = graph.inputs
        listing = graph._listing()
        outputs = listing["outputs"] or {RESULT: listing["result"]}
        self._axes = {k: listing["values"][v]["batch_axis"] for k, v in outputs.items()}

    def run(self, given: Any) -> dict[str, NDArray[Any]] | NDArray[Any]:
        arrays = self._named(given)
        count = self._samples(arrays)
        running: deque[tuple[int, Execution]] = deque()
        whole: dict[str, NDArray[Any]] = {}

        def read(keep: int) -> None:
            while len(running) > keep:
                begin, execution = running.popleft()
                self._store(whole, execution.result(), begin, count)

        size = self._compiled or count
        for begin in range(0, count, size):
            part = self._part(arrays, begin, min(begin + size, count))
            running.append((begin, self._execute(part)))
            read(keep=IN_FLIGHT)
        read(keep=0)
        if not whole:
            raise make_error(
                InvalidArgument,
                "the graph computes nothing without labels",
                op="predict",
                expected="a declared output, or a last result that is no loss",
                got="none",
                hint="Call add_outputs() before compile().",
            )
        return whole.get(RESULT, whole)

    def _named(self, given: Any) -> dict[str, Any]:
        if is_mapping(given):
            named = {name: given[name] for name in given.keys()}  # noqa: SIM118
        elif len(self._tensors) == 1:
            named = {next(iter(self._tensors)): given}
        else:
            raise make_error(
                CallError,
                "the inputs have no names",
                op="predict",
                node="inputs",
                expected="a mapping name -> array of "
                + ", ".join(f'"{name}"' for name in self._tensors),
                got=got(given),
            )
        for name in named:
            if name not in self._tensors:
                raise self._not_declared(name)
        return {name: self._array(name, value) for name, value in named.items()}

    def _not_declared(self, name: object) -> Exception:
        declared = ", ".join(f'"{each}"' for each in self._tensors) or "no names"
        return make_error(
            InvalidArgument,
            "there is no such input",
            op="predict",
            node=str(name),
            expected=f"one of {declared}",
            got=f'"{name}"',
            hint=did_you_mean(str(name), list(self._tensors)),
        )

    @staticmethod
    def _array(name: str, value: Any) -> Any:
        """Something that slices have shapes of, as NumPy's have."""
        if isinstance(value, _core.Tensor):
            return value.numpy()
        if isinstance(value, np.ndarray) or hasattr(value, "__dlpack__"):
            return value
        return array_of(value, "predict", name)

    def _samples(self, arrays: dict[str, Any]) -> int:
        """Raises ShapeError unless all arrays have as many, and one at least."""
        first, count = "", self._compiled or 1
        for name, array in arrays.items():
            tensor = self._tensors[name]
            axis = tensor.batch_axis
            if axis is None or self._compiled == 0:
                continue
            each = tensor.shape[axis] // self._compiled
            shape = tuple(array.shape)
            size = shape[axis] if axis < len(shape) else 0
            if len(shape) != len(tensor.shape) or size == 0 or size % each:
                raise make_error(
                    ShapeError,
                    "the data has the wrong shape",
                    op="predict",
                    node=name,
                    expected=f"{tensor.shape}, of any number of samples on axis {axis}"
                    + (f", each {each} long" if each > 1 else ""),
                    got=str(shape),
                )
            if first and size // each != count:
                raise make_error(
                    ShapeError,
                    "the inputs have different numbers of samples",
                    op="predict",
                    node=name,
                    expected=f'{count}, as "{first}" has',
                    got=f"{size // each} in {shape}",
                )
            first, count = first or name, size // each
        return count

    def _part(self, arrays: dict[str, Any], begin: int, end: int) -> dict[str, Any]:
        part = {}
        for name, array in arrays.items():
            axis = self._tensors[name].batch_axis
            if axis is None or self._compiled == 0:
                part[name] = array
                continue
            each = self._tensors[name].shape[axis] // self._compiled
            part[name] = array[_along(axis, begin * each, end * each)]
        return part

    def _execute(self, inputs: dict[str, Any]) -> Execution:
        if isinstance(self._graph, _core.InferenceGraph):
            return self._graph.execute(inputs)
        return self._graph.execute(inputs, forward_for_inference=True)

    def _store(
        self,
        whole: dict[str, NDArray[Any]],
        result: ExecutionResult,
        begin: int,
        count: int,
    ) -> None:
        parts = result.outputs if RESULT not in self._axes else {RESULT: result.result}
        for name, part in parts.items():
            axis = self._axes[name]
            if part is None:
                continue
            if axis < 0:
                if begin > 0:
                    raise self._no_batch_axis(name)
                whole[name] = part.copy()
                continue
            samples = min(self._compiled, count - begin)
            each = part.shape[axis] // samples
            if begin == 0:
                shape = list(part.shape)
                shape[axis] = count * each
                whole[name] = np.empty(shape, part.dtype)
            at = _along(axis, begin * each, (begin + samples) * each)
            whole[name][at] = part

    def _no_batch_axis(self, name: str) -> Exception:
        return make_error(
            UnsupportedError,
            "the output has no batch axis, and there is more than one batch",
            op="predict",
            node=name or "result",
            expected=f"at most {self._compiled} samples, or outputs of samples",
            got="more samples",
            hint="Call execute() for each batch.",
        )
