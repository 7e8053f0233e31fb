# SPDX-License-Identifier: MIT
"""The node cases that the ONNX package ships, and how one is run."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

import traingraph as tg
from traingraph.onnx import _families  # noqa: F401  registers the ops
from traingraph.onnx._host import HOST_OPS
from traingraph.onnx._node import MAPPERS, host_inputs
from traingraph.onnx._read import DATA_TYPES, as_tensor_data

Array = np.ndarray[Any, Any]


@functools.cache
def all_cases() -> list[Any]:
    """Every node case of the package, by name; with the data, some seconds."""
    with warnings.catch_warnings():
        # ONNX computes infinities on purpose.
        warnings.simplefilter("ignore")
        return sorted(collect_testcases(None), key=lambda case: case.name)


def id_of(case: Any) -> str:
    return case.name.removeprefix("test_")


def has_counterpart(case: Any) -> bool:
    """Whether there is an op of each name, and at least one is mapped."""
    nodes = case.model.graph.node
    known = all(
        (n.op_type in MAPPERS or n.op_type in HOST_OPS) and n.domain in ("", "ai.onnx")
        for n in nodes
    )
    return known and any(node.op_type in MAPPERS for node in nodes)


def has_only_known_types(case: Any) -> bool:
    """Whether all inputs and outputs are tensors of traingraph's data types."""
    graph = case.model.graph
    return all(
        value.type.HasField("tensor_type")
        and value.type.tensor_type.elem_type in DATA_TYPES
        for value in (*graph.input, *graph.output)
    )


def loaded(case: Any) -> tuple[tg.onnx.Model, dict[str, Array]]:
    """The model of a case, and the data of its inputs.

    What ONNX passes as an input and traingraph has as an attribute is a
    constant, with the case's own data.
    """
    graph = case.model.graph
    names = [value.name for value in graph.input if value.name]
    data = dict(zip(names, case.data_sets[0][0], strict=True))
    host = host_inputs(graph.node)
    constants = {name: data[name] for name in names if name in host}
    model = tg.onnx.load(case.model, constants=constants)
    return model, {
        n: np.atleast_1d(as_tensor_data(array_of(data[n]))) for n in model.inputs
    }


def array_of(value: Any) -> Array:
    """NumPy has no bfloat16 of its own, so cases may have them as they are stored."""
    is_proto = isinstance(value, onnx.TensorProto)
    return onnx.numpy_helper.to_array(value) if is_proto else np.asarray(value)


def results(case: Any) -> list[Array]:
    """One array per output of the model."""
    model, data = loaded(case)
    inference = model.inference_graph()
    inference.compile("cpu")
    outputs = inference.execute(data).result().outputs
    return [outputs[value.name] for value in case.model.graph.output]
