// SPDX-License-Identifier: MIT
// Losses as filter nodes.
#pragma once

#include "traingraph/enums.h"
#include "traingraph/nodes/node.h"

namespace traingraph::nodes {

/// Formulas are in traingraph/losses.h. Classes are channels.
struct LossDescriptor {
  LossType type = LossType::MeanSquaredError;
  /// The loss of each image is reduced by None, Sum or Mean. A LossNode's
  /// gradient is not divided by anything.
  ReductionType reduction = ReductionType::None;
  float weight = 1, label_smoothing = 0, epsilon = 1e-7f, delta = 1;
  std::int64_t number_of_classes = 1;
  /// The loss is one image for the whole batch, (1, 1, 1); with Mean it is
  /// divided by the number of images, too.
  bool reduce_across_batch = false;
  /// Sum is divided by the number of losses whose weight is not 0, and is 0
  /// when there is none.
  bool divides_by_non_zero_weights = false;

  bool operator==(const LossDescriptor&) const = default;
};

/// The result is the gradient of the loss by `source`, element by element; the
/// loss is loss_image(). `labels` and `weights`, if any, have the source's
/// size; weights may have its loss's.
class TRAINGRAPH_API LossNode : public FilterNode {
 public:
  LossNode(const ImageNode& source, const ImageNode& labels,
           const LossDescriptor& descriptor, const ImageNode& weights = {});
  /// Losses are (1, 1, 1) of each image, or, without a reduction, one per
  /// element, and of losses that sum over classes one per pixel. The image is
  /// exported.
  ImageNode loss_image() const;
};

/// The result is the loss, see LossNode::loss_image(). gradient_filter() is
/// that of the prediction; gradient_filters() gives those of the prediction and
/// the labels, none of the weights. training_graph() leaves out the labels that
/// runs are given.
class TRAINGRAPH_API ForwardLossNode : public FilterNode {
 public:
  ForwardLossNode(const ImageNode& source, const ImageNode& labels,
                  const LossDescriptor& descriptor,
                  const ImageNode& weights = {});
};

/// Ones of the size of `source`: the gradient of a loss by itself, which a
/// training graph begins with.
class TRAINGRAPH_API InitialGradientNode : public FilterNode {
 public:
  explicit InitialGradientNode(const ImageNode& source);
};

}  // namespace traingraph::nodes
