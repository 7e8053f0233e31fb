// SPDX-License-Identifier: MIT
#include "traingraph/layers/gather.h"

#include "base/axes.h"
#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {
namespace {

constexpr int kIndices = 1;

/// The axis of the tensor that indices name positions of.
std::int64_t axis_of(const LayerBuilder& builder, std::int64_t axis, int source,
                     const char* op) {
  return resolve_axis(axis, builder.shape(builder.source(source)).rank(), op,
                      builder.name(), "axis");
}

}  // namespace

Gather::Gather(std::int64_t axis) : Layer("Gather"), axis_(axis) {}

bool Gather::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Gather, data_type, device, /*num_sources=*/2);
}

void Gather::lower(LayerBuilder& builder) const {
  builder.require_sources(2, 2);
  const AxisAttrs attrs{.axis = axis_of(builder, axis_, 0, "gather")};
  builder.add_result(builder.append(
      OpKind::Gather, attrs, {builder.source(0), builder.source(kIndices)}));
}

Scatter::Scatter(std::int64_t axis, ReductionType reduction_type)
    : Layer("Scatter"), axis_(axis), reduction_type_(reduction_type) {
  require_option(reduction_type == ReductionType::None ||
                     reduction_type == ReductionType::Sum,
                 "Scatter", "reduction_type", "none or sum",
                 std::string(to_string(reduction_type)));
}

bool Scatter::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Scatter, data_type, device, /*num_sources=*/3);
}

void Scatter::lower(LayerBuilder& builder) const {
  constexpr int kCopyFrom = 2;
  builder.require_sources(3, 3);
  const ScatterAttrs attrs{
      .axis = axis_of(builder, axis_, kCopyFrom, "scatter"),
      .reduction_type = reduction_type_};
  builder.add_result(
      builder.append(OpKind::Scatter, attrs,
                     {builder.source(0), builder.source(kIndices),
                      builder.source(kCopyFrom)}));
}

}  // namespace traingraph::layers
