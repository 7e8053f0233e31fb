// SPDX-License-Identifier: MIT
// The loss of a YOLO detector: boxes in the cells of a grid.
//
// Prediction and labels are (N, A * (5 + K), H, W) for A anchors and K classes.
// The channels of anchor a start at (5 + K) * a and hold x, y, w, h, c and K
// scores. In its cell a prediction is the box with its centre at sigmoid(x),
// sigmoid(y), in cells, and the size anchor width * e^w, anchor height * e^h;
// its confidence is sigmoid(c), its classes are softmax(scores). Labels hold
// the centre of the object in the cell, from 0 to 1, ln(size / anchor), 1 for
// an object (above 0.5) or 0 for none, and the classes as one-hot values; an
// object is there for each anchor that may find it, usually all.
//
// With IOU the overlap of a prediction's box with its label's: of the anchors
// of a cell with an object, the one with the largest IOU (the first of equals)
// and all with IOU >= minimum_iou_for_object_presence are responsible for it.
// The loss of a sample is the sum, over all anchors of all cells, of
//   responsible      scale_spatial_position_loss * ((sigmoid(x) - tx)^2
//                                                   + (sigmoid(y) - ty)^2)
//                    + scale_spatial_size_loss * (huber(w - tw) + huber(h -
//                    th))
//                    + scale_object_confidence_loss * bce(c, target)
//                    + scale_class_loss * cross-entropy of the classes
//   others, without an object or with IOU < maximum_iou_for_object_absence
//                    scale_no_object_confidence_loss * bce(c, 0)
//   others           0
// with bce the cross-entropy of sigmoid(c), huber that of delta 1, and the
// target IOU when should_rescore is on, else 1. Who is responsible and the
// target count as labels: no gradient passes through them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "traingraph/losses.h"

namespace traingraph {

/// The layer checks the fields and throws InvalidArgument.
struct TRAINGRAPH_API YOLOLossDescriptor {
  /// An anchor box is (width, height), in cells; above 0.
  using AnchorBox = std::array<float, 2>;
  std::vector<AnchorBox> anchor_boxes;
  bool should_rescore = true;
  float scale_spatial_position_loss = 10;
  float scale_spatial_size_loss = 10;
  float scale_no_object_confidence_loss = 5;
  float scale_object_confidence_loss = 100;
  float scale_class_loss = 2;
  /// The minimum is from 0 to 1.
  float minimum_iou_for_object_presence = 0.7f;
  /// The maximum is from 0 to the minimum.
  float maximum_iou_for_object_absence = 0.3f;

  std::int64_t anchor_box_count() const {
    return static_cast<std::int64_t>(anchor_boxes.size());
  }
  /// Throws InvalidArgument naming the first bad field.
  void validate() const;
  bool operator==(const YOLOLossDescriptor&) const = default;
};

namespace losses {

/// Gives one loss for each sample, (N). Takes no weights; descriptor() of the
/// base says nothing of it.
class TRAINGRAPH_API YOLOLoss : public Loss {
 public:
  explicit YOLOLoss(YOLOLossDescriptor descriptor);
  YOLOLossDescriptor yolo_loss_descriptor() const { return yolo_; }
  /// The anchors are its one extra source.
  std::vector<Tensor> extra_sources() const override { return {anchors_}; }
  std::vector<Tensor> extra_sources_with(const Tensor& weights) const override;
  void lower(LayerBuilder& builder) const override;

 private:
  YOLOLossDescriptor yolo_;
  Tensor anchors_;  // (A, 2)
};

}  // namespace losses
}  // namespace traingraph
