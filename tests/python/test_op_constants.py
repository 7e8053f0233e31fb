# SPDX-License-Identifier: MIT
"""graph.ops takes numbers and arrays, as operators of results do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg
from traingraph._signatures import signatures_of

if TYPE_CHECKING:
    from collections.abc import Callable

X = np.array([[1, -2, 4], [0, 3, -1]], np.float32)
ROW = np.array([2, 0.5, -1])


def run(build: Callable[[Any, tg.Tensor], Any], x: np.ndarray = X) -> np.ndarray:
    tensor = tg.Tensor(x.shape, x.dtype.name, name="x")
    graph = tg.Graph()
    y = build(graph.ops, tensor)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": tensor})
    inference.add_outputs({"y": y[0] if isinstance(y, (list, tuple)) else y})
    inference.compile("cpu")
    return np.array(inference.execute({"x": x}).result().output("y"))


CASES: dict[str, tuple[Callable[[Any, tg.Tensor], Any], Any]] = {
    "number": (lambda ops, x: ops.binary(x, 0.5, operation="multiply"), X * 0.5),
    "integer": (lambda ops, x: ops.binary(2, x, operation="subtract"), 2 - X),
    "by name": (lambda ops, x: ops.binary(y=3, x=x, operation="max"), X.clip(3)),
    "scalar": (
        lambda ops, x: ops.binary(x, np.float64(0.25), operation="add"),
        X + 0.25,
    ),
    "array": (
        lambda ops, x: ops.binary(x, ROW, operation="add"),
        X + ROW.astype(np.float32),
    ),
    "no axes": (
        lambda ops, x: ops.binary(x, np.array(2), operation="multiply"),
        X * 2,
    ),
    "select": (
        lambda ops, x: ops.select(ops.compare(x, 0, operation="greater"), x, 0.0),
        X.clip(0),
    ),
    "mask": (
        lambda ops, x: ops.select(ROW > 0, x, -1),
        np.where(ROW > 0, X, -1),
    ),
    "two numbers": (
        lambda ops, x: ops.select(ops.compare(x, 0, operation="less"), 1, -1.5),
        np.where(X < 0, 1, -1.5),
    ),
    "indices": (
        lambda ops, x: ops.gather(x, np.array([2, 0]), axis=1),
        X[:, [2, 0]],
    ),
    "matmul": (lambda ops, x: ops.matmul(x, np.eye(3)[:, :2]), X[:, :2]),
    "concatenate": (
        lambda ops, x: ops.concatenate(x, np.ones((2, 1)), axis=1),
        np.hstack([X, np.ones((2, 1))]),
    ),
    "single_gate_rnn": (
        lambda ops, x: ops.single_gate_rnn(
            ops.reshape(x, shape=(1, 2, 3)), np.zeros((3, 3)), np.eye(3)
        ),
        X.clip(0)[None],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_no_tensor_is_a_constant(name: str) -> None:
    build, expected = CASES[name]
    np.testing.assert_allclose(run(build), expected, rtol=1e-6)


def test_a_table_that_integers_look_up_stays_one_of_floats() -> None:
    ids = np.array([1, 0, 1], np.int32)
    table = np.array([[0.5, 1.5], [2.5, 3.5]])
    rows = run(lambda ops, x: ops.gather(table, x, axis=0), ids)
    np.testing.assert_array_equal(rows, table[ids])


def test_constants_become_the_type_of_the_tensors_beside_them() -> None:
    ops = tg.Graph().ops
    half = tg.Tensor((2, 3), "float16")
    assert ops.binary(half, 0.5, operation="add").data_type is tg.DataType.float16
    assert ops.matmul(half, np.eye(3)).data_type is tg.DataType.float16
    ids = tg.Tensor((2, 3), "int64")
    large = 2**53
    assert ops.compare(ids, large + 1, operation="equal").shape == (2, 3)
    # No value is lost in silence.
    with pytest.raises(tg.InvalidArgument, match=r'\[compare "y"\].*int64'):
        ops.compare(ids, 0.5, operation="less")
    with pytest.raises(tg.InvalidArgument, match=r'\[binary "y"\].*1 of 1'):
        ops.binary(half, 1e6, operation="add")
    with pytest.raises(tg.DTypeError, match="complex"):
        ops.binary(half, np.array([1j]), operation="add")
    with pytest.raises(tg.InvalidArgument, match=r'\[gather "indices"\].*exact'):
        ops.gather(half, np.array([0.5]), axis=1)


@pytest.mark.parametrize("value", ["text", [1.0], True, object(), 1j, int])
def test_what_is_no_operand_is_refused(value: Any) -> None:
    graph, x = tg.Graph(), tg.Tensor((2, 3))
    with pytest.raises(tg.InvalidArgument, match="a Tensor, a number or an array") as e:
        graph.ops.binary(x, value, operation="add")
    assert (e.value.op, e.value.node) == ("binary", "y")
    with pytest.raises(tg.InvalidArgument, match="a Tensor, a number or an array") as e:
        graph.ops.gru(tg.Tensor((5, 8, 3)), value)
    assert (e.value.op, e.value.node) == ("gru", "recurrent_weight")


def test_what_an_op_writes_is_no_constant() -> None:
    ops, x, ones = tg.Graph().ops, tg.Tensor((2, 3, 4, 4)), np.ones(3, np.float32)
    for mean in (ones, 0.0):
        with pytest.raises(tg.InvalidArgument, match="the op writes") as caught:
            ops.batch_norm(x, mean, ones, ones, ones)
        assert "traingraph.Tensor" in caught.value.hint
    (form,) = signatures_of(tg.ops.Ops.batch_norm.__doc__)
    floats = [p.name for p in form.parameters.values() if "float |" in p.annotation]
    assert floats == ["x", "gamma", "beta"]


def test_data_alone_is_no_input() -> None:
    """It was meant to be fed, and would be a constant."""
    ops = tg.Graph().ops
    for call in (
        lambda: ops.softmax(X),
        lambda: ops.binary(X, 1, operation="add"),
        lambda: ops.lstm(np.zeros((5, 8, 3)), np.zeros((16, 4))),
    ):
        with pytest.raises(tg.InvalidArgument, match=r"a Tensor among.*ndarray"):
            call()
