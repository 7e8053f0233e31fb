# SPDX-License-Identifier: MIT
"""Calls that type checkers must accept; test_typing.py gives this file to mypy and
pyright. It is not run."""

from __future__ import annotations

import asyncio
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray


def mappings(training: tg.TrainingGraph, inference: tg.InferenceGraph) -> None:
    """dict[str, ndarray] is no dict[str, ArrayLike], but a Mapping to it."""
    plain: dict[str, NDArray[np.float32]] = {"x": np.zeros((4, 3), np.float32)}
    wide: dict[str, NDArray[np.float64]] = {"x": np.zeros((4, 3))}
    lists: dict[str, list[list[float]]] = {"x": [[1.0, 2.0]]}
    counts: dict[str, list[int]] = {"t": [1, 2]}
    shown: Mapping[str, NDArray[Any]] = MappingProxyType(plain)
    mixed: dict[str, NDArray[Any] | tg.mlcompute.TensorData] = {}
    for data in (plain, wide, shown):
        training.execute(data, data, data)
        training.execute_forward(data, data)
        training.bind_and_write_data(data)
        inference.execute(data)
    training.execute(lists, counts, outputs_data=plain)
    training.execute(mixed, {"t": np.int64(3)}, outputs_data=shown)
    tensors: dict[str, tg.Tensor] = {}
    training.add_inputs(tensors, MappingProxyType(tensors))
    training.add_outputs(MappingProxyType(tensors))
    training.compile("cpu", input_tensors=tensors, input_tensors_data=plain)


def arrays(tensor: tg.Tensor) -> NDArray[np.float32]:
    """A tensor is an ArrayLike."""
    tensor.set_data(np.zeros(3))
    tensor.set_data([[1, 2], [3, 4]])
    tg.Tensor((2, 2), data=tensor)
    return np.asarray(tensor, np.float32)


async def tasks(training: tg.TrainingGraph) -> float:
    """An execution is an awaitable and a coroutine."""
    task: asyncio.Task[tg.ExecutionResult] = asyncio.create_task(training.execute())
    result = await task
    also = await training.execute()
    return result.loss + also.loss


def errors() -> str:
    """Fields of errors are text."""
    try:
        tg.Tensor((0,))
    except tg.CallError as error:
        return error.hint
    except (tg.InvalidArgument, TypeError) as error:
        return str(error)
    return ""


def data_sets(training: tg.TrainingGraph, inference: tg.InferenceGraph) -> None:
    """Arrays, mappings, batches, and functions that return them."""
    x, y = np.zeros((9, 3), np.float32), np.zeros(9, np.int64)

    def batches(epoch: int) -> Iterator[dict[str, NDArray[Any]]]:
        yield {"x": x[epoch:], "y": y[epoch:]}

    def bias(outputs: NDArray[np.float32], labels: NDArray[np.float32]) -> float:
        return float((outputs - labels).mean())

    average = tg.callbacks.MovingAverage()
    history: tg.History = tg.fit(
        training,
        (x, y),
        validation={"x": x, "y": y},
        metrics=["accuracy", bias, tg.metrics.accuracy],
        callbacks=[tg.callbacks.ReduceOnPlateau(), lambda epoch: epoch.stop()],
        on_update=average.update,
    )
    tg.fit(training, batches, metrics={"bias": bias, "right": "accuracy"})
    tg.fit(training, [(x, y), [x, y]])
    tg.fit(training, lambda epoch: {"x": x + np.float32(epoch), "y": y})
    with average.apply(training):
        scores: dict[str, float] = tg.evaluate(training, batches(0))
    for data in (x, [x], {"x": x}, [[1.0, 2.0]], training.parameters[0]):
        tg.predict(inference, data, batch_size=4)
    best: NDArray[Any] = tg.predict(inference, x).argmax(axis=1)
    scores["best"] = float(best[0]) + float(tg.predict(training, x)["y"][0])
    groups = tg.parameters_of(training, lambda layer, p: len(p.shape) < len(layer.name))
    groups += tg.parameters_of(tg.layers.Sequential(tg.layers.ReLU()))
    training.set_parameter_groups([tg.ParameterGroup(groups, weight_decay=0)])
    print(history.metrics, scores)


def names(graph: tg.Graph, x: tg.Tensor) -> None:
    """Strings that stand for cases of an enumeration are known, wrong ones too: an
    ignored error that is none would be one."""
    tg.losses.MeanSquaredError("sum")
    tg.layers.Reduction("max", 1)
    graph.ops.reduce(x, type="mean", axes=1)
    graph.ops.reduce(x, type=tg.mlcompute.ReductionType.mean, axes=1)
    graph.ops.reduce(x, type="meen", axes=1)  # type: ignore[arg-type]
    graph.ops.unary(x, operation="sqroot")  # type: ignore[arg-type]
    graph.ops.pad(x, type="zeros", before=1, after=1)  # type: ignore[arg-type]
    tg.ReductionType  # type: ignore[attr-defined]  # noqa: B018
    tg.losses.MeanSquaredError("average")  # type: ignore[call-overload]
