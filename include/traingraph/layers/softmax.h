// SPDX-License-Identifier: MIT
// Softmax and its logarithm over one axis.
#pragma once

#include <cstdint>

#include "traingraph/enums.h"
#include "traingraph/layer.h"

namespace traingraph::layers {

/// y = exp(x) / sum(exp(x)) over `axis`, or its logarithm. A negative
/// axis counts from the end.
class TRAINGRAPH_API Softmax : public Layer {
 public:
  explicit Softmax(SoftmaxOperation operation = SoftmaxOperation::Softmax,
                   std::int64_t axis = 1);
  SoftmaxOperation operation() const { return operation_; }
  std::int64_t axis() const { return axis_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  SoftmaxOperation operation_;
  std::int64_t axis_;
};

}  // namespace traingraph::layers
