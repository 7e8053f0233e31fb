# SPDX-License-Identifier: MIT
"""Wrong calls: the type of each error, its Python base, and its message."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable


BASES = {
    tg.InvalidArgument: ValueError,
    tg.CallError: TypeError,
    tg.ShapeError: ValueError,
    tg.DTypeError: TypeError,
    tg.UnsupportedError: NotImplementedError,
    tg.StateError: RuntimeError,
    tg.DeviceError: RuntimeError,
    tg.DeviceLostError: tg.DeviceError,
    tg.CancelledError: RuntimeError,
    tg.InternalError: RuntimeError,
    tg.OutOfMemoryError: MemoryError,
    tg.FileError: OSError,
}


@pytest.mark.parametrize(("error", "base"), BASES.items(), ids=lambda t: t.__name__)
def test_errors_have_python_bases(error: type[tg.Error], base: type[Exception]) -> None:
    assert issubclass(error, tg.Error)
    assert issubclass(error, base)


def test_errors_carry_their_parts() -> None:
    graph = tg.Graph()
    x = tg.Tensor((2, 5), name="x")
    with pytest.raises(tg.ShapeError) as caught:
        graph.node(tg.layers.FullyConnected(4, 3, name="head"), x)
    error = caught.value
    assert error.node == "head"
    assert error.op
    assert error.expected
    assert error.got
    assert str(error).startswith("[")
    assert '"head"' in str(error)


def test_errors_can_be_pickled() -> None:
    error = tg.ShapeError("no", op="matmul", node="a", expected="1", got="2", hint="h")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is tg.ShapeError
    assert str(again) == "no"
    assert (again.op, again.node) == ("matmul", "a")
    assert (again.expected, again.got, again.hint) == ("1", "2", "h")


def node(layer: tg.layers.Layer, *shapes: tuple[int, ...]) -> tg.Tensor:
    return tg.Graph().node(layer, [tg.Tensor(shape) for shape in shapes])


# What is called, what it raises, what the message contains.
BUILD_CASES: dict[str, tuple[Callable[[], Any], type[Exception], list[str]]] = {
    "size below one": (lambda: tg.Tensor((2, 0)), tg.ShapeError, ["(2, 0)"]),
    "no axes": (lambda: tg.Tensor(()), tg.ShapeError, ["at least one axis"]),
    "too many axes": (lambda: tg.Tensor((1,) * 9), tg.ShapeError, ["8", "9"]),
    "contents twice": (
        lambda: tg.Tensor((1,), fill=1, data=[1]),
        tg.InvalidArgument,
        ["data", "fill"],
    ),
    "unknown data type": (
        lambda: tg.Tensor((1,), "complex64"),
        tg.DTypeError,
        ["float32", "complex64"],
    ),
    "no data type": (lambda: tg.Tensor((1,), "nonsense"), tg.DTypeError, ["nonsense"]),
    "float64 data": (
        lambda: tg.Tensor((2,), data=np.full(2, 1e300)),
        tg.InvalidArgument,
        ["float64", "round to nearest", "astype"],
    ),
    "int data": (
        lambda: tg.Tensor((2,), data=np.full(2, 2**24 + 1, np.int32)),
        tg.InvalidArgument,
        ["float32", "int32", "exact", "astype"],
    ),
    "data of another shape": (
        lambda: tg.Tensor((2, 3), data=np.zeros((3, 2), np.float32)),
        tg.ShapeError,
        ["(2, 3)", "(3, 2)"],
    ),
    "random integers": (
        lambda: tg.Tensor((2,), "int32", initializer="xavier"),
        tg.DTypeError,
        ["float32", "int32"],
    ),
    "unknown enum case": (
        lambda: tg.layers.Arithmetic("plus"),
        tg.InvalidArgument,
        ["ArithmeticOperation", "add", "plus"],
    ),
    "no device data": (
        lambda: tg.Tensor((1,), name="t").synchronize_data(),
        tg.StateError,
        ["t"],
    ),
    "no data at all": (lambda: tg.Tensor((1,)).numpy(), tg.StateError, ["add_outputs"]),
    "no data to share": (
        lambda: np.from_dlpack(tg.Tensor((1,))),
        tg.StateError,
        ["no data", "add_outputs"],
    ),
    "unavailable device": (lambda: tg.Device.ane(), tg.DeviceError, ["ane"]),
    "unknown device": (lambda: tg.Device("tpu"), tg.InvalidArgument, ["tpu", "cpu"]),
    "dropout rate": (lambda: tg.layers.Dropout(1.5), tg.InvalidArgument, ["1.5"]),
    "kernel size": (
        lambda: tg.layers.Convolution(1, 1, 0),
        tg.InvalidArgument,
        ["kernel"],
    ),
    "padding policy": (
        lambda: tg.layers.Convolution(1, 1, 3, padding="full"),
        tg.InvalidArgument,
        ["same", "valid", "full"],
    ),
    "weights of another shape": (
        lambda: tg.layers.FullyConnected(4, 3, weights=np.zeros((4, 4), np.float32)),
        tg.ShapeError,
        ["(4, 4)", "weights"],
    ),
    "complex weights": (
        lambda: tg.layers.FullyConnected(4, 3, weights=np.zeros((3, 4), "c8")),
        tg.DTypeError,
        ["weights", "complex64"],
    ),
    "an option that the loss has not": (
        lambda: tg.losses.MeanSquaredError(delta=2),
        tg.CallError,
        ['there is no argument "delta"', "got delta=2"],
    ),
    "loss reduction": (
        lambda: tg.losses.MeanSquaredError("max"),
        tg.InvalidArgument,
        ["max"],
    ),
    "learning rate": (
        lambda: setattr(tg.optimizers.SGD(0.1), "learning_rate", float("nan")),
        tg.InvalidArgument,
        ["learning_rate"],
    ),
    "channels": (
        lambda: node(tg.layers.Convolution(3, 8, 3, name="stem"), (1, 4, 8, 8)),
        tg.ShapeError,
        ["stem", "3", "4"],
    ),
    "number of sources": (
        lambda: node(tg.layers.ReLU(), (1,), (1,)),
        tg.InvalidArgument,
        ["relu"],
    ),
    "reshape": (
        lambda: tg.Graph().ops.reshape(tg.Tensor((3, 3)), shape=(2, 5)),
        tg.ShapeError,
        ["9"],
    ),
    "permutation": (
        lambda: tg.Graph().ops.transpose(tg.Tensor((3, 3)), axes=(0, 0)),
        tg.InvalidArgument,
        ["(0, 0)"],
    ),
    "layer of another graph": (
        lambda: _use_twice(tg.layers.ReLU(name="shared")),
        tg.InvalidArgument,
        ["shared", "another graph"],
    ),
    "kernel size without axes": (
        lambda: tg.layers.Convolution(2, 3, np.array(0.0)),
        tg.CallError,
        ['"kernel_size"', "sequence of ints", "ndarray"],
    ),
    "shape of a float without axes": (
        lambda: tg.Tensor(np.array(3.0)),
        tg.CallError,
        ["sequence of ints", "ndarray"],
    ),
    "shape that fits no integer": (
        lambda: tg.Tensor((2**80, 2)),
        tg.InvalidArgument,
        ["out of range", "1208925819614629174706176"],
    ),
    "no device": (
        lambda: tg.TrainingGraph([]).compile(None),
        tg.CallError,
        ["[device]", "DeviceType", "None", '"cpu"'],
    ),
    "device of another type": (
        lambda: tg.TrainingGraph([]).compile(3),
        tg.CallError,
        ["[device]", "DeviceType", "3"],
    ),
    "random step": (
        lambda: setattr(tg.TrainingGraph([]), "random_step", -1),
        tg.InvalidArgument,
        ["[random_step]", "0 or more", "-1"],
    ),
    "keyword of an op": (
        lambda: tg.Graph().ops.softmax(tg.Tensor((2, 3)), dimension=1),
        tg.InvalidArgument,
        ["softmax", "dimension", "axis"],
    ),
    "value of an op": (
        lambda: tg.Graph().ops.softmax(tg.Tensor((2, 3)), axis="last"),
        tg.InvalidArgument,
        ["softmax", "axis", "'last'"],
    ),
    "inputs of an op": (
        lambda: tg.Graph().ops.logical_not(tg.Tensor((2,)), tg.Tensor((2,))),
        tg.InvalidArgument,
        ["logical_not", "too many"],
    ),
    "missing input of an op": (
        lambda: tg.Graph().ops.matmul(tg.Tensor((2, 2))),
        tg.InvalidArgument,
        ["matmul", "y"],
    ),
    "input given twice": (
        lambda: tg.Graph().ops.matmul(tg.Tensor((2, 2)), x=tg.Tensor((2, 2))),
        tg.InvalidArgument,
        ["matmul", "twice", "x"],
    ),
    "array as input": (
        lambda: tg.Graph().ops.softmax(np.zeros((2, 2))),
        tg.InvalidArgument,
        ["softmax", "ndarray"],
    ),
    "data type of an op": (
        lambda: tg.Graph().ops.logical_not(tg.Tensor((2,))),
        tg.DTypeError,
        ["logical_not", "float32"],
    ),
}


def test_messages_do_not_hold_arrays() -> None:
    graph = tg.TrainingGraph([tg.Graph()])
    marked = np.full((2, 2), 12345, np.float32)
    calls: list[Callable[[], Any]] = [
        lambda: graph.execute({"x": marked}, batch_size=float("nan")),  # type: ignore[arg-type]
        lambda: graph.execute(marked),
        lambda: tg.layers.Convolution(2, 3, marked),
        lambda: tg.layers.FullyConnected(2, "x" * 100 + "12345", weights=marked),  # type: ignore[call-overload]
        lambda: tg.Graph().ops.softmax(tg.Tensor((2, 3)), axis=marked),
        lambda: tg.TensorDescriptor((2, 2), marked),  # type: ignore[arg-type]
    ]
    for call in calls:
        with pytest.raises((TypeError, tg.InvalidArgument)) as caught:
            call()
        assert "12345" not in str(caught.value)
        assert len(str(caught.value)) < 3000


def test_type_errors_name_what_came() -> None:
    graph = tg.TrainingGraph([tg.Graph()])
    with pytest.raises(TypeError, match=r'"batch_size".* got nan'):
        graph.execute({}, batch_size=float("nan"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r'"batch_size".* got a float32'):
        graph.execute({}, batch_size=np.float32(2.7))  # type: ignore[arg-type]


def test_integers_are_not_cut_from_floats() -> None:
    cut: Any = np.float32(2.7)
    calls: list[Callable[[], Any]] = [
        lambda: tg.layers.Softmax(axis=cut),
        lambda: tg.layers.Concatenation(cut),
        lambda: tg.layers.Split(cut, 1),
        lambda: tg.layers.Reduction("sum", axes=cut),
        lambda: tg.layers.FullyConnected(cut, 2),
        lambda: tg.layers.Convolution(2, cut, 3),
        lambda: tg.layers.Convolution(2, 2, cut),
        lambda: tg.layers.Convolution(2, 2, 3, group_count=cut),
        lambda: tg.layers.MaxPooling(2, strides=cut),
        lambda: tg.layers.BatchNormalization(cut),
        lambda: tg.layers.GroupNormalization(4, cut),
        lambda: tg.layers.LayerNormalization((4, cut)),
        lambda: tg.layers.ConvolutionDescriptor.depthwise(3, 2, cut),
        lambda: tg.TensorDescriptor.image(cut, 2, 2, 2),
    ]
    for call in calls:
        with pytest.raises(TypeError):
            call()
    tg.layers.Convolution(np.int64(2), np.int32(2), np.int64(3))  # type: ignore[arg-type]
    with pytest.raises(tg.InvalidArgument, match="axis: expected an int, got float32"):
        tg.Graph().ops.softmax(tg.Tensor((2, 3)), axis=cut)


def _use_twice(layer: tg.layers.Layer) -> tuple[tg.Graph, tg.Graph]:
    first, second = tg.Graph(), tg.Graph()
    first.node(layer, tg.Tensor((1,)))
    second.node(layer, tg.Tensor((1,)))
    return first, second


@pytest.mark.parametrize("name", BUILD_CASES)
def test_build_errors(name: str) -> None:
    call, error, parts = BUILD_CASES[name]
    with pytest.raises(error) as caught:
        call()
    if issubclass(error, tg.Error):
        assert type(caught.value) is error
    for part in parts:
        assert part in str(caught.value)


def test_integers_that_fit_no_64_bits() -> None:
    x = tg.Tensor((4, 2))
    calls: list[Callable[[], Any]] = [
        lambda: tg.Tensor.sequence(2**63, 1, 1),
        lambda: tg.TensorDescriptor((2**63,)),
        lambda: tg.layers.FullyConnected(3, -(2**63) - 1),
        lambda: tg.layers.LSTM(3, 3, layer_count=2**64),
        lambda: tg.layers.MaxPooling(2**70),
        lambda: tg.Graph().ops.split(x, 2**63, 0),
        lambda: tg.set_seed(2**63),
        lambda: tg.TrainingGraph([tg.Graph()]).execute(batch_size=2**63),
    ]
    for call in calls:
        with pytest.raises(tg.InvalidArgument, match="integer is out of range"):
            call()


def test_text_that_is_no_utf8() -> None:
    relu = tg.layers.ReLU()
    for call in (
        lambda: tg.Tensor((2, 3), name="a\ud800"),
        lambda: tg.layers.ReLU(name="\udcff"),
        lambda: setattr(relu, "name", "\udcff"),
    ):
        with pytest.raises(tg.InvalidArgument, match="without lone surrogates"):
            call()


def test_a_nul_in_a_name_does_not_cut_messages() -> None:
    x, y = tg.Tensor((2, 3), name="a\0b"), tg.Tensor((2, 4), name="y")
    with pytest.raises(tg.InvalidArgument, match=r"a\\0b float32 .* graph\.node") as e:
        x + y
    assert "\0" not in str(e.value)
    graph = tg.Graph()
    layer = tg.layers.FullyConnected(4, 2, name="\0fc")
    with pytest.raises(tg.ShapeError, match=r'"\\0fc"\].*expected') as caught:
        graph.node(layer, x)
    assert caught.value.node == "\0fc"


def test_sizes_that_no_machine_holds() -> None:
    most = 2**24
    for call in (
        lambda: tg.Tensor.sequence(1, 1, 2**40),
        lambda: tg.Tensor.sequence(2**40, 1, 1),
        lambda: tg.mlcompute.SequenceDescriptor((2**40, 1, 1), [1]),
        lambda: tg.mlcompute.SequenceDescriptor((1, most + 1, 1), [1]),
    ):
        with pytest.raises(tg.ShapeError, match=f"at most {most}"):
            call()
    layers: dict[str, tuple[Callable[[], Any], str]] = {
        "Embedding": (lambda: tg.layers.Embedding(2**40, 3), "weights"),
        "FullyConnected": (lambda: tg.layers.FullyConnected(2**40, 3), "weights"),
        "LSTM": (lambda: tg.layers.LSTM(2**40, 3), "input_weights"),
        "MultiheadAttention": (
            lambda: tg.layers.MultiheadAttention(2**20, 1),
            "query_weights",
        ),
        "GroupNormalization": (
            lambda: tg.layers.GroupNormalization(2**42, 1),
            "beta",
        ),
    }
    for op, (call, what) in layers.items():
        with pytest.raises(tg.OutOfMemoryError, match="bytes") as error:
            call()
        assert error.value.op == op
        assert f"{what}: host memory" in str(error.value)
    with pytest.raises(tg.ShapeError, match=r"\[LSTM\] input_weights"):
        tg.layers.LSTM(3, 2**62)


def test_tensors_say_how_to_copy_them() -> None:
    tensor = tg.Tensor((2,), fill=1, name="x")
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(tg.UnsupportedError, match='"x"') as error:
            call(tensor)
        assert "data=x.numpy()" in error.value.hint
