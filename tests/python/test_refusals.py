# SPDX-License-Identifier: MIT
"""Nothing that is given is ignored: options without effect, sizes that are none,
values that mean nothing. Each is refused where it is given, by an error that
names the op, what was expected and what came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

if TYPE_CHECKING:
    from collections.abc import Callable

L = tg.layers
IMAGE = (2, 3, 8, 8)


def op(name: str, *shapes: tuple[int, ...], **options: Any) -> Callable[[], Any]:
    def call() -> Any:
        return getattr(tg.Graph().ops, name)(*(tg.Tensor(s) for s in shapes), **options)

    return call


def node(make: Callable[[], Any], shape: tuple[int, ...]) -> Callable[[], Any]:
    return lambda: tg.Graph().node(make(), tg.Tensor(shape))


def quantized(scale: Any, bias: Any) -> Callable[[], Any]:
    x = tg.Tensor((2,), fill=1)
    return lambda: x.quantized("int8", scale, bias)


def cross_entropy(class_weights: Any) -> Callable[[], Any]:
    def call() -> Any:
        loss = tg.losses.SoftmaxCrossEntropy(class_weights=class_weights)
        return tg.Graph().node(loss, tg.Tensor((4, 5)), loss_labels=[tg.Tensor((4, 5))])

    return call


def mean_squares(prediction: tuple[int, ...], labels: tuple[int, ...]) -> Any:
    return lambda: tg.Graph().node(
        tg.losses.MeanSquaredError(),
        tg.Tensor(prediction),
        loss_labels=[tg.Tensor(labels)],
    )


# What is called, what the message contains.
CASES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "b of SiLU": (
        op("activation", (2,), type="silu", b=2),
        ["[activation", "b is out of range", "0: silu does not use it", "got 2"],
    ),
    "c of tanh": (op("activation", (2,), type="tanh", a=1, b=1, c=3), ["c is", "tanh"]),
    "a of CELU": (op("activation", (2,), type="celu", a=0), ["a is", "not 0"]),
    "a of a gradient": (
        op("activation_gradient", (2,), (2,), type="mish", a=1),
        ["[activation_gradient", "mish"],
    ),
    "value of replicate": (
        op("pad", (4,), type="replicate", before=1, after=1, value=3),
        ["[pad", "value", "replicate padding does not use it", "got 3"],
    ),
    "value of zero": (op("pad", (4,), before=1, after=1, value=3), ["value", "zero"]),
    "delta of squares": (
        op("loss", (2, 3), (2, 3), type="mean_squared_error", delta=2),
        ["[loss", "delta", "mean_squared_error does not use it"],
    ),
    "smoothing of Huber": (
        op("loss", (2, 3), (2, 3), type="huber", label_smoothing=0.5),
        ["label_smoothing", "huber"],
    ),
    "count of other classes": (
        op("loss", (2, 3), (2, 3), type="softmax_cross_entropy", class_count=7),
        ["[loss", "class_count", "3, or 1", "got 7"],
    ),
    "momentum of no statistics": (
        op("sample_norm", (2, 3, 4), groups=3, momentum=0.5),
        ["momentum", "running statistics"],
    ),
    "momentum without training": (
        op("sample_norm", (2, 3, 4), groups=3, momentum=0.5, training=False),
        ["momentum", "0.99 without training"],
    ),
    "seed without dropout": (
        op("attention", (2, 5, 4), (2, 7, 4), (2, 7, 6), seed=3),
        ["[attention", "seed", "0 without dropout", "got 3"],
    ),
    "cell without a peephole": (
        op("lstm_steps", (2, 1, 8), (8, 2), output_peephole_reads_new_cell=True),
        ["output_peephole_reads_new_cell", "peephole"],
    ),
    "aligned corners": (
        op("upsample", IMAGE, shape=(16, 16), aligns_corners=True),
        ["aligns_corners", "nearest"],
    ),
    "no stride": (lambda: L.MaxPooling(2, 0), ["Pooling", "strides", "(0, 0)"]),
    "no strides": (lambda: L.AveragePooling(2, strides=0), ["strides", "1 to"]),
    "one stride": (lambda: L.L2NormPooling(2, strides=(1, 0)), ["strides", "(1, 0)"]),
    "stride below 0": (lambda: L.MaxPooling(2, strides=-1), ["strides", "(-1, -1)"]),
    "no kernel": (lambda: L.MaxPooling(0, strides=1), ["kernel_size", "got (0, 0)"]),
    "no dilation": (lambda: L.MaxPooling(2, dilation_rates=0), ["dilation_rates"]),
    "stride of a convolution": (
        lambda: L.Convolution(1, 1, kernel_size=3, strides=0),
        ["strides", "(0, 0)"],
    ),
    "stride of an op": (
        op("max_pool_2d", IMAGE, kernel_size=2, strides=0),
        ["[max_pool_2d", "0"],
    ),
    "padding without sizes": (
        lambda: L.MaxPooling(2, padding=tg.mlcompute.PaddingPolicy.use_padding_size),
        ["use_padding_size needs sizes", "padding_sizes", "valid"],
    ),
    "descriptor without sizes": (
        lambda: L.PoolingDescriptor.max(2, padding_policy="use_padding_size"),
        ["[Pooling", "use_padding_size needs sizes"],
    ),
    "convolution without sizes": (
        lambda: L.ConvolutionDescriptor(3, 1, 1, padding_policy="use_padding_size"),
        ["[Convolution", "use_padding_size needs sizes"],
    ),
    "L2 window": (
        node(lambda: L.L2NormPooling(9), IMAGE),
        ["[l2_norm_pooling", "the kernel does not fit"],
    ),
    "split": (
        lambda: tg.Graph().ops.split(tg.Tensor((2, 3)), 5, 1),
        ["[split", "split_count", "1 to 3", "got 5"],
    ),
    "text as scale": (quantized("a", 0), ["[quantized", "numbers", "'a'"]),
    "text as bias": (quantized(1.0, "a"), ["[quantized", "numbers", "'a'"]),
    "ragged scales": (quantized([[1.0], [1.0, 2.0]], 0), ["[quantized", "list"]),
    "text as data": (
        lambda: tg.Tensor((2,), data="ab"),
        ["[tensor", "numbers", "'ab'"],
    ),
    "text as anchors": (
        lambda: tg.losses.YOLOLossDescriptor("ab"),
        ["[YOLOLoss", "anchor_boxes", "numbers", "'ab'"],
    ),
    "flat anchors": (
        lambda: tg.losses.YOLOLossDescriptor([1, 2]),
        ["width and height", "(number of anchors, 2)", "(2,)"],
    ),
    "class weights of NaN": (
        cross_entropy([1, np.nan, 1, 1, 1]),
        ["at least 0, got nan"],
    ),
    "class weights below 0": (cross_entropy([1, 1, -2, 1, 1]), ["at least 0, got -2"]),
    "class weights that stand": (
        cross_entropy(np.ones((5, 1), np.float32)),
        ["not one for each class", "(5)", "(5, 1)"],
    ),
    "labels that lack and broadcast": (
        mean_squares((8, 1, 3, 5), (8, 5)),
        ["labels", "(8, 1, 3, 5)", "(8, 5)", "not both", "reshape them to 4 axes"],
    ),
    "embedding without sizes": (lambda: L.Embedding(), ["embedding_count"]),
    "embedding of weights in rows": (
        lambda: L.Embedding(weights=np.zeros((1, 5, 1, 2), np.float32)),
        ["embedding_count"],
    ),
    "embedding of none": (
        lambda: L.Embedding(0, weights=np.zeros((5, 2), np.float32)),
        ["embedding_count", "at least 1"],
    ),
}


@pytest.mark.parametrize(("call", "parts"), CASES.values(), ids=CASES)
def test_is_refused(call: Callable[[], Any], parts: list[str]) -> None:
    with pytest.raises(tg.Error) as caught:
        call()
    assert isinstance(caught.value, ValueError | TypeError)
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_what_has_an_effect_is_taken() -> None:
    graph = tg.Graph()
    image = tg.Tensor(IMAGE)
    for padding in (0, (0, 1), tg.mlcompute.PaddingPolicy.valid):
        assert graph.node(L.MaxPooling(2, padding=padding), image).shape[2] == 4
    assert L.MaxPooling((2, 3)).descriptor.strides == (2, 3)
    assert L.AveragePooling(2, strides=(1, 3)).descriptor.strides == (1, 3)
    assert len(graph.ops.split(tg.Tensor((2, 3)), 3, 1)) == 3
    boxes = tg.losses.YOLOLossDescriptor([1, 2, 3, 4], 2).anchor_boxes
    np.testing.assert_array_equal(boxes, [[1, 2], [3, 4]])
    for shape in ((5,), (1, 5), (1, 5, 1, 1)):
        cross_entropy(np.ones(shape, np.float32))()
    for labels in ((8, 3, 5), (8, 1, 3, 5), (5,), (8, 1, 1, 5)):
        mean_squares((8, 1, 3, 5), labels)()


def test_sizes_of_an_embedding_are_those_of_its_weights() -> None:
    weights = np.arange(10, dtype=np.float32).reshape(5, 2)
    for layer in (L.Embedding(weights=weights), L.Embedding(5, weights=weights)):
        assert layer.descriptor == L.EmbeddingDescriptor(5, 2)
        np.testing.assert_array_equal(layer.weights.numpy(), weights)
    with pytest.raises(tg.ShapeError, match="weights"):
        L.Embedding(4, weights=weights)


def test_the_first_result_of_several() -> None:
    graph = tg.Graph()
    split = L.Split(2, 1)
    first = graph.node(split, tg.Tensor((2, 4)))
    assert graph.result_tensors(split)[0] == first
    assert len(graph.result_tensors(split)) == 2
