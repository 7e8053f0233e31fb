// SPDX-License-Identifier: MIT
#include "traingraph/layers/padding.h"

#include <algorithm>

#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {
namespace {

// To (top, bottom, left, right).
traingraph::Padding four_sides(const std::vector<std::int64_t>& sizes) {
  const std::size_t count = sizes.size();
  require_option(count == 1 || count == 2 || count == 4, "Padding", "padding",
                 "1 (all sides), 2 (left, right) or 4 entries (top, bottom, "
                 "left, right)",
                 std::to_string(count));
  for (const std::int64_t size : sizes) {
    require_option(size >= 0, "Padding", "padding", "at least 0",
                   std::to_string(size));
  }
  if (count == 1) return {sizes[0], sizes[0], sizes[0], sizes[0]};
  if (count == 2) return {0, 0, sizes[0], sizes[1]};
  return {sizes[0], sizes[1], sizes[2], sizes[3]};
}

}  // namespace

Padding::Padding(PaddingType padding_type,
                 const std::vector<std::int64_t>& padding, float constant_value)
    : Layer("Padding"),
      type_(padding_type),
      sizes_(four_sides(padding)),
      constant_value_(constant_value) {
  require_option(to_string(padding_type) != "?", "Padding", "padding_type",
                 "a case of PaddingType",
                 std::to_string(static_cast<int>(padding_type)));
  require_finite("Padding", "constant_value", constant_value);
  if (padding_type == PaddingType::Constant) return;
  require_unused("Padding", "constant_value", constant_value, 0.0f,
                 std::string(to_string(padding_type)) + " padding");
}

bool Padding::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Pad, data_type, device);
}

void Padding::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const int rank = builder.shape(builder.source(0)).rank();
  if (rank < 2) {
    throw ShapeError(
        ErrorInfo{.op = "node",
                  .node = builder.name(),
                  .what = "the last two axes are padded",
                  .expected = "at least 2 axes",
                  .got = builder.shape(builder.source(0)).to_string(),
                  .hint = {}});
  }
  PadAttrs attrs{.type = type_,
                 .before = Shape::filled(rank, 0),
                 .after = Shape::filled(rank, 0),
                 .value = constant_value_};
  attrs.before[rank - 2] = sizes_[0];
  attrs.after[rank - 2] = sizes_[1];
  attrs.before[rank - 1] = sizes_[2];
  attrs.after[rank - 1] = sizes_[3];
  builder.add_result(builder.append(OpKind::Pad, attrs, {builder.source(0)}));
}

}  // namespace traingraph::layers
