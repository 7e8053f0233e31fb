// SPDX-License-Identifier: MIT
#include "traingraph/layers/matmul.h"

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {

MatMul::MatMul(MatMulDescriptor descriptor)
    : Layer("MatMul"), descriptor_(descriptor) {
  require_finite("MatMul", "alpha", descriptor.alpha);
}

bool MatMul::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::MatMul, data_type, device);
}

void MatMul::lower(LayerBuilder& builder) const {
  builder.require_sources(2, 2);
  const MatMulAttrs attrs{.alpha = descriptor_.alpha,
                          .transposes_x = descriptor_.transposes_x,
                          .transposes_y = descriptor_.transposes_y};
  builder.add_result(builder.append(OpKind::MatMul, attrs,
                                    {builder.source(0), builder.source(1)}));
}

GramMatrix::GramMatrix(float scale) : Layer("GramMatrix"), scale_(scale) {
  require_finite("GramMatrix", "scale", scale);
}

bool GramMatrix::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::MatMul, data_type, device);
}

void GramMatrix::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const Shape shape = builder.shape(builder.source(0));
  if (shape.rank() != 4) {
    throw ShapeError(ErrorInfo{.op = "node",
                               .node = builder.name(),
                               .what = "the source does not fit the layer",
                               .expected = "(N, C, H, W)",
                               .got = shape.to_string(),
                               .hint = {}});
  }
  const std::int64_t channels = shape[1];
  const ValueId maps = builder.append(
      OpKind::Reshape, ShapeAttrs{{-1, channels, shape[2] * shape[3]}},
      {builder.source(0)});
  const ValueId products = builder.append(
      OpKind::MatMul, MatMulAttrs{.alpha = scale_, .transposes_y = true},
      {maps, maps});
  builder.add_result(builder.append(
      OpKind::Reshape, ShapeAttrs{{-1, channels, 1, channels}}, {products}));
}

}  // namespace traingraph::layers
