# SPDX-License-Identifier: MIT
"""tg.onnx.load: what becomes of names, sizes and initializers, and what is refused."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

onnx = pytest.importorskip("onnx", reason="what is loaded are ONNX models")
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

if TYPE_CHECKING:
    from pathlib import Path

    Array = np.ndarray[Any, Any]

RNG = np.random.default_rng(5)


def value(name: str, shape: Any, kind: int = TensorProto.FLOAT) -> Any:
    """None: of whatever shape, which a file cannot say."""
    return helper.make_tensor_value_info(name, kind, ["?"] if shape is None else shape)


def weight(name: str, *shape: int, dtype: Any = np.float32) -> Any:
    array = np.asarray(RNG.standard_normal(shape), dtype)
    return numpy_helper.from_array(array, name)


def model(
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    initializers: list[Any] = (),  # type: ignore[assignment]
    opset: int = 17,
) -> Any:
    graph = helper.make_graph(nodes, "net", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def perceptron(batch: Any = "batch", opset: int = 17) -> Any:
    """Two layers, with a constant, a scalar and a weight behind a transposition."""
    return model(
        [
            helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="first", transB=1),
            helper.make_node("Mul", ["h", "half"], ["m"], name="scale"),
            helper.make_node("Relu", ["m"], ["r"], name="act"),
            helper.make_node("Transpose", ["w2"], ["w2t"], name="turn"),
            helper.make_node("MatMul", ["r", "w2t"], ["p"], name="second"),
            helper.make_node("Add", ["p", "b2"], ["y"], name="bias"),
        ],
        [value("x", [batch, 5])],
        [value("y", [batch, 3])],
        [
            weight("w1", 7, 5),
            weight("b1", 7),
            numpy_helper.from_array(np.float32(0.5), "half"),
            weight("w2", 3, 7),
            weight("b2", 3),
        ],
        opset,
    )


def single(op: str, inputs: int = 1, **attributes: Any) -> Any:
    names = [f"x{i}" for i in range(inputs)]
    node = helper.make_node(op, names, ["y"], name="only", **attributes)
    return model([node], [value(n, [2, 3]) for n in names], [value("y", None)])


def run(loaded: tg.onnx.Model, **data: Array) -> dict[str, Array]:
    inference = loaded.inference_graph()
    inference.compile("cpu")
    return inference.execute(data).result().outputs


def test_repr_is_a_line() -> None:
    loaded = tg.onnx.load(perceptron(), batch_size=4)
    told = "<Model inputs=1, outputs=1, parameters=4, statistics=0, opset=17>"
    assert repr(loaded) == told


def test_names_and_shapes_are_those_of_the_file() -> None:
    loaded = tg.onnx.load(perceptron(), batch_size=4)
    assert list(loaded.inputs) == ["x"]
    assert list(loaded.outputs) == ["y"]
    assert set(loaded.parameters) == {"w1", "b1", "w2", "b2"}
    assert loaded.parameters["w2"].tensor.shape == (3, 7)
    assert loaded.inputs["x"].shape == (4, 5)
    assert loaded.inputs["x"].batch_axis == 0
    assert loaded.opset == 17


def test_numbers_are_those_of_the_reference() -> None:
    proto = perceptron()
    x = RNG.standard_normal((4, 5)).astype(np.float32)
    (wanted,) = ReferenceEvaluator(proto).run(None, {"x": x})
    found = run(tg.onnx.load(proto, batch_size=4), x=x)["y"]
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("trainable", "names"),
    [
        (None, {"w1", "b1", "w2", "b2"}),
        (True, {"w1", "b1", "w2", "b2", "half"}),
        (False, set()),
        (["b2"], {"b2"}),
        (lambda name: name.startswith("w"), {"w1", "w2"}),
    ],
)
def test_trainable(trainable: Any, names: set[str]) -> None:
    loaded = tg.onnx.load(perceptron(), batch_size=4, trainable=trainable)
    assert set(loaded.parameters) == names


def test_training_changes_the_parameters_alone() -> None:
    loaded = tg.onnx.load(perceptron(), batch_size=4, trainable=["b2"])
    label = tg.Tensor((4, 3), name="label")
    training = loaded.training_graph(
        tg.losses.MeanSquaredError(), tg.optimizers.SGD(0.5), loss_labels={"l": label}
    )
    training.compile("cpu")
    before = loaded.parameters["b2"].tensor.numpy()
    x = RNG.standard_normal((4, 5)).astype(np.float32)
    target = {"l": np.zeros((4, 3), np.float32)}
    losses = [training.execute({"x": x}, target).result().loss for _ in range(5)]
    assert losses[-1] < losses[0]
    after = loaded.parameters["b2"].tensor.numpy()
    assert (after != before).all()
    assert [t.name for t in training.parameters] == ["b2"]
    # What is made of it now computes with what was learnt.
    first = training.execute_forward({"x": x}, target).result().output("y")
    np.testing.assert_allclose(run(loaded, x=x)["y"], first, rtol=1e-6, atol=1e-6)


def test_the_loss_is_of_one_output_and_takes_one_label() -> None:
    proto = perceptron()
    proto.graph.output.append(value("h", ["batch", 7]))
    loaded = tg.onnx.load(proto, batch_size=4)
    loss = tg.losses.MeanSquaredError()
    label = {"l": tg.Tensor((4, 7), name="label")}
    with pytest.raises(tg.InvalidArgument, match="one of y, h, got None"):
        loaded.training_graph(loss, loss_labels=label)
    with pytest.raises(tg.InvalidArgument, match="1 entry in loss_labels"):
        loaded.training_graph(loss, output="h")
    loaded.training_graph(loss, loss_labels=label, output="h").compile("cpu")


def test_dropout_drops_in_training_and_not_in_inference() -> None:
    nodes = [helper.make_node("Dropout", ["x"], ["y"], name="drop")]
    proto = model(nodes, [value("x", ["n", 1000])], [value("y", ["n", 1000])])
    loaded = tg.onnx.load(proto, batch_size=1)
    x = np.ones((1, 1000), np.float32)
    assert (run(loaded, x=x)["y"] == 1).all()
    training = loaded.training_graph()
    training.compile("cpu")
    y = training.execute_forward({"x": x}).result().output("y")
    assert 300 < (y == 0).sum() < 700


def test_statistics_of_normalizations_are_their_own() -> None:
    """Exporters join equal initializers."""
    norms = [["x", "a"], ["a", "y"]]
    nodes = [
        helper.make_node(
            "BatchNormalization", [i, "g", "b", "m", "v"], [o], name=f"norm_{o}"
        )
        for i, o in norms
    ]
    ones, zeros = np.ones(3, np.float32), np.zeros(3, np.float32)
    initializers = [
        numpy_helper.from_array(array, name)
        for name, array in {"g": ones, "b": zeros, "m": zeros, "v": ones}.items()
    ]
    inputs, outputs = [value("x", ["n", 3])], [value("y", ["n", 3])]
    with pytest.warns(UserWarning, match="each node trains its own"):
        loaded = tg.onnx.load(model(nodes, inputs, outputs, initializers), batch_size=4)
    assert len(loaded.statistics) == 4
    assert set(loaded.parameters) == {"g", "b", "g:norm_y", "b:norm_y"}


def test_a_file_its_bytes_and_its_proto_are_one(tmp_path: Path) -> None:
    proto = perceptron()
    path = tmp_path / "net.onnx"
    onnx.save(proto, path)
    x = RNG.standard_normal((2, 5)).astype(np.float32)
    sources = (proto, proto.SerializeToString(), path, str(path))
    results = [run(tg.onnx.load(s, batch_size=2), x=x)["y"] for s in sources]
    assert all((r == results[0]).all() for r in results)


def test_external_data(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    onnx.save(
        perceptron(), path, save_as_external_data=True, location="w", size_threshold=0
    )
    assert len(tg.onnx.load(path, batch_size=2).parameters) == 4
    (tmp_path / "w").write_bytes(b"")
    with pytest.raises(tg.FileError, match=r"net\.onnx"):
        tg.onnx.load(path, batch_size=2)
    (tmp_path / "w").unlink()
    with pytest.raises(tg.FileError, match=r"net\.onnx"):
        tg.onnx.load(path, batch_size=2)


@pytest.mark.parametrize(
    ("shapes", "arguments", "message"),
    [
        ([["n", 3]], {}, 'axis "n" of the inputs has no size'),
        ([["n", 3], ["m", 3]], {"batch_size": 2}, "several axes"),
        ([["n", None]], {"batch_size": 2}, "x0:1"),
        ([["n", "n"]], {"batch_size": 2}, "two axes of an input are the batch"),
        ([["n", 3]], {"batch_size": 0}, "1 or more, got 0"),
        ([["n", 3]], {"batch_size": 2, "sizes": {"k": 3}}, "no such symbol"),
        ([[4, 3]], {"batch_size": 2}, "axis 0 is not the batch"),
    ],
)
def test_sizes_are_not_guessed(shapes: Any, arguments: Any, message: str) -> None:
    names = [f"x{i}" for i in range(len(shapes))]
    node = helper.make_node("Sum", names, ["y"], name="sum")
    inputs = [value(n, s) for n, s in zip(names, shapes, strict=True)]
    with pytest.raises(tg.InvalidArgument, match=message):
        tg.onnx.load(model([node], inputs, [value("y", None)]), **arguments)


def test_sizes_by_name() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="r")
    proto = model([node], [value("x", ["n", "t"])], [value("y", ["n", "t"])])
    loaded = tg.onnx.load(proto, batch_size=2, sizes={"t": 7})
    assert loaded.inputs["x"].shape == (2, 7)
    loaded = tg.onnx.load(proto, batch_size=2, sizes={"n": 7})
    assert loaded.inputs["x"].shape == (7, 2)
    assert loaded.inputs["x"].batch_axis == 1
    fixed = tg.onnx.load(proto, sizes={"n": 3, "t": 7})
    assert fixed.inputs["x"].batch_axis is None


def test_everything_unsupported_is_listed_at_once() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="fine"),
        helper.make_node("NonZero", ["a"], ["b"], name="h"),
        helper.make_node("Relu", ["b"], ["c"], name="behind"),
        helper.make_node("NonMaxSuppression", ["c", "c"], ["d"], name="nms"),
        helper.make_node("Foo", ["x"], ["e"], name="foo", domain="my.own"),
        helper.make_node("LpPool", ["x"], ["f"], name="lp", kernel_shape=[2, 2], p=1),
        helper.make_node("Sum", ["d", "e", "f"], ["y"], name="sum"),
    ]
    shape = [1, 1, 4, 4]
    proto = model(nodes, [value("x", shape)], [value("y", None)])
    proto.opset_import.append(helper.make_opsetid("my.own", 1))
    with pytest.raises(tg.UnsupportedError) as caught:
        tg.onnx.load(proto)
    text = str(caught.value)
    for part in ('[NonZero "h"]', '"nms"', '[Foo "foo"] the domain my.own', '"lp"'):
        assert part in text
    assert "4 nodes have no counterpart" in text
    assert "behind" not in text
    assert caught.value.op == "NonZero"
    assert caught.value.node == "h"


@pytest.mark.parametrize("opset", [6, 29])
def test_opsets_that_are_not_known(opset: int) -> None:
    proto = perceptron(opset=17)
    proto.opset_import[0].version = opset
    with pytest.raises((tg.UnsupportedError, tg.FileError), match=r"opset|version"):
        tg.onnx.load(proto, batch_size=2)


def test_unknown_attributes_are_refused() -> None:
    proto = single("Relu")
    attribute = helper.make_attribute("sharpness", 3)
    proto.graph.node[0].attribute.append(attribute)
    with pytest.raises(tg.FileError, match="sharpness"):  # ONNX's own check
        tg.onnx.load(proto)
    with pytest.raises(tg.UnsupportedError, match="clip"):
        tg.onnx.load(recurrent(clip=1.0))


def recurrent(**attributes: Any) -> Any:
    node = helper.make_node(
        "RNN", ["x", "w", "r"], ["y"], name="rnn", hidden_size=2, **attributes
    )
    initializers = [weight("w", 1, 2, 3), weight("r", 1, 2, 2)]
    return model([node], [value("x", [4, 1, 3])], [value("y", None)], initializers)


@pytest.mark.parametrize("kind", ["INT16", "UINT64", "FLOAT8E5M2", "STRING"])
def test_types_of_inputs(kind: str) -> None:
    node = helper.make_node("Identity", ["x"], ["y"], name="same")
    number = TensorProto.DataType.Value(kind)
    proto = model([node], [value("x", [2], number)], [value("y", [2], number)])
    with pytest.raises(tg.UnsupportedError, match=f"{kind.lower()} is no type"):
        tg.onnx.load(proto)


def test_types_of_initializers() -> None:
    proto = model(
        [helper.make_node("Add", ["x", "w"], ["y"], name="add")],
        [value("x", [2, 3])],
        [value("y", None)],
        [weight("w", 3, dtype=np.uint16)],
    )
    with pytest.raises(tg.UnsupportedError, match="uint16"):
        tg.onnx.load(proto)


def test_nodes_without_names_and_with_the_same() -> None:
    for names in (["", ""], ["same", "same"]):
        nodes = [
            helper.make_node("Dropout", ["x"], ["a"], name=names[0]),
            helper.make_node("Dropout", ["a"], ["y"], name=names[1]),
        ]
        loaded = tg.onnx.load(model(nodes, [value("x", [2, 3])], [value("y", None)]))
        assert len({layer.name for layer in loaded.graph.layers}) == 2


def test_bad_graphs() -> None:
    shape = [2, 3]
    relu = helper.make_node("Relu", ["b"], ["a"], name="first")
    back = helper.make_node("Relu", ["a"], ["b"], name="second")
    twice = [helper.make_node("Relu", ["x"], ["y"], name=n) for n in ("one", "two")]
    for nodes in ([relu, back], twice):
        with pytest.raises(tg.FileError):
            tg.onnx.load(model(nodes, [value("x", shape)], [value("y", None)]))


def test_no_model(tmp_path: Path) -> None:
    empty = tmp_path / "empty.onnx"
    empty.write_bytes(b"")
    for source in (empty, tmp_path / "missing.onnx", tmp_path, b"", b"\xff" * 64):
        with pytest.raises(tg.FileError):
            tg.onnx.load(source)
    with pytest.raises(tg.InvalidArgument, match="a path, bytes or"):
        tg.onnx.load(7)


def test_truncated_and_damaged_files() -> None:
    """They raise our own errors, or load when the damage is to a weight."""
    data = perceptron().SerializeToString()
    seed = random.randrange(1 << 30)
    rng = random.Random(seed)
    for trial in range(150):
        damaged = bytearray(data)
        if trial % 3 == 0:
            del damaged[rng.randrange(len(damaged)) :]
        else:
            for _ in range(rng.randrange(1, 6)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            tg.onnx.load(bytes(damaged), batch_size=2)
        except tg.Error:
            continue
        except Exception as error:  # noqa: BLE001
            pytest.fail(f"seed {seed}, trial {trial}: {error!r}")


def test_outputs_that_no_node_computes() -> None:
    proto = model(
        [helper.make_node("Relu", ["x"], ["y"], name="r")],
        [value("x", [2, 3])],
        [value("y", None), value("x", [2, 3]), value("w", [4])],
        [weight("w", 4)],
    )
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    found = run(tg.onnx.load(proto), x=x)
    assert (found["x"] == x).all()
    assert found["w"].shape == (4,)


def test_importing_traingraph_does_not_import_onnx() -> None:
    script = """if True:
        import sys, traingraph as tg
        assert "onnx" not in sys.modules
        sys.modules["onnx"] = None
        try:
            tg.onnx.load("net.onnx")
        except ImportError as error:
            assert "pip install traingraph[onnx]" in str(error)
        else:
            raise AssertionError
    """
    subprocess.run([sys.executable, "-c", script], check=True)
