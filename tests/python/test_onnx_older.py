# SPDX-License-Identifier: MIT
"""What files of older networks hold: weights of one number, windows of channels, and
sizes of transposed convolutions; and names that a load makes beside the file's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="the models are ONNX's")
from onnx import helper, numpy_helper

import traingraph as tg

from .onnx_support import run_by_runtime
from .test_onnx_foreign import ONES, agrees, constant, floats, model, node

Array = np.ndarray[Any, Any]

# --- Weights that are one number ---


def fill(shape: str, to: str, number: float) -> Any:
    value = numpy_helper.from_array(np.float32([number]), "value")
    return node("ConstantOfShape", shape, to=to, value=value)


def test_weights_that_are_filled_train() -> None:
    x = floats(1, 2, 5, 5)
    nodes = [
        fill("s", "w", 0.5),
        node("Conv", "x", "w", to="a"),
        fill("m", "mask", 0.25),  # no layer reads it
        node("Add", "a", "mask"),
    ]
    proto = model(nodes, {"x": x}, s=[3, 2, 3, 3], m=[3, 3, 3])
    loaded = agrees(proto, {"x": x})
    assert list(loaded.parameters) == ["w"]
    assert loaded.parameters["w"].tensor.shape == (3, 2, 3, 3)
    assert not agrees(proto, {"x": x}, trainable=False).parameters


@pytest.mark.parametrize("shape", [[1 << 40, 2, 3, 3], [-1, 2, 3, 3], [1 << 62] * 4])
def test_weights_that_no_memory_holds_are_refused(shape: list[int]) -> None:
    nodes = [fill("s", "w", 0.5), node("Conv", "x", "w")]
    with pytest.raises(tg.UnsupportedError, match="ConstantOfShape"):
        tg.onnx.load(model(nodes, {"x": floats(1, 2, 5, 5)}, s=shape))


def test_zeros_that_a_mask_selects_are_no_weight() -> None:
    """As PyTorch's exporter writes the padding mask of an encoder."""
    data = {"x": floats(2, 3), "hidden": np.array([[True, False, True]] * 2)}
    nodes = [
        constant(np.float32(-1e9), "low"),
        constant(np.zeros((2, 3), np.float32), "zeros"),
        node("Where", "hidden", "low", "zeros", to="mask"),
        node("Add", "x", "mask"),
    ]
    assert not agrees(model(nodes, data), data).parameters
    named = agrees(model(nodes, data), data, trainable=["zeros"])
    assert list(named.parameters) == ["zeros"]


def test_a_causal_mask_is_no_weight() -> None:
    x = floats(2, 3, 3)
    hidden = np.triu(np.full((3, 3), np.finfo(np.float32).min), 1)
    proto = model([node("Add", "x", "mask")], {"x": x}, mask=hidden)
    assert not agrees(proto, {"x": x}).parameters
    table = model([node("Add", "x", "table")], {"x": x}, table=floats(3, 3))
    assert list(agrees(table, {"x": x}).parameters) == ["table"]


def test_what_comparisons_alone_read_is_no_weight() -> None:
    x = floats(2, 3)
    nodes = [node("Less", "x", "limit", to="low"), node("Where", "low", "x", "half")]
    proto = model(nodes, {"x": x}, limit=floats(3), half=np.float32(0.5))
    assert not agrees(proto, {"x": x}).parameters


@pytest.mark.parametrize("is_plain", [True, False])
def test_group_normalization_as_exporters_write_it(is_plain: bool) -> None:
    x = floats(2, 6, 4, 4)
    nodes = [
        node("Reshape", "x", "groups", to="a"),
        node("InstanceNormalization", "a", "ones", "zeros", to="b", epsilon=1e-3),
        node("Reshape", "b", "sizes", to="c"),
        node("Mul", "c", "gamma", to="d"),
        node("Add", "d", "beta"),
    ]
    proto = model(
        nodes,
        {"x": x},
        groups=[2, 3, -1],
        sizes=[2, 6, 4, 4],
        ones=np.full(3, 1 if is_plain else 2, np.float32),
        zeros=np.zeros(3, np.float32),
        gamma=floats(6, 1, 1),
        beta=floats(6, 1, 1),
    )
    loaded = agrees(proto, {"x": x})
    trained = {"gamma", "beta"} if is_plain else {"gamma", "beta", "ones", "zeros"}
    assert set(loaded.parameters) == trained
    inference = loaded.inference_graph()
    inference.compile("cpu")
    whole = {row["what"] for row in inference.report().rewrites if not row["hint"]}
    assert ("group normalization" in whole) == is_plain


def test_new_names_are_not_those_of_the_file() -> None:
    x = floats(2, 4)
    own = floats(4)
    nodes = [
        node("Add", "x", "one:c_node", to="a"),
        node("Mul", "a", "one", to="b"),
        node("Add", "b", "one", to="c"),
        node("Relu", "c"),
    ]
    proto = model(nodes, {"x": x}, one=ONES, **{"one:c_node": own})
    loaded = agrees(proto, {"x": x}, tied=False)
    assert list(loaded.parameters) == ["one:c_node", "one", "one:c_node:2"]
    np.testing.assert_array_equal(loaded.parameters["one:c_node"].tensor.numpy(), own)


# --- Windows ---


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("shape", [(2, 5, 3, 2), (2, 4, 6), (1, 7, 2, 2, 2)])
def test_local_response_normalization(size: int, shape: tuple[int, ...]) -> None:
    x = floats(*shape)
    y = node("LRN", "x", size=size, alpha=0.5, beta=0.6, bias=1.5)
    by_runtime = len(shape) == 4 and size % 2 == 1
    other = run_by_runtime if by_runtime else windows_of_channels
    agrees(model([y], {"x": x}), {"x": x}, other)


def windows_of_channels(proto: Any, data: dict[str, Array]) -> dict[str, Array]:
    """By the formula, which ONNX Runtime has for images and odd sizes alone."""
    (lrn,) = proto.graph.node
    size = helper.get_node_attr_value(lrn, "size")
    x, squares = data["x"], np.zeros_like(data["x"])
    for c in range(x.shape[1]):
        first, last = max(c - (size - 1) // 2, 0), c + size // 2
        squares[:, c] = (x[:, first : last + 1] ** 2).sum(axis=1)
    return {"y": x / (1.5 + 0.5 / size * squares) ** 0.6}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output_padding": [2, 2]}, "less than the stride, 2 on this axis; this is 2"),
        ({"output_padding": [0, -1]}, "output_padding is 0 or more"),
        ({"output_padding": [1]}, "output_padding has 1 entries, not 2"),
        ({"output_shape": [11, 11]}, "size of a result is 1 to 10"),
        ({"output_shape": [1, 3, 9, 9]}, "output_shape has 4 entries, not 2"),
        ({"pads": [6, 6, 6, 6]}, "size of a result is 1 to 10"),
        ({"pads": [1, 1]}, "pads has 2 entries, not 4"),
    ],
)
def test_sizes_of_transposed_convolutions(options: Any, message: str) -> None:
    up = node("ConvTranspose", "x", "w", **{"strides": [2, 2], **options})
    proto = model([up], {"x": floats(1, 2, 4, 4)}, w=floats(2, 3, 3, 3))
    with pytest.raises(tg.UnsupportedError, match=message):
        tg.onnx.load(proto)
