# SPDX-License-Identifier: MIT
"""What expressions refuse, and what the errors say."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from pathlib import Path

ROW = np.array([1, -2, 4], np.float32)


def result(shape: tuple[int, ...] = (2, 3), data_type: str = "float32") -> Any:
    """Keeps its graph alive."""
    graph = tg.Graph()
    h = graph.node(tg.layers.ReLU(name="relu"), tg.Tensor(shape, data_type, name="x"))
    return h, graph


def test_other_objects_have_their_say() -> None:
    class Mine:
        def __radd__(self, other: object) -> str:
            return "mine"

    h, _graph = result()
    assert h + Mine() == "mine"
    for other in ("text", None, [1.0, 2.0, 3.0], 2j, object()):
        with pytest.raises(TypeError, match="unsupported operand"):
            h + other
        with pytest.raises(TypeError, match="not supported between"):
            h < other  # noqa: B015
    with pytest.raises(TypeError, match="unsupported operand"):
        h @ 2
    with pytest.raises(tg.InvalidArgument, match=r"equal.*'text'"):
        h.equal("text")


def test_there_is_no_truth() -> None:
    h, _graph = result()
    with pytest.raises(tg.InvalidArgument, match="neither true nor false"):
        assert h
    with pytest.raises(tg.InvalidArgument, match="select"):
        0 < h < 1  # noqa: B015


def test_a_tensor_is_no_sequence() -> None:
    h, graph = result()
    nodes = graph.summarized_dot_description
    with pytest.raises(TypeError, match="not iterable"):
        list(h)
    with pytest.raises(TypeError, match="no len"):
        len(h)
    with pytest.raises(TypeError, match="iterable"):
        graph.ops.concatenate(*h)
    with pytest.raises(
        tg.InvalidArgument, match="for shape: expected a sequence of ints"
    ):
        graph.ops.reshape(h, shape=h)
    assert graph.summarized_dot_description == nodes


WRONG_INDICES: dict[str, tuple[Any, str]] = {
    "outside": (2, "outside of axis 0.*expected -2 to 1, got 2"),
    "too many": ((0, 0, 0), "too many indices"),
    "ellipses": ((..., 0, ...), "several ellipses"),
    "empty": (slice(2, 2), "is empty"),
    "backwards": (slice(None, None, -1), "gather"),
    "list": ([0, 1], "gather"),
    "array": (np.array([0, 1]), "gather"),
    "array of one": (np.array([0]), "gather"),
    "mask": (np.array([True, False]), "select"),
    "bool": (True, "no index.*got True"),
    "float": (0.5, "no index.*got 0.5"),
    "text": ("x", "no index.*got 'x'"),
}


@pytest.mark.parametrize("name", WRONG_INDICES)
def test_wrong_indices(name: str) -> None:
    index, message = WRONG_INDICES[name]
    h, _graph = result()
    with pytest.raises(tg.InvalidArgument, match=message) as caught:
        h[index]
    assert caught.value.op == "index"


def test_a_tensor_is_no_index() -> None:
    h, _graph = result()
    with pytest.raises(tg.InvalidArgument, match="gather"):
        h[h > 0]


def test_errors_name_the_operands() -> None:
    h, graph = result()
    image = tg.Tensor((2, 4), name="image")
    place = r"in relu float32 \(2, 3\) \+ image float32 \(2, 4\)"
    with pytest.raises(tg.ShapeError, match=place):
        h + image
    with pytest.raises(tg.ShapeError, match=r"in relu .* @ image"):
        h @ image
    with pytest.raises(tg.ShapeError, match=r"in relu .* - constant float32 \(4\)"):
        h - np.zeros(4)
    with pytest.raises(tg.InvalidArgument, match=r"axis is not an axis in mean\(relu"):
        h.mean(axis=2)
    with pytest.raises(tg.InvalidArgument, match="names no axis"):
        h.mean(axis=())
    with pytest.raises(tg.ShapeError, match=r"in reshape\(relu"):
        h.reshape(4, 4)
    with pytest.raises(tg.InvalidArgument, match=r"in transpose\(relu"):
        h.transpose(0, 1, 2)
    with pytest.raises(tg.InvalidArgument, match=r"reshape.*no integers"):
        h.reshape(2.5)
    del graph


def test_the_graph_must_be_known() -> None:
    h, graph = result()
    g, _other = result()
    image = tg.Tensor((2, 3), name="image")
    with pytest.raises(tg.InvalidArgument, match=r"no operand is a result.*image") as e:
        image / 255
    assert "graph.node" in e.value.hint
    for other in (ROW, image):
        with pytest.raises(tg.InvalidArgument, match="no operand is a result"):
            other * image
    with pytest.raises(tg.InvalidArgument, match="different graphs"):
        h + g
    del graph
    with pytest.raises(tg.StateError, match=r"takes no nodes in relu .* or was loaded"):
        h + 1


def test_a_loaded_graph_takes_no_nodes(tmp_path: Path) -> None:
    x = tg.Tensor((2, 3), name="x")
    graph = tg.Graph()
    h = graph.node(tg.layers.FullyConnected(3, name="fc"), x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.add_outputs({"h": h})
    inference.compile("cpu")
    inference.export_graph(tmp_path / "net.tg.safetensors")
    loaded = tg.InferenceGraph.load(tmp_path / "net.tg.safetensors")
    with pytest.raises(tg.StateError, match=r"in fc float32 \(2, 3\) \* 2.*was loaded"):
        loaded.tensor("h") * 2


def test_what_fails_leaves_no_nodes() -> None:
    h, graph = result()
    counts = h.astype("int32")
    flags = h > 0
    before = graph.summarized_dot_description
    for expression in (
        lambda: counts / 2,
        lambda: 2 / counts,
        lambda: counts.mean(),
        lambda: flags @ h,
        lambda: counts + 0.5,
        lambda: (h > 0) * np.zeros(4),
    ):
        with pytest.raises(tg.Error):
            expression()
    assert graph.summarized_dot_description.startswith(before.rsplit("}", 1)[0])
    with pytest.raises(tg.DTypeError, match=r"int32\. Convert it with cast or astype"):
        counts / 2
    assert (h + 1).name == "add"


def test_a_compiled_graph_takes_no_nodes() -> None:
    graph = tg.Graph()
    x = tg.Tensor((2,), name="x")
    h = graph.node(tg.layers.ReLU(), x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.compile("cpu")
    with pytest.raises(tg.StateError, match=r"compiled in relu float32 \(2\) \* 2"):
        h * 2


def test_equality_is_of_handles_and_says_so() -> None:
    """A mask that is one bool for all elements would train without a word."""
    h, _ = result()
    for value in (0, 1.5, np.zeros(3), np.float32(2)):
        for compare in (operator.eq, operator.ne):
            with pytest.raises(tg.InvalidArgument, match="compares elements"):
                compare(h, value)
    assert h == h  # noqa: PLR0124
    other = tg.Tensor((2, 3), name="y")
    assert h != other
    assert (h == None) is False
    assert h not in ["h", None]
    for wrong in (lambda: h * (h != other), lambda: h + True, lambda: (h == other) * h):
        with pytest.raises(tg.InvalidArgument, match="no operands"):
            wrong()


@pytest.mark.parametrize(
    ("function", "instead"),
    {
        np.exp: "x.exp()",
        np.tanh: "x.tanh()",
        np.abs: "abs(x)",
        np.sin: 'graph.ops.unary(x, operation="sin")',
        np.arcsinh: 'graph.ops.unary(x, operation="asinh")',
        np.rint: 'graph.ops.unary(x, operation="round")',
        np.isnan: "graph.ops",
        np.mean: "x.mean(axis=1)",
        np.transpose: "x.transpose(...)",
        np.split: "graph.ops.split(...)",
    }.items(),
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_functions_of_numpy_say_what_to_write(function: Any, instead: str) -> None:
    h, graph = result()
    before = graph.summarized_dot_description
    for x in (h, tg.Tensor((2, 3), name="relu")):
        arguments = (x, 3) if function is np.split else (x,)
        with pytest.raises(tg.InvalidArgument, match="NumPy computes on values") as e:
            function(*arguments)
        assert e.value.op == f"numpy.{function.__name__}"
        assert e.value.node == "relu"
        assert instead in e.value.hint
    assert graph.summarized_dot_description == before


def test_functions_of_two_operands_say_what_to_write() -> None:
    h, _graph = result()
    for call, instead in (
        (lambda: np.maximum(h, 0), 'binary(x, y, operation="max")'),
        (lambda: np.add(h, 1), "x + y"),
        (lambda: np.equal(h, h), "x.equal(y)"),
        (lambda: np.where(h, 1, 0), "graph.ops.select"),
        (lambda: np.concatenate([h, h]), "graph.ops.concatenate"),
        (lambda: np.add.reduce(h), "x + y"),
        (lambda: np.add.outer(ROW, h), "x + y"),
    ):
        with pytest.raises(tg.InvalidArgument, match="NumPy computes on") as caught:
            call()
        assert instead in caught.value.hint
    array = ROW.copy()
    with pytest.raises(tg.InvalidArgument, match="NumPy computes on"):
        array += h
    with pytest.raises(tg.InvalidArgument, match="compares elements"):
        ROW == h  # noqa: B015, SIM300
