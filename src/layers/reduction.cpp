// SPDX-License-Identifier: MIT
#include "traingraph/layers/reduction.h"

#include "base/axes.h"
#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {

Reduction::Reduction(ReductionType reduction_type, Shape dimensions)
    : Layer("Reduction"), type_(reduction_type), dimensions_(dimensions) {
  require_option(to_string(reduction_type) != "?", "Reduction",
                 "reduction_type", "a case of ReductionType",
                 std::to_string(static_cast<int>(reduction_type)));
}

Reduction::Reduction(ReductionType reduction_type, std::int64_t dimension)
    : Reduction(reduction_type, Shape{dimension}) {}

std::int64_t Reduction::dimension() const {
  return dimensions_.empty() ? 0 : dimensions_[0];
}

void Reduction::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ValueId source = builder.source(0);
  const ReduceAttrs attrs{
      .type = type_,
      .axes = resolve_axes(dimensions_, builder.shape(source).rank(), "reduce",
                           builder.name(), "dimensions")};
  builder.add_result(builder.append(OpKind::Reduce, attrs, {source}));
}

}  // namespace traingraph::layers
