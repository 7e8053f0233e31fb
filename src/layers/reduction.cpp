// SPDX-License-Identifier: MIT
#include "traingraph/layers/reduction.h"

#include "base/axes.h"
#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {

Reduction::Reduction(ReductionType reduction_type, Shape axes)
    : Layer("Reduction"), type_(reduction_type), axes_(axes) {
  require_option(to_string(reduction_type) != "?", "Reduction",
                 "reduction_type", "a case of ReductionType",
                 std::to_string(static_cast<int>(reduction_type)));
}

Reduction::Reduction(ReductionType reduction_type, std::int64_t axis)
    : Reduction(reduction_type, Shape{axis}) {}

bool Reduction::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Reduce, data_type, device);
}

void Reduction::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ValueId source = builder.source(0);
  const ReduceAttrs attrs{
      .type = type_,
      .axes = resolve_axes(axes_, builder.shape(source).rank(), "reduce",
                           builder.name(), "axes")};
  builder.add_result(builder.append(OpKind::Reduce, attrs, {source}));
}

}  // namespace traingraph::layers
