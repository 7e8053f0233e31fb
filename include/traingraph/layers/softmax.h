// SPDX-License-Identifier: MIT
// Softmax and its logarithm over one axis.
#pragma once

#include <cstdint>

#include "traingraph/enums.h"
#include "traingraph/layer.h"

namespace traingraph::layers {

/// y = exp(x) / sum(exp(x)) over axis `dimension`, or its logarithm. A negative
/// dimension counts from the end.
class TRAINGRAPH_API Softmax : public Layer {
 public:
  explicit Softmax(SoftmaxOperation operation = SoftmaxOperation::Softmax,
                   std::int64_t dimension = 1);
  SoftmaxOperation operation() const { return operation_; }
  std::int64_t dimension() const { return dimension_; }
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  SoftmaxOperation operation_;
  std::int64_t dimension_;
};

}  // namespace traingraph::layers
