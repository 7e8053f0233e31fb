// SPDX-License-Identifier: MIT
#include "traingraph/layers/matmul.h"

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {

MatMul::MatMul(MatMulDescriptor descriptor)
    : Layer("MatMul"), descriptor_(descriptor) {
  require_finite("MatMul", "alpha", descriptor.alpha);
}

void MatMul::lower(LayerBuilder& builder) const {
  builder.require_sources(2, 2);
  const MatMulAttrs attrs{.alpha = descriptor_.alpha,
                          .transposes_x = descriptor_.transposes_x,
                          .transposes_y = descriptor_.transposes_y};
  builder.add_result(builder.append(OpKind::MatMul, attrs,
                                    {builder.source(0), builder.source(1)}));
}

}  // namespace traingraph::layers
