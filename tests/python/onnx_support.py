# SPDX-License-Identifier: MIT
"""Saves graphs and runs them: here, by ONNX Runtime and by ONNX's reference."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

import traingraph as tg

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]

onnxruntime.set_default_logger_severity(3)  # it warns of what it does not like


def tensor(*shape: int, kind: str = "float32", name: str = "x") -> tg.Tensor:
    return tg.Tensor(shape, kind, name=name)


def values_for(tensor: tg.Tensor, rng: np.random.Generator, limit: int = 2) -> Array:
    """Of the tensor's type; integers are below `limit`."""
    kind = str(tensor.data_type)
    if kind == "float32":
        return rng.standard_normal(tensor.shape, np.float32)
    if kind in ("bool", "boolean"):
        return rng.integers(0, 2, tensor.shape).astype(np.bool_)
    return rng.integers(0, limit, tensor.shape).astype(kind)


def inference_of(
    graph: tg.Graph, inputs: dict[str, tg.Tensor], outputs: dict[str, tg.Tensor]
) -> tg.InferenceGraph:
    inference = tg.InferenceGraph([graph])
    inference.add_inputs(inputs)
    inference.add_outputs(outputs)
    inference.compile("cpu")
    return inference


def saved(graph: Any, **options: Any) -> Any:
    """The model as it is read again, and ONNX's own checks of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.onnx"
        tg.onnx.save(graph, path, **options)
        onnx.checker.check_model(path, full_check=True)
        return onnx.load(path)


def run_by_runtime(model: Any, data: Arrays) -> Arrays:
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [value.name for value in model.graph.output]
    results = session.run(names, data)
    return dict(zip(names, results, strict=True))


def run_by_reference(model: Any, data: Arrays) -> Arrays:
    names = [value.name for value in model.graph.output]
    with np.errstate(all="ignore"):
        return dict(zip(names, ReferenceEvaluator(model).run(None, data), strict=True))


def run_here(graph: Any, data: Arrays, batch_size: int = 0) -> Arrays:
    result = graph.execute(data, batch_size=batch_size).result().outputs
    return {name: np.array(values) for name, values in result.items()}


def with_samples(inputs: dict[str, tg.Tensor], data: Arrays, share: Fraction) -> Arrays:
    """The first samples, or as many again behind them in reverse order."""
    picked = {}
    for name, values in data.items():
        axis = inputs[name].batch_axis
        if axis is not None:
            more = np.concatenate([values, np.flip(values, axis)], axis)
            count = int(values.shape[axis] * share)
            values = np.take(more, range(count), axis)
        picked[name] = values
    return picked


def round_trip(
    inference: tg.InferenceGraph,
    inputs: dict[str, tg.Tensor],
    data: Arrays,
    tolerance: float,
    absolute: float = 1e-7,
) -> Any:
    """Saves a graph, which ONNX Runtime and the graph that is loaded again then agree
    with, at the compiled batch and smaller ones; and with each other at twice as many
    samples. Returns the model."""
    model = saved(inference)
    read = {value.name for value in model.graph.input}

    def compare(found: Arrays, wanted: Arrays) -> None:
        assert_agrees(found, wanted, tolerance, absolute)

    def compare_both(loaded: tg.InferenceGraph, part: Arrays, count: int) -> None:
        wanted = run_here(inference, part, count)
        known = {name: part[name] for name in read}
        compare(run_by_runtime(model, known), wanted)
        compare(run_here(loaded, known, count), wanted)

    dims = [d for v in model.graph.input for d in v.type.tensor_type.shape.dim]
    if not any(dim.dim_param for dim in dims):
        compare_both(loaded_graph(model, None), data, 0)
        return model
    sizes = [t.shape[t.batch_axis] for t in inputs.values() if t.batch_axis is not None]
    batch = min(sizes)
    loaded = loaded_graph(model, batch)
    for count in sorted({1, batch // 2, batch - 1, batch} - {0}):
        share = Fraction(count, batch)
        compare_both(loaded, with_samples(inputs, data, share), count)
    twice = with_samples(inputs, data, Fraction(2))
    twice = {name: twice[name] for name in read}
    loaded = loaded_graph(model, 2 * batch)
    compare(run_here(loaded, twice), run_by_runtime(model, twice))
    return model


def loaded_graph(model: Any, batch_size: int | None) -> tg.InferenceGraph:
    graph = tg.onnx.load(model, batch_size=batch_size).inference_graph()
    graph.compile("cpu")
    return graph


def assert_agrees(
    found: Arrays, wanted: Arrays, tolerance: float, absolute: float = 1e-7
) -> None:
    """Of the largest element, so that sums that cancel do not count."""
    assert found.keys() == wanted.keys()
    for name, expected in wanted.items():
        assert found[name].shape == expected.shape, name
        if expected.dtype != np.float32:
            np.testing.assert_array_equal(found[name], expected, err_msg=name)
            continue
        finite = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(found[name]), finite, err_msg=name)
        error = np.abs(found[name] - expected)[finite].max(initial=0)
        scale = np.abs(expected)[finite].max(initial=0)
        assert error <= tolerance * scale + absolute, (name, error, scale)
