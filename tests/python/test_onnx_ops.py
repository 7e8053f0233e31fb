# SPDX-License-Identifier: MIT
"""tg.onnx.load: what is computed of integers and Booleans while the network runs, floats
of other widths, and what makes no sense."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import traingraph as tg

onnx = pytest.importorskip("onnx", reason="what is loaded are ONNX models")
from onnx.reference import ReferenceEvaluator
from onnx_graphs import KINDS, Array, built, result

RNG = np.random.default_rng(3)
MASK = np.array([[1, 1, 1, 0], [0, 1, 1, 1]], np.int64)
LARGE = np.array([[1 << 40, -7, 0, 5], [(1 << 53) + 1, 9, -8, 1]], np.int64)
SMALL = np.array([[3, 2, -5, 2], [3, -4, 3, 1]], np.int64)
FLOATS = RNG.standard_normal((2, 4)).astype(np.float32)
ONE, TWO = np.int64(1), np.array([2], np.int64)

# Name -> nodes, inputs, initializers, the type of y.
GRAPHS: dict[str, tuple[Any, dict[str, Array], dict[str, Array], str]] = {
    "position ids": (
        [
            ("CumSum", "mask axis", "c", {}),
            ("Sub", "c one", "p", {}),
            ("Equal", "mask zero", "is_padding", {}),
            ("Where", "is_padding one p", "y", {}),
        ],
        {"mask": MASK},
        {"axis": ONE, "one": ONE, "zero": np.int64(0)},
        "int64",
    ),
    "positions by mask": (
        [
            ("Not", "mask", "n", {}),
            ("Cast", "n", "i", {"to": 6}),
            ("CumSum", "i axis", "c", {}),
            ("Mul", "c i", "m", {}),
            ("Cast", "m", "l", {"to": 7}),
            ("Add", "l two", "y", {}),
        ],
        {"mask": MASK == 0},
        {"axis": ONE, "two": TWO},
        "int64",
    ),
    "causal and padding mask": (
        [
            ("Unsqueeze", "mask ax", "m", {}),
            ("Expand", "m shape", "e", {}),
            ("Cast", "e", "b", {"to": 9}),
            ("Trilu", "b", "t", {"upper": 0}),
            ("Where", "t zero lowest", "y", {}),
        ],
        {"mask": MASK},
        {
            "ax": np.array([1, 2]),
            "shape": np.array([2, 1, 4, 4]),
            "zero": np.float32(0),
            "lowest": np.float32(-np.inf),
        },
        "float32",
    ),
    "relative positions": (
        [
            ("Sub", "q k", "d", {}),
            ("Abs", "d", "a", {}),
            ("Neg", "a", "n", {}),
            ("Max", "n low", "c", {}),
            ("Mod", "c size", "y", {}),
        ],
        {"q": SMALL[:, :, None], "k": SMALL[:, None, :]},
        {"low": np.int64(-6), "size": np.int64(5)},
        "int64",
    ),
    "lengths": (
        [
            ("ReduceSum", "mask ax", "n", {"keepdims": 0}),
            ("Sub", "n one", "last", {}),
            ("Unsqueeze", "last ax", "at", {}),
            ("GatherElements", "ids at", "y", {"axis": 1}),
        ],
        {"mask": MASK, "ids": SMALL},
        {"ax": np.array([1]), "one": ONE},
        "int64",
    ),
    "buckets": (
        [
            ("ArgMax", "x", "i", {"axis": 1, "keepdims": 0}),
            ("Add", "i one", "s", {}),
            ("OneHot", "s depth values", "y", {}),
        ],
        {"x": FLOATS},
        {"one": ONE, "depth": np.int64(6), "values": np.array([0.0, 1.0], np.float32)},
        "float32",
    ),
    "last argument": (
        [("ArgMin", "x", "y", {"axis": 1, "select_last_index": 1})],
        {"x": np.array([[1, 0, 0, 2], [3, 3, 3, 3]], np.int64)},
        {},
        "int64",
    ),
    "exact": (
        [
            ("Mul", "x y0", "p", {}),
            ("Sub", "p x", "s", {}),
            ("Div", "s y0", "y", {}),
        ],
        {"x": LARGE, "y0": SMALL},
        {},
        "int64",
    ),
    "rest": (
        [("Mod", "x y0", "y", {})],
        {"x": LARGE, "y0": SMALL},
        {},
        "int64",
    ),
    "rest of x": (
        [("Mod", "x y0", "y", {"fmod": 1})],
        {"x": LARGE, "y0": SMALL},
        {},
        "int64",
    ),
    "sign and square": (
        [("Sign", "x", "s", {}), ("Pow", "x three", "p", {}), ("Add", "s p", "y", {})],
        {"x": SMALL},
        {"three": np.int64(3)},
        "int64",
    ),
    "limits": (
        [("Clip", "x low high", "y", {})],
        {"x": LARGE},
        {"low": np.int64(-3), "high": np.int64((1 << 40) + 1)},
        "int64",
    ),
    "product": (
        [("ReduceProd", "x ax", "y", {"keepdims": 0})],
        {"x": SMALL},
        {"ax": np.array([1])},
        "int64",
    ),
    "scatter of integers": (
        [("ScatterND", "x at u", "y", {"reduction": "add"})],
        {"x": LARGE, "u": SMALL[0, :2]},
        {"at": np.array([[0, 1], [-1, -4]])},
        "int64",
    ),
    "scatter of booleans": (
        [("Cast", "x", "b", {"to": 9}), ("ScatterND", "b at u", "y", {})],
        {"x": MASK},
        {"at": np.array([[1]]), "u": np.array([[True, False, True, False]])},
        "bool",
    ),
    "computed positions": (
        [("GatherND", "x at", "y", {})],
        {"x": LARGE, "at": np.array([[[0, 3], [1, 0]]])},
        {},
        "int64",
    ),
    "ranked": (
        [("TopK", "x k", "v i", {"largest": 0}), ("Add", "v i", "y", {})],
        {"x": np.array([[2, 1, 2, 1], [0, 0, 0, 0]], np.int64)},
        {"k": np.array([3])},
        "int64",
    ),
    "no number": (
        [
            ("Log", "x", "l", {}),
            ("IsNaN", "l", "n", {}),
            ("IsInf", "l", "f", {}),
            ("Or", "n f", "bad", {}),
            ("Where", "bad zero l", "y", {}),
        ],
        {"x": np.array([-1.0, 0.0, 1.0, 2.0], np.float32)},
        {"zero": np.float32(0)},
        "float32",
    ),
    "image": (
        [("Cast", "x", "f", {"to": 1}), ("Div", "f all", "y", {})],
        {"x": np.array([[0, 7, 255]], np.uint8)},
        {"all": np.float32(255)},
        "float32",
    ),
    "quantized": (
        [
            ("QuantizeLinear", "x s z", "q", {}),
            ("DequantizeLinear", "q s z", "d", {}),
            ("Reshape", "d shape", "y", {}),
        ],
        {"x": 20 * FLOATS},
        {"s": np.float32(0.13), "z": np.uint8(100), "shape": np.array([8])},
        "float32",
    ),
    "quantized by channel": (
        [("QuantizeLinear", "x s z", "y", {"axis": 1})],
        {"x": 20 * FLOATS},
        {
            "s": np.array([0.1, 0.2, 1, 2], np.float32),
            "z": np.array([0, 3, 9, 255], np.uint8),
        },
        "uint8",
    ),
    "quantized by its range": (
        [
            ("DynamicQuantizeLinear", "x", "q s z", {}),
            ("DequantizeLinear", "q s z", "y", {}),
        ],
        {"x": FLOATS},
        {},
        "float32",
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_computes_what_onnx_does(name: str) -> None:
    nodes, inputs, held, kind = GRAPHS[name]
    model = built(nodes, inputs, held, kind)
    with np.errstate(all="ignore"):
        (wanted,) = ReferenceEvaluator(model).run(None, inputs)
    found = result(model, inputs)
    if kind == "float32":
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
    else:
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("kind", ["float16", "float64"])
def test_floats_of_other_widths(kind: str) -> None:
    """A half network, and one of doubles, is one of float32 that trains."""
    to = KINDS[kind]
    weights = RNG.standard_normal((4, 3)).astype(kind)
    lowest = np.finfo(kind).min
    model = built(
        [
            ("Cast", "x", "h", {"to": to}),
            ("MatMul", "h w", "p", {}),
            ("Where", "m p lowest", "k", {}),
            ("Softmax", "k", "s", {}),
            ("Cast", "s", "y", {"to": 1}),
        ],
        {"x": FLOATS, "m": np.array([True, False, True])},
        {"w": weights, "lowest": np.asarray(lowest)},
        "float32",
    )
    loaded = tg.onnx.load(model)
    assert list(loaded.parameters) == ["w"]
    assert loaded.parameters["w"].tensor.numpy().dtype == np.float32
    inputs = {"x": FLOATS, "m": np.array([True, False, True])}
    scores = np.where(inputs["m"], FLOATS @ weights.astype(np.float32), -np.inf)
    powers = np.exp(scores - scores.max(1, keepdims=True))
    found = result(model, inputs)
    np.testing.assert_allclose(found, powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_weights_of_few_bits_train() -> None:
    stored = RNG.integers(-127, 127, (4, 3)).astype(np.int8)
    model = built(
        [("DequantizeLinear", "w s", "d", {}), ("MatMul", "x d", "y", {})],
        {"x": FLOATS},
        {"w": stored, "s": np.float32(0.02)},
        "float32",
    )
    loaded = tg.onnx.load(model)
    assert list(loaded.parameters) == ["d"]
    np.testing.assert_allclose(
        loaded.parameters["d"].tensor.numpy(), stored * np.float32(0.02), rtol=1e-6
    )


def test_rows_of_a_report_are_nodes() -> None:
    """Those that are several ops here, and those that only move elements, too."""
    nodes = [
        ("MatMul", "x w", "a", {}),
        ("Reshape", "a shape", "b", {}),
        ("Transpose", "b", "c", {"perm": [0, 2, 1]}),
        ("RMSNormalization", "c scale", "d", {}),
        ("Split", "d", "e f", {"axis": 2, "num_outputs": 2}),
        ("Mul", "e f", "g", {}),
        ("Concat", "g g", "h", {"axis": 1}),
        ("CumSum", "h axis", "y", {}),
    ]
    held = {
        "w": np.ones((4, 8), np.float32),
        "shape": np.array([2, 2, 4]),
        "scale": np.ones(2, np.float32),
        "axis": ONE,
    }
    model = tg.onnx.load(built(nodes, {"x": FLOATS}, held, "float32"))
    label = tg.Tensor((2, 8, 1), name="label")
    training = model.training_graph(
        tg.losses.MeanSquaredError(),
        tg.optimizers.SGD(0.1),
        loss_labels={"label": label},
    )
    training.compile("cpu")
    rows = training.report().rows
    found = [row["layer"] for row in rows]
    assert found[:-1] == [f"n{k}" for k in range(len(nodes))]
    by_name = {row["layer"]: row for row in rows}
    assert by_name["n0"]["parameters"] == 32
    assert by_name["n0"]["update_bytes"] > 0
    assert by_name["n3"]["gradient_flops"] > 0


@pytest.mark.parametrize("kind", ["int32", "int64"])
def test_quotients_do_not_trap(kind: str) -> None:
    """By 0 they are 0; the lowest number by -1 is itself, as its negative is."""
    lowest = np.iinfo(kind).min
    graph, x = tg.Graph(), tg.Tensor((4,), kind, name="x")
    divisors = np.array([0, -1, -2, 0], kind)
    y = graph.ops.binary(x, divisors, operation="divide")
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"y": y})
    inference.compile("cpu")
    data = np.array([5, lowest, 7, lowest], kind)
    run = inference.execute({"x": data}).result()
    np.testing.assert_array_equal(run.output("y"), [0, lowest, -3, 0])
