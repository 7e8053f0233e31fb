// SPDX-License-Identifier: MIT
#include "traingraph/layers/dropout.h"

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {

Dropout::Dropout(float rate, std::int64_t seed)
    : Layer("Dropout"), rate_(rate), seed_(seed) {
  require_option(rate >= 0 && rate < 1, "Dropout", "rate", "in [0, 1)",
                 format_value(rate));
}

bool Dropout::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Dropout, data_type, device);
}

void Dropout::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const DropoutAttrs attrs{
      .rate = rate_, .seed = seed_, .stream = builder.next_random_stream()};
  builder.add_result(builder.append(
      OpKind::Dropout, attrs, {builder.source(0), builder.random_state()}));
}

}  // namespace traingraph::layers
