# SPDX-License-Identifier: MIT
"""repr of every public object: one useful line, in every state; notebooks."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import _core

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Classifier

L, S, O, N = tg.layers, tg.losses, tg.optimizers, tg.nodes


def weights() -> tg.Tensor:
    return tg.Tensor((2, 3), fill=1, name="w")


def image(name: str = "i") -> tg.nodes.ImageNode:
    return N.ImageNode(name, (3, 8, 8))


# An object, and what its repr contains beyond the class's name.
OBJECTS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "Tensor": (weights, ['"w"', "(2, 3)", "float32", "on the host"]),
    "Tensor without data": (lambda: tg.Tensor((4,), "int32", name="t"), ["int32"]),
    "TensorDescriptor": (lambda: tg.TensorDescriptor((2, 3)), ["(2, 3)", "float32"]),
    "SequenceDescriptor": (
        lambda: tg.mlcompute.SequenceDescriptor((2, 3, 4), [3, 2]),
        [],
    ),
    "TensorData": (
        lambda: tg.mlcompute.TensorData(np.zeros(3, np.float32)),
        ["12 bytes", "writable"],
    ),
    "TensorParameter": (
        lambda: tg.mlcompute.TensorParameter(weights()),
        ['"w"', "trained"],
    ),
    "Device": (lambda: tg.Device("cpu"), ["cpu (", "threads"]),
    "Graph": (tg.Graph, ["0 layers"]),
    "TrainingGraph": (
        lambda: tg.TrainingGraph([tg.Graph()], None, O.SGD(0.1)),
        ["SGD", "not compiled"],
    ),
    "InferenceGraph": (lambda: tg.InferenceGraph([tg.Graph()]), ["not compiled"]),
    "FullyConnected": (
        lambda: L.FullyConnected(3, 2, name="fc"),
        ['"fc"', "input_feature_channel_count=3", "output_feature_channel_count=2"],
    ),
    "FullyConnected before its node": (
        lambda: L.FullyConnected(2, name="fc"),
        ['"fc", output_feature_channel_count=2>'],
    ),
    "Sequential": (lambda: L.Sequential(L.ReLU(), L.Flatten()), ["ReLU, Flatten"]),
    "Convolution": (
        lambda: L.Convolution(1, 2, 3, strides=2, padding="valid"),
        ["kernel_size=(3, 3)", "strides=(2, 2)", "padding_policy='valid'"],
    ),
    "MaxPooling": (lambda: L.MaxPooling(2), ["kernel_size=(2, 2)"]),
    "Dropout": (lambda: L.Dropout(0.3), ["rate=0.3"]),
    "LeakyReLU": (lambda: L.LeakyReLU(0.2), ["a=0.2"]),
    "Activation": (lambda: L.Activation("silu"), ["silu"]),
    "ActivationDescriptor": (lambda: L.ActivationDescriptor("elu", 2), ["elu", "a=2"]),
    "LSTM": (lambda: L.LSTM(3, 4, layer_count=2), ["hidden_size=4", "layer_count=2"]),
    "MultiheadAttention": (lambda: L.MultiheadAttention(8, 2), ["head_count=2"]),
    "BatchNormalization": (
        lambda: L.BatchNormalization(3),
        ["feature_channel_count=3"],
    ),
    "Embedding": (lambda: L.Embedding(5, 2), ["embedding_count=5"]),
    "Arithmetic": (lambda: L.Arithmetic("add"), ["operation='add'"]),
    "Reshape": (lambda: L.Reshape((2, -1)), ["shape=(2, -1)"]),
    "ConvolutionDescriptor": (
        lambda: L.ConvolutionDescriptor(3, 1, 2),
        ["kernel_size=(3, 3)"],
    ),
    "Huber": (lambda: S.Huber(delta=3, name="h"), ['"h"', "delta=3"]),
    "SoftmaxCrossEntropy": (
        lambda: S.SoftmaxCrossEntropy("sum", label_smoothing=0.1),
        ["reduction_type='sum'", "label_smoothing=0.1"],
    ),
    "LossDescriptor": (lambda: S.LossDescriptor("huber"), ["loss_type='huber'"]),
    "SGD": (lambda: O.SGD(0.1, 0.9), ["learning_rate=0.1", "momentum_scale=0.9"]),
    "Adam": (lambda: O.Adam(beta1=0.8), ["learning_rate=0.001", "beta1=0.8"]),
    "OptimizerDescriptor": (lambda: O.OptimizerDescriptor(0.5), ["learning_rate=0.5"]),
    "GRUDescriptor": (lambda: tg.ops.GRUDescriptor(reverse=True), ["reverse=True"]),
    "ImageNode": (image, ['"i"', "(3, 8, 8)"]),
    "ConvolutionData": (
        lambda: N.ConvolutionData(np.zeros((2, 3, 3, 3), np.float32), name="c"),
        ['"c"', "weights (2, 3, 3, 3)"],
    ),
    "NormalizationData": (lambda: N.NormalizationData(3), ["3 channels"]),
}


def require_useful(text: str, name: str, parts: list[str]) -> None:
    assert "\n" not in text
    assert len(text) < 400
    assert name in text
    assert " object at 0x" not in text
    for part in parts:
        assert part in text, text


@pytest.mark.parametrize("name", OBJECTS)
def test_repr(name: str) -> None:
    make, parts = OBJECTS[name]
    value = make()
    require_useful(repr(value), type(value).__name__, parts)


def public_classes() -> dict[str, type]:
    modules = (tg, L, S, O, N)
    return {
        f"{module.__name__}.{name}": value
        for module in modules
        for name in module.__all__
        if inspect.isclass(value := getattr(module, name))
    }


@pytest.mark.parametrize("name", public_classes())
def test_every_class_has_a_repr(name: str) -> None:
    cls = public_classes()[name]
    assert cls.__repr__ is not object.__repr__


def test_options_at_their_defaults_are_left_out() -> None:
    assert repr(O.SGD(0.1)) == "<SGD learning_rate=0.1>"
    assert repr(L.ReLU(name="a")) == '<ReLU "a">'
    assert repr(L.Softmax(name="s")) == '<Softmax "s">'
    assert repr(tg.ops.GRUDescriptor()) == "<GRUDescriptor>"


def test_states_of_a_graph(classifier: Classifier) -> None:
    c = classifier
    text = repr(c.training)
    require_useful(text, "TrainingGraph", ["2 parameters", "SGD", "compiled for cpu"])
    run = c.step()
    run.wait()
    require_useful(repr(run), "Execution", ["done"])
    result = run.result()
    require_useful(repr(result), "ExecutionResult", ["loss=", "logits: (8, 3)"])
    pure = c.training.execute_forward({"image": c.x}, forward_for_inference=True)
    require_useful(repr(pure.result()), "ExecutionResult", ["logits: (8, 3)"])
    require_useful(repr(c.training.memory), "MemoryReport", ["persistent", "step"])
    require_useful(
        repr(c.training.memory.step), "PlanMemory", ["bytes", "live peak", "allocated"]
    )
    require_useful(repr(c.dense.weights), "Tensor", ["on cpu"])
    c.step(profiling=True, per_layer_profiling=True).wait()
    require_useful(repr(c.training.profile()), "Profile", ["layers", "units"])
    require_useful(repr(c.training.report()), "Report", ["layers", "units"])
    require_useful(repr(c.graph), "Graph", ["1 layer"])


def test_optimizer_buffers(make_classifier: Callable[..., Classifier]) -> None:
    c = make_classifier(optimizer=O.SGD(0.1, 0.9))
    c.step().wait()
    (buffer,) = c.dense.weights.optimizer_device_data
    require_useful(repr(buffer), "TensorOptimizerDeviceData", ['"momentum"', "bytes"])
    assert "time_step=2" in repr(c.training.optimizer)


def test_results_without_a_name_have_a_shape() -> None:
    x = tg.Tensor((4, 3), name="x")
    graph = tg.Graph()
    graph.node(L.FullyConnected(3, 2), x)
    inference = tg.InferenceGraph([graph])
    inference.add_inputs({"x": x})
    inference.compile("cpu")
    result = inference.execute({"x": np.ones((4, 3), np.float32)}).result()
    require_useful(repr(result), "ExecutionResult", ["result: (4, 2)"])


def test_a_schedule_stands_in_for_the_rate() -> None:
    sgd = O.SGD(0.1)
    sgd.schedule = O.Schedule.cosine(0.1, 10)
    assert repr(sgd) == "<SGD schedule=cosine(0.1, 10, 0)>"


def test_a_label_of_several_lines() -> None:
    assert repr(L.ReLU(name="a\nb")) == '<ReLU "a b">'


def test_repr_never_raises() -> None:
    for cls in (_core.Tensor, _core.Graph, _core.Adam):
        raw = cls.__new__(cls) if cls is _core.Graph else None
        if raw is not None:
            assert repr(raw)


def test_notebooks_show_more(classifier: Classifier) -> None:
    c = classifier
    c.step(profiling=True, per_layer_profiling=True).wait()
    memory = c.training.memory._repr_html_()  # type: ignore[attr-defined]
    assert memory.startswith("<pre>")
    assert str(c.training.memory).splitlines()[0] in memory
    profile = c.training.profile()
    assert "dense" in profile._repr_html_()
    report = c.training.report()
    assert "<svg" in report._repr_svg_()
    graph = c.graph._repr_html_()  # type: ignore[attr-defined]
    assert "dense" in graph
    assert "FullyConnected" in graph
