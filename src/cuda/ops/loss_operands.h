// SPDX-License-Identifier: MIT
// What a loss and its gradient read, as text: predictions, labels and weights,
// each with strides along the axes of the prediction.
#pragma once

#include <string>
#include <vector>

#include "cuda/ops/walk.h"
#include "lowering/unit_builder.h"
#include "traingraph/op_attrs.h"

namespace traingraph::cuda {

class LossOperands {
 public:
  /// The prediction is input `first`, which is followed by labels, weights and
  /// weights of classes.
  LossOperands(UnitBuilder& unit, int first);

  const LossAttrs& attrs() const { return attrs_; }
  bool has_classes() const;
  bool is_reduced() const { return attrs_.reduction != ReductionType::None; }
  bool is_mean() const { return attrs_.reduction == ReductionType::Mean; }
  /// Does the mean divide by what the named classes weigh?
  bool counts_names() const { return is_mean() && are_names_; }
  /// Classes are neighbours in memory.
  bool has_rows() const { return strides_[0][1].is(1); }

  /// Of the prediction, and of element losses: axes that a loss sums over have
  /// size 1. Strides are those of prediction, labels and weights.
  const Extents& sizes() const { return sizes_; }
  const std::vector<Extents>& strides() const { return strides_; }
  const std::vector<bool>& is_summed() const { return is_summed_; }
  Extents loss_sizes() const;
  std::vector<Extents> loss_strides() const;
  Extent classes() const { return sizes_[1]; }

  // Expressions, from where the three are.
  using Places = std::vector<std::string>;
  std::string prediction(KernelWriter& kernel) const;
  std::string label(KernelWriter& kernel, const Places& at) const;
  std::string weight(KernelWriter& kernel, const Places& at) const;
  /// The labels of a position's classes (kernels/loss.cuh).
  std::string class_labels(KernelWriter& kernel, const Places& at) const;
  /// What the name at a position weighs in the mean.
  std::string weight_of_name(KernelWriter& kernel, const Places& at) const;
  /// "SoftmaxCrossEntropy", or a formula of one element: "losses::Huber{...}".
  std::string formula() const;
  /// The loss of one element or position without its weight, by a thread or a
  /// team.
  std::string loss(KernelWriter& kernel, const Places& at, int threads) const;
  /// attrs().weight, over the number of losses of a mean.
  std::string scale(KernelWriter& kernel) const;

 private:
  Extents view_strides(UnitBuilder& unit, int input, const Shape& view) const;
  std::string class_weights(KernelWriter& kernel) const;

  LossAttrs attrs_;
  int prediction_ = -1, labels_ = -1, weights_ = -1, class_weights_ = -1;
  DataType label_type_;
  bool are_names_ = false;
  Extents sizes_;
  std::vector<bool> is_summed_;
  std::vector<Extents> strides_;
};

}  // namespace traingraph::cuda
