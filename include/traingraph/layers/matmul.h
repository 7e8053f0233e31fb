// SPDX-License-Identifier: MIT
// Product of two sources.
#pragma once

#include "traingraph/layer.h"

namespace traingraph {

struct MatMulDescriptor {
  float alpha = 1;
  bool transposes_x = false;
  bool transposes_y = false;
  bool operator==(const MatMulDescriptor&) const = default;
};

namespace layers {

/// alpha * op(X) * op(Y) over the last two axes of sources X and Y; leading
/// axes broadcast. Throws InvalidArgument unless alpha is finite.
class TRAINGRAPH_API MatMul : public Layer {
 public:
  explicit MatMul(MatMulDescriptor descriptor = {});
  MatMulDescriptor descriptor() const { return descriptor_; }
  /// See Layer.
  static bool supports_data_type(DataType type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  MatMulDescriptor descriptor_;
};

}  // namespace layers
}  // namespace traingraph
