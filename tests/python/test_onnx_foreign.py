# SPDX-License-Identifier: MIT
"""What exporters write that this library's own files do not hold: each model agrees
with ONNX's reference, or with ONNX Runtime where that has no such case, or is refused
by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the models are ONNX's")
from onnx import TensorProto, helper, numpy_helper

import traingraph as tg

from .onnx_support import run_by_reference, run_by_runtime

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)
FLOAT, INT32, INT64, BOOL = (
    TensorProto.FLOAT,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.BOOL,
)
TYPES = {"float32": FLOAT, "int32": INT32, "int64": INT64, "bool": BOOL}


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape, np.float32)


def model(nodes: list[Any], data: dict[str, Array], **initializers: Any) -> Any:
    """Of the result "y", with inputs of the data's types and sizes."""
    graph = helper.make_graph(
        nodes,
        "net",
        [
            helper.make_tensor_value_info(name, TYPES[array.dtype.name], array.shape)
            for name, array in data.items()
        ],
        [helper.make_tensor_value_info("y", FLOAT, ["any"])],
        [
            numpy_helper.from_array(np.asarray(array), name)
            for name, array in initializers.items()
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def node(op_type: str, *inputs: str, to: str = "y", **attributes: Any) -> Any:
    return helper.make_node(op_type, inputs, [to], name=f"{to}_node", **attributes)


def agrees(
    proto: Any, data: dict[str, Array], other: Any = run_by_reference, **options: Any
) -> tg.onnx.Model:
    loaded = tg.onnx.load(proto, **options)
    inference = loaded.inference_graph()
    inference.compile("cpu")
    given = {name: array for name, array in data.items() if name in loaded.inputs}
    found = np.asarray(inference.execute(given).result().outputs["y"])
    wanted = np.asarray(other(proto, data)["y"])
    assert found.shape == (wanted.shape or (1,))
    np.testing.assert_allclose(
        found.reshape(wanted.shape), wanted, rtol=1e-5, atol=1e-6
    )
    return loaded


# --- Weights in nodes ---


def constant(array: Array, to: str) -> Any:
    return node("Constant", to=to, value=numpy_helper.from_array(array, to))


@pytest.mark.parametrize("trainable", [None, True, ["w"], lambda name: name == "w"])
def test_weights_in_constant_nodes_train(trainable: Any) -> None:
    x = floats(2, 4)
    proto = model([constant(floats(4, 3), "w"), node("MatMul", "x", "w")], {"x": x})
    loaded = agrees(proto, {"x": x}, trainable=trainable)
    assert list(loaded.parameters) == ["w"]
    label = tg.Tensor((2, 3), name="label")
    training = loaded.training_graph(
        tg.losses.MeanSquaredError(),
        tg.optimizers.SGD(0.1),
        loss_labels={"label": label},
    )
    training.compile("cpu")
    data = ({"x": x}, {"label": np.zeros((2, 3), np.float32)})
    losses = [training.execute(*data).result().loss for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]


def test_numbers_in_constant_nodes_do_not() -> None:
    x = floats(2, 4)
    scale = constant(np.float32(0.5), "w")
    loaded = agrees(model([scale, node("Mul", "x", "w")], {"x": x}), {"x": x})
    assert not loaded.parameters
    # As PyTorch's exporters write the scale of an attention; a bias of one is a weight.
    single = constant(np.float32([0.5]), "w")
    loaded = agrees(model([single, node("Div", "x", "w")], {"x": x}), {"x": x})
    assert not loaded.parameters
    loaded = agrees(model([single, node("Add", "x", "w")], {"x": x}), {"x": x})
    assert list(loaded.parameters) == ["w"]
    weights = constant(floats(4, 3), "w")
    proto = model([weights, node("MatMul", "x", "w")], {"x": x})
    assert not agrees(proto, {"x": x}, trainable=False).parameters


# --- Equal initializers ---

ONES, ZEROS = np.ones(4, np.float32), np.zeros(4, np.float32)


def two_norms() -> tuple[Any, dict[str, Array]]:
    """LayerNorm, Linear, LayerNorm as PyTorch's exporter stores them when fresh."""
    nodes = [
        node("LayerNormalization", "x", "one", "zero", to="a"),
        node("MatMul", "a", "w", to="b"),
        node("Add", "b", "zero", to="c"),
        node("LayerNormalization", "c", "one", "zero"),
    ]
    x = floats(3, 4)
    return model(nodes, {"x": x}, one=ONES, zero=ZEROS, w=floats(4, 4)), {"x": x}


def test_equal_numbers_train_apart() -> None:
    proto, data = two_norms()
    with pytest.warns(UserWarning, match=r"each node trains its own \(one, zero\)"):
        loaded = agrees(proto, data)
    assert set(loaded.parameters) == {
        "w",
        "one",
        "one:y_node",
        "zero",
        "zero:c_node",
        "zero:y_node",
    }
    assert set(agrees(proto, data, tied=True).parameters) == {"w", "one", "zero"}
    with pytest.warns(UserWarning, match="each node trains its own"):
        loaded = tg.onnx.load(proto, trainable=["one"])
    assert set(loaded.parameters) == {"one", "one:y_node"}


def test_a_shared_weight_stays_one() -> None:
    """Its numbers differ: an embedding that is the projection, too."""
    table = floats(5, 4)
    nodes = [
        node("Gather", "table", "i", to="h"),
        node("Transpose", "table", to="turned"),
        node("MatMul", "h", "turned"),
    ]
    data = {"i": np.array([1, 4, 0], np.int32)}
    assert list(agrees(model(nodes, data, table=table), data).parameters) == ["table"]


def test_copies_that_train_as_one_are_told() -> None:
    x = floats(2, 4)
    nodes = [node("MatMul", "x", "w", to="h"), node("MatMul", "h", "w")]
    proto = model(nodes, {"x": x}, w=floats(4, 4))
    with pytest.warns(UserWarning, match=r"train it as one \(w\).*tied=False"):
        assert list(agrees(proto, {"x": x}).parameters) == ["w"]
    assert set(agrees(proto, {"x": x}, tied=False).parameters) == {"w", "w:y_node"}
    assert set(agrees(proto, {"x": x}, tied=True).parameters) == {"w"}


def test_a_bias_is_no_running_mean() -> None:
    x = floats(2, 4, 3)
    nodes = [node("BatchNormalization", "x", "one", "zero", "zero", "one")]
    with pytest.warns(UserWarning, match="each node trains its own"):
        loaded = agrees(model(nodes, {"x": x}, one=ONES, zero=ZEROS), {"x": x})
    assert set(loaded.parameters) == {"one", "zero"}
    assert len(loaded.statistics) == 2
    agrees(model(nodes, {"x": x}, one=ONES, zero=ZEROS), {"x": x}, tied=True)


# --- Shapes, types, branches ---


def test_the_shape_of_a_weight_is_known() -> None:
    """nn.MultiheadAttention cuts its weights in three."""
    x = floats(2, 4)
    nodes = [
        node("Shape", "w", to="shape"),
        node("Gather", "shape", "first", to="rows", axis=0),
        node("Div", "rows", "three", to="end"),
        node("Slice", "w", "start", "end", "start", to="part"),
        node("Transpose", "part", to="turned", perm=[1, 0]),
        node("MatMul", "x", "turned"),
    ]
    numbers = {"first": [0], "three": [3], "start": [0]}
    loaded = agrees(model(nodes, {"x": x}, w=floats(12, 4), **numbers), {"x": x})
    assert "w" in loaded.parameters


def test_an_input_of_which_the_shape_alone_is_read() -> None:
    data = {"x": floats(1, 3), "like": floats(2, 3)}
    nodes = [node("Shape", "like", to="shape"), node("Expand", "x", "shape")]
    assert set(agrees(model(nodes, data), data).inputs) == {"x"}


def test_an_input_of_which_the_type_alone_is_read() -> None:
    data = {"x": np.array([True, False, True]), "like": floats(2)}
    assert set(agrees(model([node("CastLike", "x", "like")], data), data).inputs) == {
        "x"
    }


def test_a_size_of_minus_one_is_not_known() -> None:
    proto = model([node("Relu", "x")], {"x": floats(2, 4)})
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    assert tg.onnx.load(proto, batch_size=3).inputs["x"].shape == (3, 4)
    assert tg.onnx.load(proto, sizes={"x:0": 5}).inputs["x"].shape == (5, 4)
    with pytest.raises(tg.InvalidArgument, match='axis "x:0" of the inputs'):
        tg.onnx.load(proto)


def branch(op_type: str, *more: Any) -> Any:
    output = helper.make_tensor_value_info("z", FLOAT, ["any"])
    nodes = [*more, helper.make_node(op_type, ["x"], ["z"])]
    return helper.make_graph(nodes, "branch", [], [output])


@pytest.mark.parametrize("condition", [True, False])
def test_the_branch_of_a_known_condition(condition: bool) -> None:
    x = floats(2, 5)
    choice = node(
        "If", "c", then_branch=branch("Relu"), else_branch=branch("Neg"), to="y"
    )
    agrees(model([choice], {"x": x}, c=np.array(condition)), {"x": x})
    equal = node("Equal", "rate", "k", to="c")
    data = {"x": x, "rate": np.array(16000)}
    proto = model([equal, choice], data, k=np.array(16000 if condition else 8000))
    agrees(proto, data, constants={"rate": np.array(16000)})
    with pytest.raises(tg.UnsupportedError, match=r'\[If "y_node"\] its condition "c"'):
        tg.onnx.load(proto)


def test_branches_within_branches_read_what_is_outside() -> None:
    x = floats(2, 5)
    inner = helper.make_node(
        "If",
        ["d"],
        ["z"],
        name="inner",
        then_branch=helper.make_graph(
            [
                constant(floats(5), "v"),
                helper.make_node("Mul", ["h", "w"], ["p"]),
                helper.make_node("Add", ["p", "v"], ["q"]),
            ],
            "then",
            [],
            [helper.make_tensor_value_info("q", FLOAT, ["any"])],
            [numpy_helper.from_array(floats(5), "w")],
        ),
        else_branch=branch("Neg"),
    )
    outer = helper.make_graph(
        [inner], "outer", [], [helper.make_tensor_value_info("z", FLOAT, ["any"])]
    )
    nodes = [
        node("Exp", "x", to="h"),
        node("If", "c", then_branch=outer, else_branch=branch("Relu")),
    ]
    loaded = agrees(
        model(nodes, {"x": x}, c=np.array(True), d=np.array(True)), {"x": x}
    )
    assert set(loaded.parameters) == {"v", "w"}


# --- Elements that move ---


@pytest.mark.parametrize("kind", ["float32", "int32", "int64", "bool"])
def test_expand_of_any_type(kind: str) -> None:
    x = (
        RNG.integers(-(2**30), 2**30, (2, 1, 3)) // (1 if "int" in kind else 2**28)
    ).astype(kind)
    nodes = [
        node("Expand", "x", "shape", to="e"),
        helper.make_node("Cast", ["e"], ["y"], to=FLOAT),
    ]
    agrees(model(nodes, {"x": x}, shape=[4, 2, 5, 3]), {"x": x})


@pytest.mark.parametrize(
    ("start", "end", "step"),
    [(-1, -9, -1), (4, 0, -2), (2, -(2**63), -1), (-2, -5, -3), (0, 5, 2), (10, 1, -1)],
)
@pytest.mark.parametrize("kind", ["float32", "int32"])
def test_slices_backward(start: int, end: int, step: int, kind: str) -> None:
    x = (10 * floats(2, 5)).astype(kind)
    nodes = [
        node("Slice", "x", "a", "b", "axes", "steps", to="s"),
        helper.make_node("Cast", ["s"], ["y"], to=FLOAT),
    ]
    numbers = {"a": [0, start], "b": [9, end], "axes": [0, 1], "steps": [1, step]}
    agrees(model(nodes, {"x": x}, **numbers), {"x": x})


@pytest.mark.parametrize("pads", [[0, -1, 0, -2], [1, -1, 0, 2], [-1, 0, 2, 0]])
def test_padding_by_less_than_nothing_takes_away(pads: list[int]) -> None:
    x = floats(3, 5)
    proto = model([node("Pad", "x", "pads")], {"x": x}, pads=pads)
    agrees(proto, {"x": x}, run_by_runtime)


def test_padding_that_leaves_nothing_is_refused() -> None:
    proto = model([node("Pad", "x", "pads")], {"x": floats(3, 5)}, pads=[-3, 0, 0, 0])
    with pytest.raises(tg.UnsupportedError, match="takes away all of an axis"):
        tg.onnx.load(proto)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("rows", [1, 2, 4])
def test_elements_of_fewer_positions(axis: int, rows: int) -> None:
    x = floats(4, 3, 5)
    positions = RNG.integers(-3, 3, (rows, 3 if axis == 1 else 2, 4))
    agrees(
        model([node("GatherElements", "x", "i", axis=axis)], {"x": x}, i=positions),
        {"x": x},
        run_by_runtime,
    )
    updates = floats(*positions.shape)
    for reduction in ("add", "none"):
        if reduction == "none":  # the same position twice has no defined result
            positions = np.argsort(RNG.random((4, 3, 5)), axis)[
                tuple(map(slice, positions.shape))
            ]
        nodes = [node("ScatterElements", "x", "i", "u", axis=axis, reduction=reduction)]
        data = {"x": x, "u": updates}
        proto = model(nodes, data, i=positions.astype(np.int64))
        proto.opset_import[0].version = 16
        agrees(proto, data, run_by_runtime)


def test_einsum_of_a_size_of_one() -> None:
    data = {"x": floats(2, 1), "w": floats(4, 3)}
    agrees(model([node("Einsum", "x", "w", equation="ij,jk->ik")], data), data)


def test_global_pool_of_no_spatial_axes() -> None:
    loaded = tg.onnx.load(model([node("GlobalAveragePool", "x")], {"x": floats(3, 4)}))
    assert loaded.outputs["y"].shape == (3, 4)


# --- Refusals ---


def test_all_refusals_come_at_once_and_by_names() -> None:
    data = {"x": floats(1, 3)}
    nodes = [
        helper.make_node("Cast", ["x"], ["d"], name="wide", to=TensorProto.INT16),
        helper.make_node("Expand", ["x", "s"], ["e"], name="none"),
        helper.make_node("MatMul", ["x", "x"], ["y"], name="product"),
    ]
    with pytest.raises(tg.UnsupportedError) as caught:
        tg.onnx.load(model(nodes, data, s=[0, 3]))
    text = str(caught.value)
    assert "3 nodes have no counterpart" in text
    assert '[Cast "wide"] int16 is no type of a tensor' in text
    assert '[Expand "none"]' in text
    assert '[MatMul "product"]' in text
