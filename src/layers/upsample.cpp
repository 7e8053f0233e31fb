// SPDX-License-Identifier: MIT
#include "traingraph/layers/upsample.h"

#include "layers/layer_builder.h"
#include "layers/validate.h"
#include "ops/window.h"

namespace traingraph::layers {

Upsample::Upsample(Shape shape, SampleMode sample_mode, bool aligns_corners)
    : Layer("Upsample"),
      shape_(shape),
      sample_mode_(sample_mode),
      aligns_corners_(aligns_corners) {
  require_option(shape.rank() == 1 || shape.rank() == 2, "Upsample", "shape",
                 "(height, width) or (width)", shape.to_string());
  for (const std::int64_t extent : shape) {
    require_option(extent >= 1 && extent <= kMaxWindow, "Upsample", "shape",
                   "1 to " + std::to_string(kMaxWindow), shape.to_string());
  }
  require_option(to_string(sample_mode) != "?", "Upsample", "sample_mode",
                 "a case of SampleMode",
                 std::to_string(static_cast<int>(sample_mode)));
  require_option(!aligns_corners || sample_mode == SampleMode::Linear,
                 "Upsample", "aligns_corners",
                 "off: it means nothing to nearest samples", "on",
                 "Leave it out, or sample linearly.");
}

bool Upsample::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Upsample, data_type, device);
}

void Upsample::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const UpsampleAttrs attrs{.shape = shape_,
                            .sample_mode = sample_mode_,
                            .aligns_corners = aligns_corners_};
  builder.add_result(
      builder.append(OpKind::Upsample, attrs, {builder.source(0)}));
}

}  // namespace traingraph::layers
