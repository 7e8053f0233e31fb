// SPDX-License-Identifier: MIT
#include "traingraph/layers/softmax.h"

#include "base/axes.h"
#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {

Softmax::Softmax(SoftmaxOperation operation, std::int64_t axis)
    : Layer("Softmax"), operation_(operation), axis_(axis) {
  require_option(to_string(operation) != "?", "Softmax", "operation",
                 "a case of SoftmaxOperation",
                 std::to_string(static_cast<int>(operation)));
}

bool Softmax::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Softmax, data_type, device);
}

void Softmax::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ValueId source = builder.source(0);
  const SoftmaxAttrs attrs{
      .operation = operation_,
      .axis = resolve_axis(axis_, builder.shape(source).rank(), "softmax",
                           builder.name(), "axis")};
  builder.add_result(builder.append(OpKind::Softmax, attrs, {source}));
}

}  // namespace traingraph::layers
