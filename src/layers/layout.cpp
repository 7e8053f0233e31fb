// SPDX-License-Identifier: MIT
#include "traingraph/layers/layout.h"

#include <algorithm>
#include <utility>

#include "base/axes.h"
#include "layers/layer_builder.h"
#include "layers/validate.h"

namespace traingraph::layers {

namespace {

void add_split(LayerBuilder& builder, const SplitAttrs& attrs) {
  for (const ValueId part :
       builder.append_all(OpKind::Split, attrs, {builder.source(0)})) {
    builder.add_result(part);
  }
}

/// For more parts than a Shape holds lengths.
void add_slices(LayerBuilder& builder, int axis, std::int64_t part) {
  const Shape shape = builder.shape(builder.source(0));
  SliceAttrs attrs{
      .start = Shape::filled(shape.rank(), 0), .end = shape, .stride = {}};
  for (std::int64_t begin = 0; begin < shape[axis]; begin += part) {
    attrs.start[axis] = begin;
    attrs.end[axis] = std::min(begin + part, shape[axis]);
    builder.add_result(
        builder.append(OpKind::Slice, attrs, {builder.source(0)}));
  }
}

}  // namespace

Reshape::Reshape(Shape shape) : Layer("Reshape"), shape_(shape) {
  const auto ok = [](std::int64_t size) { return size >= 1 || size == -1; };
  require_option(!shape.empty() &&
                     std::all_of(shape.begin(), shape.end(), ok) &&
                     std::count(shape.begin(), shape.end(), -1) <= 1,
                 "Reshape", "shape", "sizes of at least 1 and at most one -1",
                 shape.to_string());
}

bool Reshape::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Reshape, data_type, device);
}

void Reshape::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  builder.add_result(builder.append(
      OpKind::Reshape, ShapeAttrs{.shape = shape_}, {builder.source(0)}));
}

Flatten::Flatten() : Layer("Flatten") {}

bool Flatten::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Reshape, data_type, device);
}

void Flatten::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ValueId x = builder.source(0);
  builder.add_result(builder.append(
      OpKind::Reshape, ShapeAttrs{.shape = {builder.shape(x)[0], -1}}, {x}));
}

Transpose::Transpose(Shape axes) : Layer("Transpose"), axes_(axes) {
  resolve_axes(axes, axes.rank(), "Transpose", {}, "axes");
}

bool Transpose::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Transpose, data_type, device);
}

void Transpose::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const TransposeAttrs attrs{.axes =
                                 resolve_axes(axes_, axes_.rank(), "transpose",
                                              builder.name(), "axes")};
  builder.add_result(
      builder.append(OpKind::Transpose, attrs, {builder.source(0)}));
}

Concatenation::Concatenation(std::int64_t axis)
    : Layer("Concatenation"), axis_(axis) {}

bool Concatenation::supports_data_type(DataType data_type,
                                       const Device& device) {
  return takes(OpKind::Concatenate, data_type, device);
}

void Concatenation::lower(LayerBuilder& builder) const {
  builder.require_sources(1, std::max(1, builder.num_sources()));
  std::vector<ValueId> sources;
  for (int i = 0; i < builder.num_sources(); ++i) {
    sources.push_back(builder.source(i));
  }
  const AxisAttrs attrs{
      .axis = resolve_axis(axis_, builder.shape(sources[0]).rank(),
                           "concatenate", builder.name(), "axis")};
  builder.add_result(
      builder.append(OpKind::Concatenate, attrs, std::move(sources)));
}

Split::Split(std::int64_t split_count, std::int64_t axis)
    : Layer("Split"), split_count_(split_count), axis_(axis) {
  require_positive("Split", "split_count", split_count);
}

Split::Split(Shape split_section_lengths, std::int64_t axis)
    : Layer("Split"),
      split_count_(split_section_lengths.rank()),
      lengths_(split_section_lengths),
      axis_(axis) {
  require_option(
      !lengths_.empty() && std::all_of(lengths_.begin(), lengths_.end(),
                                       [](std::int64_t n) { return n >= 1; }),
      "Split", "split_section_lengths", "lengths of at least 1",
      lengths_.to_string());
}

bool Split::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Split, data_type, device);
}

void Split::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const ValueId source = builder.source(0);
  const Shape shape = builder.shape(source);
  const std::int64_t axis =
      resolve_axis(axis_, shape.rank(), "split", builder.name(), "axis");
  if (!lengths_.empty()) {
    return add_split(builder, {.lengths = lengths_, .axis = axis});
  }
  const std::int64_t size = shape[static_cast<int>(axis)];
  if (split_count_ > size) {
    throw InvalidArgument(ErrorInfo{.op = "split",
                                    .node = builder.name(),
                                    .what = "split_count is out of range",
                                    .expected = "1 to " + std::to_string(size) +
                                                ", the size of axis " +
                                                std::to_string(axis),
                                    .got = std::to_string(split_count_),
                                    .hint = {}});
  }
  const std::int64_t part = (size - 1) / split_count_ + 1;
  if ((size - 1) / part + 1 > kMaxRank) {
    return add_slices(builder, static_cast<int>(axis), part);
  }
  SplitAttrs attrs{.lengths = {}, .axis = axis};
  for (std::int64_t begin = 0; begin < size; begin += part) {
    attrs.lengths.push_back(std::min(part, size - begin));
  }
  add_split(builder, attrs);
}

Slice::Slice(Shape start, Shape end, Shape stride)
    : Layer("Slice"), start_(start), end_(end), stride_(stride) {
  const int rank = start.rank();
  require_option(
      end.rank() == rank && (stride.empty() || stride.rank() == rank), "Slice",
      "start, end and stride", "as many entries each",
      start.to_string() + ", " + end.to_string() + ", " + stride.to_string());
}

bool Slice::supports_data_type(DataType data_type, const Device& device) {
  return takes(OpKind::Slice, data_type, device);
}

void Slice::lower(LayerBuilder& builder) const {
  builder.require_sources(1, 1);
  const SliceAttrs attrs{.start = start_, .end = end_, .stride = stride_};
  builder.add_result(builder.append(OpKind::Slice, attrs, {builder.source(0)}));
}

}  // namespace traingraph::layers
