# SPDX-License-Identifier: MIT
"""tg.onnx.load: nodes that make no sense, or that there is no counterpart for, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("onnx", reason="what is loaded are ONNX models")

from onnx_graphs import Array, built

FLOATS = np.ones((2, 4), np.float32)
SMALL = np.array([[3, 2, -5, 2], [3, -4, 3, 1]], np.int64)

HOSTILE: dict[str, tuple[Any, dict[str, Array], dict[str, Array], str]] = {
    "topk of more": ([("TopK", "x k", "y i", {})], {"x": FLOATS}, {"k": np.array([9])}, "takes 9 of 4"),
    "topk of none": ([("TopK", "x k", "y i", {})], {"x": FLOATS}, {"k": np.array([0])}, "takes 0 of 4"),
    "topk of many": (
        [("TopK", "x k", "y i", {})],
        {"x": np.zeros((1, 2000), np.float32)},
        {"k": np.array([2])},
        "ranks 2000 elements",
    ),
    "triangle of a row": ([("Trilu", "x", "y", {})], {"x": FLOATS[0]}, {}, "rows and columns"),
    "sum along an axis that is not there": (
        [("CumSum", "x a", "y", {})], {"x": FLOATS}, {"a": np.int64(2)}, "axis 2 of 2"
    ),
    "sum along a computed axis": (
        [("CumSum", "x a", "y", {})],
        {"x": FLOATS, "a": np.array([0])},
        {},
        "has to be known",
    ),
    "positions of too many axes": (
        [("GatherND", "x a", "y", {})], {"x": FLOATS}, {"a": np.array([[0, 1, 2]])}, "3 numbers"
    ),
    "positions outside": (
        [("GatherND", "x a", "y", {})], {"x": FLOATS}, {"a": np.array([[0, 4]])}, "not of (2, 4)"
    ),
    "updates of another shape": (
        [("ScatterND", "x a u", "y", {})],
        {"x": FLOATS},
        {"a": np.array([[0]]), "u": np.zeros((1, 3), np.float32)},
        "its updates are (1, 4)",
    ),
    "a product into": (
        [("ScatterND", "x a u", "y", {"reduction": "mul"})],
        {"x": FLOATS},
        {"a": np.array([[0]]), "u": np.zeros((1, 4), np.float32)},
        "there is no mul",
    ),
    "a step for too many": (
        [("QuantizeLinear", "x s", "q", {}), ("DequantizeLinear", "q s", "y", {})],
        {"x": FLOATS},
        {"s": np.ones(3, np.float32)},
        "3 scales for an axis of 4",
    ),
    "a grid of three": (
        [("GridSample", "x g", "y", {})],
        {"x": FLOATS.reshape(1, 1, 2, 4), "g": np.zeros((1, 2, 2, 3), np.float32)},
        {},
        "samples images at (x, y)",
    ),
    "an odd turn": (
        [("RotaryEmbedding", "x c s", "y", {"num_heads": 2})],
        {"x": np.zeros((1, 2, 6), np.float32)},
        {"c": np.zeros((1, 2, 1), np.float32), "s": np.zeros((1, 2, 1), np.float32)},
        "turns 3 of 3",
    ),
    "an equation of other ranks": (
        [("Einsum", "x", "y", {"equation": "abc->a"})], {"x": FLOATS}, {}, "has 2 axes"
    ),
    "a depth of none": (
        [("OneHot", "x d v", "y", {})],
        {"x": SMALL},
        {"d": np.int64(0), "v": np.array([0.0, 1.0], np.float32)},
        "its depth is 0",
    ),
    "a range of what is computed": (
        [("Range", "a b c", "r", {}), ("Cast", "r", "y", {"to": 1})],
        {"a": np.array(0)},
        {"b": np.int64(4), "c": np.int64(1)},
        "evaluated when the model is loaded",
    ),
    "a power of integers": (
        [("Pow", "x e", "p", {}), ("Cast", "p", "y", {"to": 1})],
        {"x": SMALL},
        {"e": np.int64(-1)},
        "the exponent is known",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_refuses_with_a_reason(name: str) -> None:
    nodes, inputs, held, reason = HOSTILE[name]
    model = built(nodes, inputs, held, "float32")
    with pytest.raises(tg.UnsupportedError) as caught:
        tg.onnx.load(model, trainable=False)
    assert reason in str(caught.value)
    assert nodes[0][0] in str(caught.value)
