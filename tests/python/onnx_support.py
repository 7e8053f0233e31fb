# SPDX-License-Identifier: MIT
"""Saves graphs and runs them: here, by ONNX Runtime and by ONNX's reference."""

from __future__ import annotations

import tempfile
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
    return dict(zip(names, session.run(names, data), strict=True))


def run_by_reference(model: Any, data: Arrays) -> Arrays:
    names = [value.name for value in model.graph.output]
    with np.errstate(all="ignore"):
        return dict(zip(names, ReferenceEvaluator(model).run(None, data), strict=True))


def run_here(graph: Any, data: Arrays, batch_size: int = 0) -> Arrays:
    result = graph.execute(data, batch_size=batch_size).result().outputs
    return {name: np.array(values) for name, values in result.items()}


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
