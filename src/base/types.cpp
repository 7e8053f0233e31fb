// SPDX-License-Identifier: MIT
// Sizes, names and printing of data types, shapes and descriptors.
#include "traingraph/types.h"

#include "base/checked.h"
#include "base/visit_type.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

void require_room(std::size_t rank) {
  if (rank <= kMaxRank) return;
  throw ShapeError(ErrorInfo{.what = "too many axes",
                             .expected = "at most " + std::to_string(kMaxRank),
                             .got = std::to_string(rank)});
}

std::int64_t product_of(std::int64_t x, std::int64_t y, const Shape& shape) {
  std::int64_t product = 0;
  if (try_multiply(x, y, &product)) return product;
  throw ShapeError(ErrorInfo{.what = "shape has too many elements",
                             .expected = "a size below 2^63",
                             .got = shape.to_string()});
}

}  // namespace

std::size_t size_of(DataType type) {
  return visit_type(type, []<class T>(T) { return sizeof(T); });
}

std::string_view to_string(DataType type) {
  switch (type) {
#define TRAINGRAPH_DATA_TYPE(Type, number, name, element, kind, file) \
  case DataType::Type:                                                \
    return name;
#include "traingraph/data_types.inc"
#undef TRAINGRAPH_DATA_TYPE
  }
  return "?";
}

Shape::Shape(std::initializer_list<std::int64_t> sizes)
    : Shape(std::span(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const std::int64_t> sizes) {
  require_room(sizes.size());
  for (std::int64_t size : sizes) sizes_[rank_++] = size;
}

Shape Shape::filled(int rank, std::int64_t value) {
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(value);
  return shape;
}

void Shape::push_back(std::int64_t size) {
  require_room(static_cast<std::size_t>(rank_) + 1);
  sizes_[rank_++] = size;
}

std::int64_t Shape::num_elements() const {
  std::int64_t product = 1;
  for (std::int64_t size : *this) {
    product = product_of(product, size, *this);
  }
  return product;
}

std::string Shape::to_string() const {
  std::string text = "(";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(sizes_[axis]);
  }
  return text + ")";
}

std::size_t TensorDescriptor::size_bytes() const {
  const auto element = static_cast<std::int64_t>(size_of(data_type));
  const std::int64_t bytes = product_of(shape.num_elements(), element, shape);
  if (bytes >= 0) return static_cast<std::size_t>(bytes);
  throw ShapeError(ErrorInfo{.what = "a size is negative",
                             .expected = "sizes of at least 1",
                             .got = shape.to_string()});
}

Shape TensorDescriptor::stride_bytes() const {
  Shape strides = Shape::filled(shape.rank(), 0);
  auto step = static_cast<std::int64_t>(size_of(data_type));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step = product_of(step, shape[axis], shape);
  }
  return strides;
}

std::string TensorDescriptor::to_string() const {
  return std::string(traingraph::to_string(data_type)) + " " +
         shape.to_string();
}

TensorDescriptor TensorDescriptor::image(std::int64_t width,
                                         std::int64_t height,
                                         std::int64_t feature_channel_count,
                                         std::int64_t batch_size,
                                         DataType data_type) {
  return {{batch_size, feature_channel_count, height, width}, data_type};
}

TensorDescriptor TensorDescriptor::convolution_weights(
    std::int64_t input_feature_channel_count,
    std::int64_t output_feature_channel_count, std::int64_t width,
    std::int64_t height, DataType data_type) {
  const std::int64_t channels =
      checked_multiply(output_feature_channel_count,
                       input_feature_channel_count, "the number of weights");
  return {{1, channels, height, width}, data_type};
}

TensorDescriptor TensorDescriptor::convolution_biases(
    std::int64_t feature_channel_count, DataType data_type) {
  return {{1, feature_channel_count, 1, 1}, data_type};
}

}  // namespace traingraph
