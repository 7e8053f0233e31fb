// SPDX-License-Identifier: MIT
#include "layers/validate.h"

#include <algorithm>
#include <utility>

#include "graph/op_def.h"
#include "ops/window.h"

namespace traingraph {
namespace {

void require_pair(const char* op, const char* field, const Pair& values,
                  std::int64_t least) {
  const bool ok = std::ranges::all_of(values, [&](std::int64_t value) {
    return value >= least && value <= kMaxWindow;
  });
  require_option(ok, op, field,
                 "(height, width) of " + std::to_string(least) + " to " +
                     std::to_string(kMaxWindow),
                 format_value(values));
}

}  // namespace

void require_option(bool ok, const char* op, const char* field,
                    std::string expected, std::string got, std::string hint) {
  if (ok) return;
  throw InvalidArgument(
      ErrorInfo{.op = op,
                .node = {},
                .what = std::string(field) + " is out of range",
                .expected = std::move(expected),
                .got = std::move(got),
                .hint = std::move(hint)});
}

void require_positive(const char* op, const char* field, std::int64_t value) {
  require_option(value >= 1, op, field, "at least 1", std::to_string(value));
}

void require_positive(const char* op, const char* field, const Pair& values) {
  require_pair(op, field, values, 1);
}

void require_not_negative(const char* op, const char* field,
                          const Pair& values) {
  require_pair(op, field, values, 0);
}

void require_not_negative(const char* op, const char* field, float value) {
  require_finite(op, field, value);
  require_option(value >= 0, op, field, "at least 0", format_value(value));
}

void require_kernel(const char* op, const Pair& kernel_size) {
  require_option(kernel_size != Pair{}, op, "kernel_size",
                 "the size of the window", format_value(kernel_size),
                 "Give kernel_size, of at least 1; zeros are what a "
                 "descriptor has without one.");
  require_positive(op, "kernel_size", kernel_size);
}

void require_padding_sizes(const char* op, PaddingPolicy policy,
                           const Pair& sizes) {
  require_not_negative(op, "padding_sizes", sizes);
  require_option(policy == PaddingPolicy::UsePaddingSize || sizes == Pair{}, op,
                 "padding_sizes",
                 "none with padding_policy " + std::string(to_string(policy)),
                 format_value(sizes), "Set the policy use_padding_size.");
}

void require_finite(const char* op, const char* field, float value) {
  require_option(std::isfinite(value), op, field, "a finite number",
                 format_value(value));
}

void require_within(const char* op, const char* field, float value, float low,
                    float high) {
  require_option(value >= low && value <= high, op, field,
                 format_value(low) + " to " + format_value(high),
                 format_value(value));
}

DataType type_of_weights(std::initializer_list<std::span<const Tensor>> given) {
  for (const std::span<const Tensor> list : given) {
    const auto first = std::ranges::find_if(
        list, [](const Tensor& tensor) { return static_cast<bool>(tensor); });
    if (first == list.end()) continue;
    if (is_float(first->data_type())) return first->data_type();
  }
  return DataType::Float32;
}

Shape squeezed(const Shape& shape) {
  Shape result;
  for (const std::int64_t size : shape) {
    if (size != 1) result.push_back(size);
  }
  return result;
}

void require_parameter(const char* op, const char* what, const Tensor& tensor,
                       std::initializer_list<Shape> shapes, DataType type) {
  require_option(static_cast<bool>(tensor), op, what, "a tensor", "none");
  if (tensor.data_type() != type) {
    const bool is_mixed = is_float(tensor.data_type()) && is_float(type) &&
                          type != DataType::Float32;
    throw DTypeError(ErrorInfo{
        .op = op,
        .node = tensor.name(),
        .what = std::string(what) + " have the wrong data type",
        .expected = std::string(to_string(type)),
        .got = std::string(to_string(tensor.data_type())),
        .hint = is_mixed ? "A layer's weights are of one type." : ""});
  }
  if (std::find(shapes.begin(), shapes.end(), tensor.shape()) != shapes.end()) {
    return;
  }
  std::string expected;
  for (const Shape* shape = shapes.begin(); shape != shapes.end(); ++shape) {
    if (std::find(shapes.begin(), shape, *shape) != shape) continue;
    if (!expected.empty()) expected += " or ";
    expected += shape->to_string();
  }
  throw ShapeError(
      ErrorInfo{.op = op,
                .node = tensor.name(),
                .what = std::string(what) + " have the wrong shape",
                .expected = std::move(expected),
                .got = tensor.shape().to_string(),
                .hint = {}});
}

}  // namespace traingraph
