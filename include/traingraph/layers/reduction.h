// SPDX-License-Identifier: MIT
// Reductions over axes.
#pragma once

#include <cstdint>

#include "traingraph/enums.h"
#include "traingraph/layer.h"

namespace traingraph::layers {

/// Reduced axes stay with size 1; empty `axes` are all axes; negative
/// ones count from the end. Any and All take Booleans; ArgMax and ArgMin take
/// one axis and give Int32; None copies, whatever the axes.
/// Gradients: Sum, Mean; Max, Min split equally among the winners; L1Norm (sum
/// of |x|) g * sign(x); none for the others.
class TRAINGRAPH_API Reduction : public Layer {
 public:
  Reduction(ReductionType reduction_type, Shape axes);
  Reduction(ReductionType reduction_type, std::int64_t axis);
  ReductionType reduction_type() const { return type_; }
  Shape axes() const { return axes_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  ReductionType type_;
  Shape axes_;
};

}  // namespace traingraph::layers
