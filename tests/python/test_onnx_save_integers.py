# SPDX-License-Identifier: MIT
"""tg.onnx.save: sums along an axis, integers, and where gradients end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("onnx", reason="what is written are ONNX models")
pytest.importorskip("onnxruntime", reason="it runs what is written")

from onnx_support import inference_of, round_trip, tensor

if TYPE_CHECKING:
    from collections.abc import Callable


def whole(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    """Arithmetic of integers: a quotient has no fraction."""
    y = graph.ops.cast(
        graph.ops.binary(x, 10.0, operation="multiply"), data_type="int64"
    )
    for operation, number in (("add", 7), ("multiply", -3), ("divide", 2), ("max", -9)):
        y = graph.ops.binary(y, number, operation=operation)
    y = graph.ops.reduce(y, type="sum", axes=(1,))
    return graph.ops.cumulative_sum(graph.ops.broadcast_to(y, shape=(4, 3)), axis=1)


def chosen(graph: tg.Graph, x: tg.Tensor) -> tg.Tensor:
    """Elements of the last columns, or -1."""
    y = graph.ops.cast(x, data_type="int32")
    columns = np.array([2, 0, 1], np.int32)
    y = graph.ops.gather(y, columns, axis=1)
    above = graph.ops.compare(x, 0.0, operation="greater")
    return graph.ops.select(above, y, -1)


CASES: dict[str, Callable[[tg.Graph, tg.Tensor], tg.Tensor]] = {
    "integers": whole,
    "choice of integers": chosen,
    "cumulative sum": lambda g, x: g.ops.cumulative_sum(x, axis=1),
    "cumulative sum, of those behind": lambda g, x: g.ops.cumulative_sum(
        x, axis=1, is_exclusive=True, reverse=True
    ),
    "stop gradient": lambda g, x: g.ops.stop_gradient(g.ops.unary(x, operation="exp")),
}


@pytest.mark.parametrize("name", CASES)
def test_round_trip(name: str) -> None:
    graph, x = tg.Graph(), tensor(4, 3)
    inference = inference_of(graph, {"x": x}, {"y": CASES[name](graph, x)})
    data = {"x": np.random.default_rng(11).standard_normal((4, 3), np.float32)}
    round_trip(inference, {"x": x}, data, 1e-6)
