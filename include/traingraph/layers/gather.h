// SPDX-License-Identifier: MIT
// Elements by indices, along an axis. Graph has methods for these layers.
#pragma once

#include <cstdint>

#include "traingraph/enums.h"
#include "traingraph/layer.h"

namespace traingraph::layers {

/// Sources `source` and `indices` (Int32 or Int64): the elements of the source
/// that the indices name along `axis`; a negative one counts from
/// the end.
///
/// Indices of the source's rank name one element each, as NumPy's
/// take_along_axis: they have the source's sizes but on the axis, and the
/// result has theirs. Indices of one axis, of a source of more, name whole
/// slices, as NumPy's take:
///
///   source (N, C, W), axis 1, indices (M): result (N, M, W)
///
/// Indices are 0 to size - 1. InvalidArgument names the tensor, the element and
/// the range: from the execution's call for what the host gives, from the
/// execution for what the graph computes; there a GPU, which cannot, makes the
/// result NaN.
class TRAINGRAPH_API Gather : public Layer {
 public:
  explicit Gather(std::int64_t axis);
  std::int64_t axis() const { return axis_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  std::int64_t axis_;
};

/// Sources `source`, `indices` (Int32 or Int64) and `copy_from`: a copy of
/// copy_from in which the elements that the indices name along axis
/// `axis` are those of the source, or have them added.
///
/// Indices are as Gather's; the source has the shape of what Gather would take
/// from copy_from. reduction_type is None or Sum, others are InvalidArgument.
/// Where several sources meet, None keeps the last of them; Sum adds them up in
/// their order on the CPU, in any order on the GPU. The gradient of what is not
/// in the result is zero.
class TRAINGRAPH_API Scatter : public Layer {
 public:
  explicit Scatter(std::int64_t axis,
                   ReductionType reduction_type = ReductionType::None);
  std::int64_t axis() const { return axis_; }
  ReductionType reduction_type() const { return reduction_type_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  std::int64_t axis_;
  ReductionType reduction_type_;
};

}  // namespace traingraph::layers
