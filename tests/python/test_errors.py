# SPDX-License-Identifier: MIT
"""Wrong calls: the type of each error, its Python base, and its message."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Classifier

BASES = {
    tg.InvalidArgument: ValueError,
    tg.ShapeError: ValueError,
    tg.DTypeError: TypeError,
    tg.UnsupportedError: NotImplementedError,
    tg.StateError: RuntimeError,
    tg.DeviceError: RuntimeError,
    tg.InternalError: RuntimeError,
    tg.OutOfMemoryError: MemoryError,
}


@pytest.mark.parametrize(("error", "base"), BASES.items(), ids=lambda t: t.__name__)
def test_errors_have_python_bases(error: type[tg.Error], base: type[Exception]) -> None:
    assert issubclass(error, tg.Error)
    assert issubclass(error, base)


def test_errors_carry_their_parts() -> None:
    graph = tg.Graph()
    x = tg.Tensor((2, 5), name="x")
    with pytest.raises(tg.ShapeError) as caught:
        graph.node(tg.layers.FullyConnected(4, 3, label="head"), x)
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
    "label and name": (
        lambda: tg.Tensor((1,), label="a", name="b"),
        tg.InvalidArgument,
        ["label", "name"],
    ),
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
        lambda: tg.Tensor((2,), data=np.zeros(2)),
        tg.DTypeError,
        ["float64", "astype"],
    ),
    "int data": (
        lambda: tg.Tensor((2,), data=np.zeros(2, np.int32)),
        tg.DTypeError,
        ["float32", "int32", "astype"],
    ),
    "data of another shape": (
        lambda: tg.Tensor((2, 3), data=np.zeros((3, 2), np.float32)),
        tg.ShapeError,
        ["(2, 3)", "(3, 2)"],
    ),
    "random integers": (
        lambda: tg.Tensor((2,), "int32", random_initializer="xavier"),
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
        ["synchronize_data"],
    ),
    "unavailable device": (lambda: tg.Device.ane(), tg.DeviceError, ["ane"]),
    "unknown device": (lambda: tg.Device("tpu"), tg.InvalidArgument, ["tpu", "cpu"]),
    "dropout rate": (lambda: tg.layers.Dropout(1.5), tg.InvalidArgument, ["1.5"]),
    "kernel size": (
        lambda: tg.layers.Convolution(1, 1, 0),
        tg.InvalidArgument,
        ["kernel"],
    ),
    "two kernel sizes": (
        lambda: tg.layers.Convolution(1, 1, kernel_size=3, kernel_sizes=3),
        tg.InvalidArgument,
        ["kernel_size", "kernel_sizes"],
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
    "float64 weights": (
        lambda: tg.layers.FullyConnected(4, 3, weights=np.zeros((3, 4))),
        tg.DTypeError,
        ["weights", "float64"],
    ),
    "an option that the loss has not": (
        lambda: tg.losses.MeanSquaredError(delta=2),
        TypeError,
        ["incompatible constructor arguments"],
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
        lambda: node(tg.layers.Convolution(3, 8, 3, label="stem"), (1, 4, 8, 8)),
        tg.ShapeError,
        ["stem", "3", "4"],
    ),
    "number of sources": (
        lambda: node(tg.layers.ReLU(), (1,), (1,)),
        tg.InvalidArgument,
        ["ReLU"],
    ),
    "reshape": (
        lambda: tg.Graph().reshape((2, 5), tg.Tensor((3, 3))),
        tg.ShapeError,
        ["9"],
    ),
    "permutation": (
        lambda: tg.Graph().transpose((0, 0), tg.Tensor((3, 3))),
        tg.InvalidArgument,
        ["(0, 0)"],
    ),
    "layer of another graph": (
        lambda: _use_twice(tg.layers.ReLU(label="shared")),
        tg.InvalidArgument,
        ["shared", "another graph"],
    ),
    "keyword of an op": (
        lambda: tg.Graph().softmax(tg.Tensor((2, 3)), dimension=1),
        tg.InvalidArgument,
        ["softmax", "dimension", "axis"],
    ),
    "value of an op": (
        lambda: tg.Graph().softmax(tg.Tensor((2, 3)), axis="last"),
        tg.InvalidArgument,
        ["softmax", "axis", "'last'"],
    ),
    "inputs of an op": (
        lambda: tg.Graph().logical_not(tg.Tensor((2,)), tg.Tensor((2,))),
        tg.InvalidArgument,
        ["logical_not", "too many"],
    ),
    "missing input of an op": (
        lambda: tg.Graph().matmul(tg.Tensor((2, 2))),
        tg.InvalidArgument,
        ["matmul", "y"],
    ),
    "input given twice": (
        lambda: tg.Graph().matmul(tg.Tensor((2, 2)), x=tg.Tensor((2, 2))),
        tg.InvalidArgument,
        ["matmul", "twice", "x"],
    ),
    "array as input": (
        lambda: tg.Graph().softmax(np.zeros((2, 2))),
        tg.InvalidArgument,
        ["softmax", "ndarray"],
    ),
    "data type of an op": (
        lambda: tg.Graph().logical_not(tg.Tensor((2,))),
        tg.DTypeError,
        ["logical_not", "float32"],
    ),
}


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


def _strided(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asfortranarray(array)


def _swapped(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(array.dtype.newbyteorder("S"))


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array = array.copy()
    array.flags.writeable = False
    return array


RUN_CASES: dict[str, tuple[Callable[[Classifier], Any], type[tg.Error], list[str]]] = {
    "type": (
        lambda c: c.training.execute({"image": c.x.astype(np.int32)}, {"label": c.y}),
        tg.DTypeError,
        ["execute", "image", "float32", "int32"],
    ),
    "type that traingraph has not": (
        lambda c: c.training.execute({"image": c.x.astype(np.float64)}, {"label": c.y}),
        tg.DTypeError,
        ["image", "float64", "astype"],
    ),
    "shape": (
        lambda c: c.training.execute({"image": c.x[:, :-1].copy()}, {"label": c.y}),
        tg.ShapeError,
        ["image", "(8, 6)", "(8, 5)"],
    ),
    "label shape": (
        lambda c: c.training.execute({"image": c.x}, {"label": c.x}),
        tg.ShapeError,
        ["label", "(8, 3)", "(8, 6)"],
    ),
    "strides": (
        lambda c: c.training.execute({"image": _strided(c.x)}, {"label": c.y}),
        tg.InvalidArgument,
        ["image", "np.ascontiguousarray"],
    ),
    "byte order": (
        lambda c: c.training.execute({"image": _swapped(c.x)}, {"label": c.y}),
        tg.InvalidArgument,
        ["image", "byte order", "np.ascontiguousarray"],
    ),
    "a list": (
        lambda c: c.training.execute({"image": c.x.tolist()}, {"label": c.y}),
        tg.InvalidArgument,
        ["image", "list", "asarray"],
    ),
    "unknown name": (
        lambda c: c.training.execute({"picture": c.x}, {"label": c.y}),
        tg.InvalidArgument,
        ["picture", "image"],
    ),
    "a name that is no string": (
        lambda c: c.training.execute({1: c.x}, {"label": c.y}),
        tg.InvalidArgument,
        ["str", "int"],
    ),
    "missing name": (
        lambda c: c.training.execute({"image": c.x}),
        tg.InvalidArgument,
        ["label"],
    ),
    "batch size": (
        lambda c: c.step(batch_size=9),
        tg.InvalidArgument,
        ["batch_size", "9"],
    ),
    "output name": (
        lambda c: c.step(outputs_data={"probabilities": np.zeros(1, np.float32)}),
        tg.InvalidArgument,
        ["probabilities", "logits"],
    ),
    "read-only output": (
        lambda c: c.step(
            outputs_data={"logits": _read_only(np.zeros((8, 3), np.float32))}
        ),
        tg.InvalidArgument,
        ["logits", "read-only"],
    ),
    "strided output": (
        lambda c: c.step(outputs_data={"logits": _strided(np.zeros((8, 3), "f4"))}),
        tg.InvalidArgument,
        ["logits", "np.ascontiguousarray"],
    ),
    "output type": (
        lambda c: c.step(outputs_data={"logits": np.zeros((8, 3), np.int32)}),
        tg.DTypeError,
        ["logits", "float32", "int32"],
    ),
    "output shape": (
        lambda c: c.step(outputs_data={"logits": np.zeros((3, 8), np.float32)}),
        tg.ShapeError,
        ["logits", "(8, 3)", "(3, 8)"],
    ),
    "gradient before forward": (
        lambda c: c.training.execute_gradient(),
        tg.StateError,
        ["execute_gradient", "forward"],
    ),
    "update before gradient": (
        lambda c: c.training.execute_optimizer_update(),
        tg.StateError,
        ["execute_optimizer_update", "gradient"],
    ),
    "node after compile": (
        lambda c: c.graph.node(tg.layers.ReLU(), c.logits),
        tg.StateError,
        ["compiled"],
    ),
    "inputs after compile": (
        lambda c: c.training.add_inputs({"more": tg.Tensor((8, 1))}),
        tg.StateError,
        ["compile"],
    ),
    "gradient of a stranger": (
        lambda c: [
            c.forward(),
            c.training.execute_gradient(),
            c.training.gradient(tg.Tensor((1,), name="stranger")),
        ],
        tg.InvalidArgument,
        ["stranger"],
    ),
    "unknown output": (
        lambda c: c.step().result().output("missing"),
        tg.InvalidArgument,
        ["missing", "logits"],
    ),
    "loss of a gradient": (
        lambda c: [c.forward(), c.training.execute_gradient().result().loss],
        tg.StateError,
        ["loss"],
    ),
}


@pytest.mark.parametrize("name", RUN_CASES)
def test_run_errors(classifier: Classifier, name: str) -> None:
    call, error, parts = RUN_CASES[name]
    with pytest.raises(error) as caught:
        call(classifier)
    assert type(caught.value) is error
    for part in parts:
        assert part in str(caught.value)


def test_checks_come_before_anything_is_enqueued(classifier: Classifier) -> None:
    before = classifier.dense.weights.numpy()
    step = classifier.training.random_step
    with pytest.raises(tg.ShapeError):
        classifier.training.execute(
            {"image": classifier.x}, {"label": classifier.x}, synchronous=True
        )
    assert classifier.training.random_step == step
    np.testing.assert_array_equal(classifier.dense.weights.numpy(), before)


def test_read_only_inputs_are_fine(classifier: Classifier) -> None:
    data = {"image": _read_only(classifier.x)}
    run = classifier.training.execute(data, {"label": _read_only(classifier.y)})
    assert np.isfinite(run.result().loss)


def test_execute_before_compile(
    make_classifier: Callable[..., Classifier],
) -> None:
    classifier = make_classifier(is_compiled=False)
    with pytest.raises(tg.StateError, match="compile"):
        classifier.step()
    with pytest.raises(tg.StateError, match="compile"):
        _ = classifier.training.memory
    assert not classifier.training.is_compiled
    assert classifier.training.device_memory_size == 0
    assert classifier.training.compile_count == 0


def test_unavailable_device_at_compile(
    make_classifier: Callable[..., Classifier],
) -> None:
    classifier = make_classifier(is_compiled=False)
    with pytest.raises(tg.DeviceError, match="ane"):
        classifier.training.compile("ane")
    with pytest.raises(tg.InvalidArgument, match="abacus"):
        classifier.training.compile("abacus")


def test_duplicate_names() -> None:
    x, y = tg.Tensor((2,)), tg.Tensor((2,))
    graph = tg.Graph()
    graph.node(tg.layers.Arithmetic("add"), [x, y])
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    with pytest.raises(tg.InvalidArgument, match='"x"'):
        inference.add_inputs({"x": y})
