# SPDX-License-Identifier: MIT
"""Small ONNX models of a few nodes, and what they give."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import traingraph as tg

Array = np.ndarray[Any, Any]

KINDS = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "float64": TensorProto.DOUBLE,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}


def built(
    nodes: list[tuple[str, str, str, dict[str, Any]]],
    inputs: dict[str, Array],
    held: dict[str, Array],
    kind: str,
    opset: int = 23,
) -> Any:
    """Nodes (op, inputs, outputs, attributes); the last one makes y."""
    protos = [
        helper.make_node(op, sources.split(), results.split(), f"n{k}", **attributes)
        for k, (op, sources, results, attributes) in enumerate(nodes)
    ]
    given = [
        helper.make_tensor_value_info(name, KINDS[array.dtype.name], array.shape)
        for name, array in inputs.items()
    ]
    y = helper.make_tensor_value_info("y", KINDS[kind], ["?"])
    initializers = [numpy_helper.from_array(np.asarray(a), n) for n, a in held.items()]
    graph = helper.make_graph(protos, "net", given, [y], initializers)
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def result(model: Any, inputs: dict[str, Array]) -> Array:
    graph = tg.onnx.load(model, trainable=False).inference_graph()
    graph.compile("cpu")
    data = {name: np.atleast_1d(array) for name, array in inputs.items()}
    return np.asarray(graph.execute(data).result().output("y"))
