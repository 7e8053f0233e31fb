# SPDX-License-Identifier: MIT
"""Every node class: made, run forward, and its gradient asked for."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg
from traingraph import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]

SIZE = (4, 6, 6)


def weights(out: int, kernel: tuple[int, int], channels: int) -> nodes.ConvolutionData:
    rng = np.random.default_rng(3)
    shape = (out, *kernel, channels)
    return nodes.ConvolutionData(
        rng.standard_normal(shape, np.float32), rng.standard_normal(out, np.float32)
    )


NORMS = {
    "BatchNormalizationNode": nodes.BatchNormalizationNode,
    "InstanceNormalizationNode": nodes.InstanceNormalizationNode,
    "GroupNormalizationNode": nodes.GroupNormalizationNode,
}


def norm(kind: str) -> Callable[[nodes.ImageNode], nodes.FilterNode]:
    return lambda x: NORMS[kind](x, nodes.NormalizationData(4, groups=2, epsilon=1e-3))


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def windows(x: Array, size: int) -> Array:
    """(batch, channels, height / size, width / size, size * size)."""
    n, c, h, w = x.shape
    cut = x.reshape(n, c, h // size, size, w // size, size)
    return cut.transpose(0, 1, 2, 4, 3, 5).reshape(
        n, c, h // size, w // size, size * size
    )


def upsampled(x: Array) -> Array:
    return x.repeat(2, axis=2).repeat(3, axis=3)


def relu_like(x: Array, a: Array) -> Array:
    return np.where(x >= 0, x, a * x)


A = np.array([0.1, 0.2, 0.3, 0.4], np.float32)

# Class, how it is made of one image, its formula.
SIMPLE: list[tuple[str, Any, Any]] = [
    ("AbsoluteNode", nodes.AbsoluteNode, np.abs),
    ("LinearNode", lambda x: nodes.LinearNode(x, 2, b=1), lambda x: 2 * x + 1),
    ("ReLUNode", lambda x: nodes.ReLUNode(x, 0.1), lambda x: relu_like(x, A[0])),
    (
        "PReLUNode",
        lambda x: nodes.PReLUNode(x, A),
        lambda x: relu_like(x, A[:, None, None]),
    ),
    (
        "ReLUNNode",
        lambda x: nodes.ReLUNNode(x, 0.1, 0.5),
        lambda x: np.minimum(relu_like(x, A[0]), 0.5),
    ),
    ("SigmoidNode", nodes.SigmoidNode, lambda x: 1 / (1 + np.exp(-x))),
    (
        "HardSigmoidNode",
        nodes.HardSigmoidNode,
        lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    ),
    ("TanHNode", lambda x: nodes.TanHNode(x, 2, 0.5), lambda x: 2 * np.tanh(0.5 * x)),
    (
        "SoftPlusNode",
        lambda x: nodes.SoftPlusNode(x, 2, 0.5),
        lambda x: 2 * np.log1p(np.exp(0.5 * x)),
    ),
    ("SoftSignNode", nodes.SoftSignNode, lambda x: x / (1 + np.abs(x))),
    ("ELUNode", nodes.ELUNode, lambda x: np.where(x >= 0, x, np.expm1(x))),
    ("PowerNode", lambda x: nodes.PowerNode(x, 2, 1, 2), lambda x: (2 * x + 1) ** 2),
    ("ExponentialNode", nodes.ExponentialNode, np.exp),
    (
        "LogarithmNode",
        lambda x: nodes.LogarithmNode(x, 0.1, 2, 10),
        lambda x: np.log10(0.1 * x + 2),
    ),
    (
        "NeuronNode",
        lambda x: nodes.NeuronNode(x, "linear", 3),
        lambda x: 3 * x,
    ),
    ("SoftMaxNode", nodes.SoftMaxNode, softmax),
    ("LogSoftMaxNode", nodes.LogSoftMaxNode, lambda x: np.log(softmax(x))),
    (
        "PoolingMaxNode",
        lambda x: nodes.PoolingMaxNode(x, 2),
        lambda x: windows(x, 2).max(axis=-1),
    ),
    (
        "DilatedPoolingMaxNode",
        lambda x: nodes.DilatedPoolingMaxNode(x, kernel_size=3, strides=3),
        lambda x: windows(x, 3).max(axis=-1),
    ),
    (
        "PoolingAverageNode",
        lambda x: nodes.PoolingAverageNode(x, 2, 2),
        lambda x: windows(x, 2).mean(axis=-1),
    ),
    (
        "PoolingL2NormNode",
        lambda x: nodes.PoolingL2NormNode(x, (3, 3)),
        lambda x: np.sqrt((windows(x, 3) ** 2).sum(axis=-1)),
    ),
    (
        "UpsamplingNearestNode",
        lambda x: nodes.UpsamplingNearestNode(x, 3, 2),
        upsampled,
    ),
    (
        "ReshapeNode",
        lambda x: nodes.ReshapeNode(x, (144, 1, 1)),
        lambda x: x.transpose(0, 2, 3, 1).reshape(-1, 144, 1, 1),
    ),
    (
        "PadNode",
        lambda x: nodes.PadNode(
            x, (0, 1, 2), (0, 3, 0), edge_mode="constant", fill_value=0.5
        ),
        lambda x: np.pad(x, ((0, 0), (0, 0), (1, 3), (2, 0)), constant_values=0.5),
    ),
    (
        "ReductionNode",
        lambda x: nodes.ReductionNode(x, "spatial_mean"),
        lambda x: x.mean(axis=(2, 3), keepdims=True),
    ),
    (
        "ConcatenationNode",
        lambda x: nodes.ConcatenationNode([x, x]),
        lambda x: np.concatenate([x, x], axis=1),
    ),
    (
        "AdditionNode",
        lambda x: nodes.AdditionNode(x, x, secondary_scale=3, bias=1),
        lambda x: 4 * x + 1,
    ),
    (
        "SubtractionNode",
        lambda x: nodes.SubtractionNode(x, x, primary_scale=3, maximum_value=1),
        lambda x: np.minimum(2 * x, 1),
    ),
    (
        "MultiplicationNode",
        lambda x: nodes.MultiplicationNode(x, x, minimum_value=0.1),
        lambda x: np.maximum(x * x, 0.1),
    ),
    (
        "FullyConnectedNode",
        lambda x: nodes.FullyConnectedNode(x, weights(3, (6, 6), 4)),
        lambda x: (
            np.einsum("ohwc,nchw->no", weights(3, (6, 6), 4).weights, x)
            + weights(3, (6, 6), 4).bias_terms
        )[:, :, None, None],
    ),
    (
        "ConvolutionNode",
        lambda x: nodes.ConvolutionNode(x, weights(2, (1, 1), 4)),
        lambda x: (
            np.einsum("oc,nchw->nohw", weights(2, (1, 1), 4).weights[:, 0, 0], x)
            + weights(2, (1, 1), 4).bias_terms[:, None, None]
        ),
    ),
]
# MPSNN has a class for each reduction.
CLASS_NAMES = {"ReductionNode": "ReductionSpatialMeanNode"}
# Formulas of these are tested elsewhere; here they are made and have a size.
OTHERS: list[tuple[str, Any, tuple[int, int, int]]] = [
    ("GeLUNode", nodes.GeLUNode, SIZE),
    ("CrossChannelNormalizationNode", nodes.CrossChannelNormalizationNode, SIZE),
    ("SpatialNormalizationNode", lambda x: nodes.SpatialNormalizationNode(x, 3), SIZE),
    (
        "LocalContrastNormalizationNode",
        lambda x: nodes.LocalContrastNormalizationNode(x, 3, p0=0.5),
        SIZE,
    ),
    ("DropoutNode", lambda x: nodes.DropoutNode(x, 0.8, seed=4), SIZE),
    (
        "UpsamplingBilinearNode",
        lambda x: nodes.UpsamplingBilinearNode(x, 2, 2, aligns_corners=True),
        (4, 12, 12),
    ),
    (
        "GramMatrixCalculationNode",
        lambda x: nodes.GramMatrixCalculationNode(x, 0.5),
        (4, 1, 4),
    ),
    (
        "ConvolutionTransposeNode",
        lambda x: nodes.ConvolutionTransposeNode(
            x, weights(2, (3, 3), 4), padding="full"
        ),
        (2, 8, 8),
    ),
    *((name, norm(name), SIZE) for name in NORMS),
]
WITHOUT_GRADIENT: list[tuple[str, Any]] = [
    ("DivisionNode", lambda x: nodes.DivisionNode(x, x)),
    ("BilinearScaleNode", lambda x: nodes.BilinearScaleNode(x, (3, 9))),
    (
        "ReductionNode",
        lambda x: nodes.ReductionNode(x, tg.nodes.ImageReduction.row_max),
    ),
    ("InitialGradientNode", nodes.InitialGradientNode),
]


@pytest.fixture
def x(rng: np.random.Generator) -> Array:
    return rng.standard_normal((2, *SIZE), np.float32)


def run(image: nodes.ImageNode, x: Array, **more: Array) -> Array:
    graph = nodes.Graph("cpu", [image], batch_size=len(x))
    result = graph.execute({"x": x, **more}).result()
    return result.output(graph.result_handles[0])


def check_gradient(node: nodes.FilterNode, x: Array) -> None:
    ones = nodes.InitialGradientNode(node.result_image).result_image
    if isinstance(node, nodes.TrainableNode):
        node.training_style = "none"
    gradients = node.gradient_filters(ones)
    assert len(gradients) == len(node.source_images)
    for index, gradient in enumerate(gradients):
        assert isinstance(gradient, nodes.GradientFilterNode)
        assert gradient.forward_filter == node
        assert gradient.source_index == index
        assert gradient.is_secondary_source_filter == (index == 1)
        assert gradient.result_image.size == node.source_images[index].size
        assert np.isfinite(run(gradient.result_image, x)).all()


@pytest.mark.parametrize(
    ("name", "make", "formula"), SIMPLE, ids=[s[0] for s in SIMPLE]
)
def test_formulas(name: str, make: Any, formula: Any, x: Array) -> None:
    node = make(nodes.ImageNode("x", SIZE))
    assert isinstance(node, nodes.FilterNode)
    assert type(node).__name__ == name
    assert node.class_name == CLASS_NAMES.get(name, name)
    want = formula(x.astype(np.float64))
    assert node.result_image.size == want.shape[1:]
    # Sums of up to 144 products near 1, in float32.
    np.testing.assert_allclose(run(node.result_image, x), want, rtol=1e-4, atol=2e-5)
    check_gradient(node, x)


@pytest.mark.parametrize(("name", "make", "size"), OTHERS, ids=[s[0] for s in OTHERS])
def test_others(name: str, make: Any, size: Any, x: Array) -> None:
    node = make(nodes.ImageNode("x", SIZE))
    assert node.class_name == name == type(node).__name__
    assert node.result_image.size == size
    assert np.isfinite(run(node.result_image, x)).all()
    check_gradient(node, x)


@pytest.mark.parametrize(("name", "make"), WITHOUT_GRADIENT)
def test_no_gradient(name: str, make: Any, x: Array) -> None:
    node = make(nodes.ImageNode("x", SIZE))
    assert type(node).__name__ == name
    run(node.result_image, x)
    ones = nodes.InitialGradientNode(node.result_image).result_image
    with pytest.raises(tg.UnsupportedError):
        node.gradient_filter(ones)
    with pytest.raises(tg.UnsupportedError):
        node.gradient_filters([ones])


def test_every_class_is_tested() -> None:
    tested = {row[0] for rows in (SIMPLE, OTHERS, WITHOUT_GRADIENT) for row in rows}
    tested |= {"FilterNode", "TrainableNode", "GradientFilterNode"}  # bases
    tested |= {"LossNode", "ForwardLossNode"}  # test_losses
    classes = {
        name
        for name in nodes.__all__
        if inspect.isclass(cls := getattr(nodes, name))
        and issubclass(cls, nodes.FilterNode)
    }
    assert classes == tested


def test_losses(rng: np.random.Generator) -> None:
    y = rng.standard_normal((3, 4, 2, 2), np.float32)
    t = rng.standard_normal((3, 4, 2, 2), np.float32)
    w = rng.random((3, 4, 2, 2), np.float32)
    prediction = nodes.ImageNode("x", (4, 2, 2))
    labels = nodes.ImageNode("t", (4, 2, 2))
    weight = nodes.ImageNode("w", (4, 2, 2))
    descriptor = nodes.LossDescriptor("mean_squared_error", "sum", weight=2)
    loss = nodes.LossNode(prediction, labels, descriptor, weight, name="mse")
    graph = nodes.Graph("cpu", [loss.result_image], batch_size=3)
    assert graph.source_image_handles == ["x", "t", "w"]
    assert graph.result_handles == ["mse", "mse.loss"]
    result = graph.execute({"x": y, "t": t, "w": w}).result()
    each = 2 * w * (y - t) ** 2
    # Sums of 16 squares in float32.
    np.testing.assert_allclose(
        result.output("mse.loss"), each.sum(axis=(1, 2, 3), keepdims=True), rtol=1e-5
    )
    np.testing.assert_allclose(result.output("mse"), 4 * w * (y - t), rtol=1e-5)
    assert loss.loss_image.size == (1, 1, 1)
    with pytest.raises(tg.UnsupportedError, match="LossNode"):
        loss.gradient_filter(loss.result_image)

    forward = nodes.ForwardLossNode(prediction, labels, descriptor, weights=weight)
    ones = nodes.InitialGradientNode(forward.result_image).result_image
    gradient, of_labels = forward.gradient_filters(ones)
    got = run(gradient.result_image, y, t=t, w=w)
    np.testing.assert_allclose(got, 4 * w * (y - t), rtol=1e-5)
    got = run(of_labels.result_image, y, t=t, w=w)
    np.testing.assert_allclose(got, 4 * w * (t - y), rtol=1e-5)


def test_reductions_of_losses(rng: np.random.Generator) -> None:
    y = rng.standard_normal((3, 4, 2, 2), np.float32)
    t = rng.standard_normal((3, 4, 2, 2), np.float32)
    w = (rng.random((3, 4, 2, 2)) > 0.5).astype(np.float32)
    each = w * (y - t) ** 2
    prediction, labels, weight = (nodes.ImageNode(n, (4, 2, 2)) for n in "xtw")

    def loss_of(reduction: str, **options: bool) -> np.ndarray[Any, Any]:
        descriptor = nodes.LossDescriptor("mean_squared_error", reduction, **options)
        loss = nodes.ForwardLossNode(prediction, labels, descriptor, weights=weight)
        return run(loss.result_image, y, t=t, w=w)

    across = {"reduce_across_batch": True}
    got = loss_of("mean", **across)
    assert got.shape == (1, 1, 1, 1)
    np.testing.assert_allclose(got.item(), each.mean(), rtol=1e-5)
    np.testing.assert_allclose(loss_of("sum", **across).item(), each.sum(), rtol=1e-5)
    set_only = {"divides_by_non_zero_weights": True}
    got = loss_of("sum", **set_only)
    images = (1, 2, 3)
    np.testing.assert_allclose(got.ravel(), each.sum(images) / w.sum(images), rtol=1e-5)
    got = loss_of("sum", **across, **set_only)
    np.testing.assert_allclose(got.item(), each.sum() / w.sum(), rtol=1e-5)
    with pytest.raises(tg.InvalidArgument, match="reduce_across_batch"):
        loss_of("none", **across)
    with pytest.raises(tg.InvalidArgument, match="divides_by_non_zero_weights"):
        loss_of("mean", **set_only)


def test_paddings() -> None:
    image = nodes.ImageNode("x", SIZE)
    sizes: list[tuple[Any, tuple[int, int, int]]] = [
        ("same", (2, 6, 6)),
        ("valid", (2, 4, 4)),
        ("full", (2, 8, 8)),
        (tg.nodes.PaddingExtent.full, (2, 8, 8)),
        (nodes.PaddingPolicy("valid_only"), (2, 4, 4)),
        (nodes.PaddingPolicy(alignment="top_left"), (2, 6, 6)),
    ]
    for padding, size in sizes:
        node = nodes.ConvolutionNode(image, weights(2, (3, 3), 4), padding=padding)
        assert node.result_image.size == size
    with pytest.raises(tg.InvalidArgument, match="valid_only"):
        nodes.ConvolutionNode(image, weights(2, (3, 3), 4), padding="some")
    assert nodes.PaddingPolicy() == nodes.PaddingPolicy("same", "centered")
