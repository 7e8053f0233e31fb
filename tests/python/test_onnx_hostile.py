# SPDX-License-Identifier: MIT
"""ONNX models that are made to hurt end in errors of ours, and soon."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

pytest.importorskip("onnx", reason="what is loaded are ONNX models")
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Classifier


def model(nodes: list[Any], shape: list[Any], **constants: Any) -> Any:
    initializers = [numpy_helper.from_array(a, n) for n, a in constants.items()]
    inputs = [helper.make_tensor_value_info("x", 1, shape)]
    outputs = [helper.make_tensor_value_info("y", 1, ["?"])]
    graph = helper.make_graph(nodes, "net", inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(op: str, *inputs: str, result: str = "y", **attributes: Any) -> Any:
    return helper.make_node(op, inputs, [result], name=f"{op} {result}", **attributes)


LONG = np.int64


def test_files_that_never_end(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.onnx"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero", tmp_path):
        with pytest.raises(tg.FileError, match="no regular file"):
            tg.onnx.load(path)


@pytest.mark.parametrize("path", ["a\0b", 7, None])
def test_what_is_no_path(classifier: Classifier, path: Any) -> None:
    with pytest.raises(tg.CallError, match=r"\[onnx.save .*this is no path"):
        tg.onnx.save(classifier.training, path)
    with pytest.raises((tg.CallError, tg.InvalidArgument), match=r"\[onnx.load"):
        tg.onnx.load(path)


@pytest.mark.parametrize(
    ("op", "constant"),
    [
        ("ConstantOfShape", [1 << 40, 1 << 20]),
        ("Expand", [1 << 40, 2, 3]),
        ("Tile", [1 << 30, 1]),
        ("Pad", [1 << 40, 0, 0, 0]),
    ],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_sizes_that_a_file_does_not_hold(
    op: str, constant: list[int], is_known: bool
) -> None:
    if op == "ConstantOfShape":
        nodes = [node(op, "c", result="k"), node("Add", "x", "k")]
    elif is_known:
        nodes = [node(op, "one", "c", result="k"), node("Add", "x", "k")]
    else:
        nodes = [node(op, "x", "c")]
    one = np.ones((2, 3), LONG)
    proto = model(nodes, [2, 3], c=np.asarray(constant, LONG), one=one)
    try:
        loaded = tg.onnx.load(proto)
        loaded.inference_graph().compile("cpu")
    except tg.Error:
        return
    pytest.fail("it was loaded and compiled")


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_states_larger_than_their_weights(op: str, gates: int) -> None:
    weights = np.ones((1, gates * 4, 3), np.float32)
    recurrent = np.ones((1, gates * 4, 4), np.float32)
    proto = model(
        [node(op, "x", "w", "r", hidden_size=1 << 32)],
        [5, 2, 3],
        w=weights,
        r=recurrent,
    )
    with pytest.raises(tg.FileError, match="hidden_size"):
        tg.onnx.load(proto)


def test_samples_that_a_file_does_not_hold() -> None:
    sizes = np.array([1, 1, 1 << 32, 4], LONG)
    proto = model([node("Resize", "x", "", "", "sizes")], [1, 1, 4, 4], sizes=sizes)
    with pytest.raises(tg.UnsupportedError, match="samples along an axis"):
        tg.onnx.load(proto)


def test_types_that_are_none() -> None:
    proto = model([node("Relu", "x")], [2, 3])
    proto.graph.input[0].type.tensor_type.elem_type = 79
    with pytest.raises(tg.UnsupportedError, match="type 79 is no type of a tensor"):
        tg.onnx.load(proto)


def test_constants_that_double() -> None:
    nodes = [
        node("Concat", f"c{i}", f"c{i}", result=f"c{i + 1}", axis=0) for i in range(40)
    ]
    nodes.append(node("Add", "x", "c40"))
    with pytest.raises(tg.UnsupportedError, match="elements"):
        tg.onnx.load(model(nodes, [1], c0=np.ones(8, LONG)))


def test_many_large_constants() -> None:
    shape = np.asarray([5_000_000], LONG)
    nodes = [node("ConstantOfShape", "s", result=f"c{i}") for i in range(80)]
    nodes.append(node("Add", "x", "c79"))
    with pytest.raises(tg.UnsupportedError, match="too many"):
        tg.onnx.load(model(nodes, [1], s=shape))


def test_long_chains() -> None:
    """Of nodes, and of nodes that make a weight of another one."""
    nodes = [node("Relu", f"v{i}", result=f"v{i + 1}") for i in range(1500)]
    nodes.insert(0, node("Relu", "x", result="v0"))
    nodes.append(node("Relu", "v1500"))
    assert list(tg.onnx.load(model(nodes, [2, 3])).outputs) == ["y"]
    nodes = [node("Transpose", f"w{i}", result=f"w{i + 1}") for i in range(1500)]
    nodes.append(node("MatMul", "x", "w1500"))
    loaded = tg.onnx.load(model(nodes, [2, 3], w0=np.ones((3, 3), np.float32)))
    assert list(loaded.parameters) == ["w0"]


@pytest.mark.parametrize(
    "bad",
    [
        node("MaxPool", "x", kernel_shape=[2, 2], strides=[0, 1]),
        node("Conv", "x", "w", group=0),
        node("Conv", "x", "w", pads=[1 << 40, 0, 0, 0]),
        node("Softmax", "x", axis=7),
        node("Transpose", "x", perm=[0, 0, 1, 2]),
        node("Transpose", "x", perm=[0, 5, 1, 2]),
        node("Einsum", "x", "x", equation="ab,c->"),
        node("Einsum", "x", "x", equation="abcd"),
        node("Split", "x", axis=9),
        node("Flatten", "x", axis=9),
        node("LSTM", "x", "w", "w", hidden_size=3),
        node("LSTM", "x", "w", "w", hidden_size=0),
        node("DepthToSpace", "x", blocksize=0),
        node("Cast", "x", to=99),
        node("Gemm", "x", "w"),
        node("BatchNormalization", "x", "w", "w", "w", "w"),
        node("Resize", "x", "", "", "w"),
    ],
    ids=lambda proto: f"{proto.op_type}{len(proto.attribute)}",
)
def test_attributes_out_of_range(bad: Any) -> None:
    weights = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    with pytest.raises(tg.Error):
        tg.onnx.load(model([bad], [1, 1, 4, 4], w=weights))


def test_wrong_choices_of_parameters() -> None:
    proto = model([node("MatMul", "x", "w")], [2, 3], w=np.ones((3, 3), np.float32))
    assert list(tg.onnx.load(proto, trainable="w").parameters) == ["w"]
    with pytest.raises(tg.InvalidArgument, match="no parameter has this name"):
        tg.onnx.load(proto, trainable=["v"])
    with pytest.raises(tg.InvalidArgument, match="names or a function"):
        tg.onnx.load(proto, trainable=3)  # type: ignore[arg-type]
    with pytest.raises(tg.InvalidArgument, match="no input of the model"):
        tg.onnx.load(proto, constants={"v": np.ones(3)})
    with pytest.raises(tg.InvalidArgument, match="a function of the name") as caught:
        tg.onnx.load(proto, trainable=lambda name: {"v": True}[name])
    assert isinstance(caught.value.__cause__, KeyError)
