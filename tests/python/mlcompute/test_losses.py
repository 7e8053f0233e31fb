# SPDX-License-Identifier: MIT
"""ML Compute's losses by value: reductions, weights, smoothing."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import traingraph as tg

from .support import CLOSE, floats, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

Losses = tg.losses
K = 3


def class_labels(smoothing: float) -> Any:
    return np.eye(K)[[0, 2, 1, 1]] * (1 - smoothing) + smoothing / K


def log_softmax(y: Any) -> Any:
    return y - np.log(np.exp(y).sum(1, keepdims=True))


REAL = floats(4, K).astype(np.float64)
LABELS = floats(4, K)[:, ::-1].astype(np.float64)
PROBABILITIES = np.exp(log_softmax(REAL))
BINARY = (LABELS > 0).astype(np.float64)


def smoothed(s: float) -> Any:
    return BINARY * (1 - s) + s / 2


def cross_entropy_of_sigmoid(s: float) -> Any:
    return np.log1p(np.exp(REAL)) - REAL * smoothed(s)


def huber(delta: float) -> Any:
    error = np.abs(REAL - LABELS)
    return np.where(error <= delta, error**2 / 2, delta * (error - delta / 2))


def log_loss(epsilon: float) -> Any:
    p = PROBABILITIES
    return -BINARY * np.log(p + epsilon) - (1 - BINARY) * np.log(1 - p + epsilon)


# class, its options, prediction, labels, losses of elements or samples
Row = tuple[type, dict[str, Any], Any, Any, Any]
LOSSES: dict[str, Row] = {
    "mean_absolute_error": (
        Losses.MeanAbsoluteError,
        {},
        REAL,
        LABELS,
        np.abs(REAL - LABELS),
    ),
    "mean_squared_error": (
        Losses.MeanSquaredError,
        {},
        REAL,
        LABELS,
        (REAL - LABELS) ** 2,
    ),
    "softmax_cross_entropy": (
        Losses.SoftmaxCrossEntropy,
        {"label_smoothing": 0.25, "class_count": K},
        REAL,
        class_labels(0),
        -(class_labels(0.25) * log_softmax(REAL)).sum(1),
    ),
    "sigmoid_cross_entropy": (
        Losses.SigmoidCrossEntropy,
        {"label_smoothing": 0.25},
        REAL,
        BINARY,
        cross_entropy_of_sigmoid(0.25),
    ),
    "categorical_cross_entropy": (
        Losses.CategoricalCrossEntropy,
        {"label_smoothing": 0.25, "class_count": K},
        PROBABILITIES,
        class_labels(0),
        -(class_labels(0.25) * np.log(PROBABILITIES)).sum(1),
    ),
    "hinge": (
        Losses.Hinge,
        {},
        REAL,
        BINARY,
        np.maximum(0, 1 - (2 * BINARY - 1) * REAL),
    ),
    "huber": (Losses.Huber, {"delta": 0.75}, REAL, LABELS, huber(0.75)),
    "cosine_distance": (
        Losses.CosineDistance,
        {},
        REAL,
        LABELS,
        1 - (REAL * LABELS).sum(1),
    ),
    "log": (Losses.Log, {"epsilon": 0.01}, PROBABILITIES, BINARY, log_loss(0.01)),
    "kullback_leibler_divergence": (
        Losses.KullbackLeiblerDivergence,
        {},
        REAL,
        PROBABILITIES,
        PROBABILITIES * (np.log(PROBABILITIES) - REAL),
    ),
}
REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "none": lambda losses: losses,
    "sum": lambda losses: [losses.sum()],
    "mean": lambda losses: [losses.mean()],
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_loss(name: str, reduction: str) -> None:
    make, options, y, t, losses = LOSSES[name]
    loss = make(reduction, weight=2.0, **options)
    assert loss.descriptor.loss_type is tg.mlcompute.LossType[name]
    assert loss.weights is None
    value = value_of(loss, y.astype(np.float32), t.astype(np.float32))
    np.testing.assert_allclose(value, REDUCTIONS[reduction](2 * losses), **CLOSE)
    # The descriptor says the same.
    same = Losses.Loss(loss.descriptor)
    again = value_of(same, y.astype(np.float32), t.astype(np.float32))
    np.testing.assert_array_equal(again, value)


@pytest.mark.parametrize("by", ["class", "descriptor"])
@pytest.mark.parametrize("name", LOSSES)
def test_loss_with_weights(name: str, by: str) -> None:
    make, options, y, t, losses = LOSSES[name]
    weights = np.array([1, 0, 2, 0.5], np.float32).reshape(4, 1)
    loss = make("sum", weights=weights, **options)
    if by == "descriptor":
        loss = Losses.Loss(loss.descriptor, weights)
    np.testing.assert_array_equal(loss.weights.numpy(), weights)
    assert loss.descriptor.weight == 1
    expected = [(losses * weights.reshape(4, *[1] * (losses.ndim - 1))).sum()]
    value = value_of(loss, y.astype(np.float32), t.astype(np.float32))
    np.testing.assert_allclose(value, expected, **CLOSE)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_the_derivative(name: str) -> None:
    make, options, y, t, _ = LOSSES[name]
    prediction, label = tg.Tensor((4, K), name="y"), tg.Tensor((4, K), name="t")
    graph = tg.Graph()
    graph.node(make("mean", **options), prediction, loss_labels=[label])
    training = tg.TrainingGraph([graph])
    training.add_inputs({"y": prediction}, {"t": label})
    training.compile("cpu", compute_all_gradients=True)

    def loss_at(values: Any) -> float:
        data = {"y": values.astype(np.float32)}, {"t": t.astype(np.float32)}
        return training.execute_forward(*data).result().loss

    loss_at(y)
    training.execute_gradient().wait()
    gradient = training.gradient_tensor(prediction)
    assert gradient is not None
    direction = floats(4, K)[::-1] / 64
    slope = (loss_at(y + direction) - loss_at(y - direction)) / 2
    # Third derivatives of order one along a step of 1/32, and float32 losses.
    expected = (gradient.numpy() * direction).sum()
    assert slope == pytest.approx(expected, rel=2e-2, abs=1e-5)


def test_every_loss_is_evaluated() -> None:
    assert set(LOSSES) == {case.name for case in tg.mlcompute.LossType}


def test_descriptors() -> None:
    plain = Losses.LossDescriptor("huber", "sum")
    assert plain.loss_type is tg.mlcompute.LossType.huber
    assert plain.reduction_type is tg.mlcompute.ReductionType.sum
    assert (plain.weight, plain.label_smoothing, plain.class_count) == (1, 0, 1)
    assert (plain.epsilon, plain.delta) == (pytest.approx(1e-7), 1)
    weighted = Losses.LossDescriptor("huber", "sum", 0.5, delta=2)
    assert (weighted.weight, weighted.delta) == (0.5, 2)
    assert copy.copy(weighted).delta == 2
    classes = Losses.LossDescriptor("softmax_cross_entropy", "mean", 1, 0.25, 7)
    assert (classes.label_smoothing, classes.class_count) == (0.25, 7)
    assert Losses.LossDescriptor("log", epsilon=0.5).epsilon == 0.5


def test_yolo_descriptor() -> None:
    boxes = np.array([[1, 2], [3, 4]], np.float32)
    plain = Losses.YOLOLossDescriptor(boxes, 2)
    assert plain.anchor_box_count == 2
    np.testing.assert_array_equal(plain.anchor_boxes, boxes)
    assert plain.should_rescore is True
    assert plain.scale_spatial_position_loss == 10
    assert plain.scale_spatial_size_loss == 10
    assert plain.scale_no_object_confidence_loss == 5
    assert plain.scale_object_confidence_loss == 100
    assert plain.scale_class_loss == 2
    assert plain.minimum_iou_for_object_presence == pytest.approx(0.7)
    assert plain.maximum_iou_for_object_absence == pytest.approx(0.3)
    plain.should_rescore = False
    plain.scale_spatial_position_loss = 1
    plain.scale_spatial_size_loss = 2
    plain.scale_no_object_confidence_loss = 3
    plain.scale_object_confidence_loss = 4
    plain.scale_class_loss = 5
    plain.minimum_iou_for_object_presence = 0.5
    plain.maximum_iou_for_object_absence = 0.25
    kept = Losses.YOLOLoss(copy.copy(plain)).yolo_loss_descriptor
    assert (kept.should_rescore, kept.scale_spatial_position_loss) == (False, 1)
    assert (kept.scale_spatial_size_loss, kept.scale_class_loss) == (2, 5)
    assert kept.scale_no_object_confidence_loss == 3
    assert kept.scale_object_confidence_loss == 4
    assert kept.minimum_iou_for_object_presence == 0.5
    assert kept.maximum_iou_for_object_absence == 0.25
    np.testing.assert_array_equal(
        Losses.YOLOLossDescriptor([1, 2, 3, 4], 2).anchor_boxes, boxes
    )
    with pytest.raises(tg.InvalidArgument, match="anchor_boxes"):
        Losses.YOLOLossDescriptor(boxes, 3)
    with pytest.raises(tg.InvalidArgument, match="anchor_boxes"):
        Losses.YOLOLossDescriptor([[1, 0]])
    plain.scale_class_loss = -1
    with pytest.raises(tg.InvalidArgument, match="scale_class_loss"):
        Losses.YOLOLoss(plain)


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def test_yolo_loss() -> None:
    """Two samples of one cell and one anchor: an object, and none."""
    y = np.array([[0, 0, -np.log(2), 0, 1, 1, 0], [1, 2, 3, 4, 0.5, 0, 0]])
    t = np.array([[0.5, 0.5, 0, 0, 1, 1, 0], [0] * 7])
    loss = Losses.YOLOLoss(Losses.YOLOLossDescriptor([[2, 4]]))
    with pytest.raises(tg.InvalidArgument, match="yolo_loss_descriptor"):
        _ = loss.descriptor
    assert loss.weights is None
    # Half as wide as the object's box, which has the same centre.
    overlap = 0.5
    confidence = np.log1p(np.exp(1)) - overlap * 1
    expected = [
        10 * np.log(2) ** 2 / 2 + 100 * confidence + 2 * np.log1p(np.exp(-1)),
        5 * np.log1p(np.exp(0.5)),
    ]
    arrays = [a.reshape(2, 7, 1, 1).astype(np.float32) for a in (y, t)]
    np.testing.assert_allclose(value_of(loss, *arrays), expected, **CLOSE)


def test_labels_that_name_classes() -> None:
    names = np.array([0, 2, -100, 1])
    weights = np.array([1, 2, 0.5], np.float32)
    loss = Losses.SoftmaxCrossEntropy(class_weights=weights)
    np.testing.assert_array_equal(loss.class_weights.numpy(), weights)
    assert loss.descriptor.ignore_index == -100
    each = -log_softmax(REAL)[[0, 1, 3], [0, 2, 1]] * [1, 0.5, 2]
    for type_ in (np.int32, np.int64):
        value = value_of(loss, REAL.astype(np.float32), names.astype(type_))
        np.testing.assert_allclose(value, [each.sum() / 3.5], **CLOSE)
    with pytest.raises(tg.ShapeError, match="cast one-hot labels"):
        value_of(loss, REAL.astype(np.float32), LABELS.astype(np.int32))
    with pytest.raises(tg.InvalidArgument, match="class_weights"):
        Losses.Loss(Losses.LossDescriptor("huber"), class_weights=weights)


def test_labels_may_lack_axes_of_size_one() -> None:
    y, t = REAL.astype(np.float32), class_labels(0).astype(np.float32)
    for make in (Losses.SoftmaxCrossEntropy, Losses.MeanSquaredError):
        plain = value_of(make(), y, t)
        image, label = (a.reshape(4, K, 1, 1) for a in (y, t))
        np.testing.assert_array_equal(value_of(make(), image, t), plain)
        np.testing.assert_array_equal(value_of(make(), y, label), plain)
