// SPDX-License-Identifier: MIT
// Checks of layer and optimizer options, in one wording. `op` is the class.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/format.h"
#include "traingraph/error.h"
#include "traingraph/op_attrs.h"
#include "traingraph/tensor.h"

namespace traingraph {

/// Throws InvalidArgument "[op] field is out of range: expected X, got Y".
void require_option(bool ok, const char* op, const char* field,
                    std::string expected, std::string got,
                    std::string hint = {});
void require_positive(const char* op, const char* field, std::int64_t value);
/// Pairs are attributes of windows: at most kMaxWindow.
void require_positive(const char* op, const char* field, const Pair& values);
void require_not_negative(const char* op, const char* field,
                          const Pair& values);
void require_not_negative(const char* op, const char* field, float value);
/// There is none by default.
void require_kernel(const char* op, const Pair& kernel_size);
/// Sizes are for UsePaddingSize.
void require_padding_sizes(const char* op, PaddingPolicy policy,
                           const Pair& sizes);
/// `value` is the default: nothing would use another one.
template <class Value>
void require_unused(const char* op, const char* field, Value value,
                    Value default_value, const std::string& of) {
  require_option(value == default_value, op, field,
                 format_value(default_value) + ": " + of + " does not use it",
                 format_value(value));
}
void require_finite(const char* op, const char* field, float value);
/// `low` <= value <= `high`.
void require_within(const char* op, const char* field, float value, float low,
                    float high);

/// What make() returns: a new tensor that the layer holds as `what`. Errors of
/// its size and memory name both.
template <class Make>
Tensor created(const char* op, const char* what, Make make) {
  const auto named = [&](ErrorInfo info) {
    info.op = op;
    info.what = std::string(what) + ": " + info.what;
    return info;
  };
  try {
    return make();
  } catch (const OutOfMemoryError& error) {
    throw OutOfMemoryError(named(error.info()));
  } catch (const ShapeError& error) {
    throw ShapeError(named(error.info()));
  }
}

/// What the weights of a layer are stored as: floats of any type, and one type
/// in a layer, that of the first tensor that is given; else float32.
DataType type_of_weights(std::initializer_list<std::span<const Tensor>> given);

/// (1, C, 1, 1) -> (C): shapes without axes of size 1, which name the same
/// elements in the same order.
Shape squeezed(const Shape& shape);

/// Throws unless `tensor` has the type and one of the shapes.
void require_parameter(const char* op, const char* what, const Tensor& tensor,
                       std::initializer_list<Shape> shapes,
                       DataType type = DataType::Float32);

}  // namespace traingraph
