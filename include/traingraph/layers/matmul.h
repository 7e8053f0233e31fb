// SPDX-License-Identifier: MIT
// Products of two sources, and of the maps of one.
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
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  MatMulDescriptor descriptor_;
};

/// (N, C, H, W) -> (N, C, 1, C): of each sample the products of all pairs of
/// channels, y[n, f, 0, c] = scale * sum_{h,w} x[n, f, h, w] x[n, c, h, w].
/// Throws InvalidArgument unless scale is finite.
class TRAINGRAPH_API GramMatrix : public Layer {
 public:
  explicit GramMatrix(float scale = 1);
  float scale() const { return scale_; }
  /// See Layer.
  static bool supports_data_type(DataType data_type, const Device& device);
  void lower(LayerBuilder& builder) const override;

 private:
  float scale_;
};

}  // namespace layers
}  // namespace traingraph
