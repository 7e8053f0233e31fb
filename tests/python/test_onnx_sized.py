# SPDX-License-Identifier: MIT
"""Constants of a model that are as large as its inputs are: they follow the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

onnx = pytest.importorskip("onnx", reason="what is loaded are ONNX models")
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RNG = np.random.default_rng(5)


def value(name: str, shape: Any) -> Any:
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def model(nodes: Any, inputs: Any, outputs: Any, initializers: Any = ()) -> Any:
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def run(loaded: tg.onnx.Model, **data: Any) -> Any:
    inference = loaded.inference_graph()
    inference.compile("cpu")
    return inference.execute(data).result().outputs


def test_a_scale_as_long_as_an_axis() -> None:
    """Of ones, for as many features as the input has; a layer has it as a parameter."""
    nodes = [
        helper.make_node("Shape", ["x"], ["last"], start=-1),
        helper.make_node("ConstantOfShape", ["last"], ["zeros"]),
        helper.make_node("Cos", ["zeros"], ["ones"]),
        helper.make_node("LayerNormalization", ["x", "ones", "zeros"], ["y"]),
    ]
    proto = model(nodes, [value("x", ["n", 3])], [value("y", ["n", 3])])
    x = RNG.standard_normal((4, 3)).astype(np.float32)
    found = run(tg.onnx.load(proto, batch_size=4), x=x)["y"]
    wanted = ReferenceEvaluator(proto).run(None, {"x": x})[0]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_constant_as_large_as_the_batch() -> None:
    """The same row for each sample: smaller batches have fewer."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Expand", ["row", "shape"], ["rows"]),
        helper.make_node("Neg", ["rows"], ["negated"]),
        helper.make_node("Concat", ["x", "negated"], ["y"], axis=1),
        helper.make_node("Concat", ["rows", "y"], ["z"], axis=1),
    ]
    row = numpy_helper.from_array(np.float32([[1, 2, 3]]), "row")
    outputs = [value("y", ["n", 6]), value("z", ["n", 9])]
    proto = model(nodes, [value("x", ["n", 3])], outputs, [row])
    loaded = tg.onnx.load(proto, batch_size=4, trainable=False)
    graph = loaded.inference_graph()
    graph.compile("cpu")
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    found = graph.execute({"x": x}, batch_size=2).result().outputs
    wanted = ReferenceEvaluator(proto).run(None, {"x": x})
    np.testing.assert_array_equal(found["y"], wanted[0])
    np.testing.assert_array_equal(found["z"], wanted[1])
