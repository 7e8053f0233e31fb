# SPDX-License-Identifier: MIT
"""Wrong calls of compiled graphs: the type of each error and its message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Classifier


def _strided(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asfortranarray(array)


def _swapped(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(array.dtype.newbyteorder("S"))


def _read_only(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array = array.copy()
    array.flags.writeable = False
    return array


class NotForNumPy:
    def __dlpack__(self, **_: object) -> object:
        error = "the data is elsewhere"
        raise BufferError(error)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


RUN_CASES: dict[str, tuple[Callable[[Classifier], Any], type[tg.Error], list[str]]] = {
    "type": (
        lambda c: c.training.execute({"image": c.x.astype("c8")}, {"label": c.y}),
        tg.DTypeError,
        ["execute", "image", "float32", "complex64"],
    ),
    "type of bytes": (
        lambda c: c.training.execute(
            {"image": tg.mlcompute.TensorData(c.x.astype(np.int32))}, {"label": c.y}
        ),
        tg.DTypeError,
        ["image", "float32", "int32", "declare"],
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
    "masked": (
        lambda c: c.training.execute(
            {"image": np.ma.masked_less(c.x, 0.0)}, {"label": c.y}
        ),
        tg.InvalidArgument,
        ["image", "mask", "MaskedArray", "filled"],
    ),
    "DLPack": (
        lambda c: c.training.execute({"image": NotForNumPy()}, {"label": c.y}),
        tg.InvalidArgument,
        ["image", "NumPy cannot read", "elsewhere"],
    ),
    "byte order of an output": (
        lambda c: c.step(outputs_data={"logits": _swapped(np.zeros((8, 3), "f4"))}),
        tg.InvalidArgument,
        ["logits", "byte order", "numpy.empty"],
    ),
    "text": (
        lambda c: c.training.execute({"image": "image.png"}, {"label": c.y}),
        tg.InvalidArgument,
        ["image", "image.png", "asarray"],
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
