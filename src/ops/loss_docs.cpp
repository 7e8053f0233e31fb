// SPDX-License-Identifier: MIT
#include "ops/op_docs.h"

namespace traingraph {

std::string document_loss() {
  return R"doc(
    How far predictions y are from labels t. Losses of elements:
)doc" + list_cases<LossType>() +
         R"doc(

    They are multiplied by ``weight`` and ``weights``, then reduced. The mean
    divides by the number of losses; where labels are indices of classes, by
    the sum of the class weights of those that are not ignored. The
    gradient passes to the prediction alone.

    Args:
        prediction: (N, ...); classes are on axis 1.
        labels: float32, of the prediction's shape or broadcasting to it. For
            the softmax and categorical cross-entropy also int32 or int64:
            indices of classes, without axis 1.
        weights: float32, broadcasting to the losses; None is 1.
        class_weights: float32, one for each class, for the softmax and
            categorical cross-entropy; None is 1.

    Returns:
        loss: float32, (1); without a reduction one for each element, or, of
            the softmax and categorical cross-entropy, for each without axis 1,
            and of the cosine distance for each sample.
)doc";
}

std::string document_loss_gradient() {
  return R"doc(
    The gradient of ``loss`` by its prediction.

    Args:
        gradient: float32: that of the loss.
        prediction: The loss's.
        labels: The loss's.
        weights: The loss's.
        class_weights: The loss's.

    Returns:
        dprediction: The gradient of the prediction.
)doc";
}

std::string document_yolo_loss() {
  return R"doc(
    The loss of a YOLO detector, one for each sample.

    ``losses.YOLOLoss`` has the formula and makes the anchors.

    Args:
        prediction: (N, A * (5 + K), H, W) for A anchors and K classes: x, y,
            width, height, confidence and K scores of each anchor.
        labels: float32, of the same shape.
        anchors: float32, (A, 2): width and height, in cells of the grid.

    Returns:
        loss: float32, (N).
)doc";
}

std::string document_yolo_loss_gradient() {
  return R"doc(
    The gradient of ``yolo_loss`` by its prediction.

    Args:
        gradient: float32, (N): that of the loss.
        prediction: The loss's.
        labels: The loss's.
        anchors: The loss's.

    Returns:
        dprediction: The gradient of the prediction.
)doc";
}

std::string document_ctc_loss() {
  return R"doc(
    Connectionist temporal classification: the loss of a sequence of labels
    when nobody says which step has which label.

    ``-ln`` of the probability that a path of one class per step, drawn from
    softmax(prediction), reads as the labels: repetitions become one, then
    blanks are left out.

    Args:
        prediction: Scores of C classes at T steps, (N, T, C).
        labels: int32 or int64, (N, S), from 0 to C - 1; -1 behind the last, or
            anything behind label_lengths.
        lengths: int32, (N): how many steps count; None: all.
        label_lengths: int32, (N): how many labels count; None: those in front
            of the first -1.

    Returns:
        loss: float32, (N). Infinite where no path reads as the labels.
)doc";
}

std::string document_ctc_loss_gradient() {
  return R"doc(
    The gradient of ``ctc_loss`` by its prediction.

    Args:
        gradient: float32, (N): that of the loss.
        prediction: The loss's.
        labels: The loss's.
        lengths: The loss's.
        label_lengths: The loss's.

    Returns:
        dprediction: The gradient of the prediction.
)doc";
}

}  // namespace traingraph
