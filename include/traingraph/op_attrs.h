// SPDX-License-Identifier: MIT
// One plain struct per set of op attributes. `fields()` names the members in
// order; validation, printing, Python keywords and docs all come from it.
#pragma once

#include <array>
#include <cstdint>
#include <tuple>
#include <variant>

#include "traingraph/enums.h"
#include "traingraph/op_field.h"  // IWYU pragma: export
#include "traingraph/types.h"

namespace traingraph {

/// (height, width) or (y, x).
using Pair = std::array<std::int64_t, 2>;
/// (top, bottom, left, right).
using Padding = std::array<std::int64_t, 4>;

struct NoAttrs {
  bool operator==(const NoAttrs&) const = default;
  static constexpr std::tuple<> fields() { return {}; }
};

/// f(x) of mlcompute's activation family; a and b as its descriptor, 0 where
/// the type does not use them. No type uses c.
struct ActivationAttrs {
  ActivationType type = ActivationType::ReLU;
  float a = kOfType, b = kOfType, c = 0;
  TRAINGRAPH_FIELDS(ActivationAttrs, TRAINGRAPH_REQUIRED(type),
                    TRAINGRAPH_FIELD(a), TRAINGRAPH_FIELD(b),
                    TRAINGRAPH_FIELD(c))
};

struct ArithmeticAttrs {
  ArithmeticOperation operation = ArithmeticOperation::Add;
  TRAINGRAPH_FIELDS(ArithmeticAttrs, TRAINGRAPH_REQUIRED(operation))
};

struct CompareAttrs {
  ComparisonOperation operation = ComparisonOperation::Equal;
  TRAINGRAPH_FIELDS(CompareAttrs, TRAINGRAPH_REQUIRED(operation))
};

struct CastAttrs {
  DataType data_type = DataType::Float32;
  TRAINGRAPH_FIELDS(CastAttrs, TRAINGRAPH_REQUIRED(data_type))
};

/// A tensor with one value everywhere.
struct FillAttrs {
  Shape shape;
  float value = 0;
  DataType data_type = DataType::Float32;
  TRAINGRAPH_FIELDS(FillAttrs, TRAINGRAPH_REQUIRED(shape),
                    TRAINGRAPH_REQUIRED(value), TRAINGRAPH_FIELD(data_type))
};

/// Drops with probability `rate`, scales the rest by 1 / (1 - rate). The mask
/// is a function of (seed or the platform's seed, stream, step, element).
struct DropoutAttrs {
  float rate = 0.5f;
  std::int64_t seed = 0;    // 0: the platform's
  std::int64_t stream = 0;  // distinct per dropout of a graph
  TRAINGRAPH_FIELDS(DropoutAttrs, TRAINGRAPH_REQUIRED(rate),
                    TRAINGRAPH_FIELD(seed), TRAINGRAPH_FIELD(stream))
};

/// alpha * op(x) * op(y) over the last two axes.
struct MatMulAttrs {
  float alpha = 1;
  bool transposes_x = false;
  bool transposes_y = false;
  TRAINGRAPH_FIELDS(MatMulAttrs, TRAINGRAPH_FIELD(alpha),
                    TRAINGRAPH_FIELD(transposes_x),
                    TRAINGRAPH_FIELD(transposes_y))
};

/// Explicit padding only: policies are resolved by the layer.
struct Convolution2dAttrs {
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  std::int64_t groups = 1;
  TRAINGRAPH_FIELDS(Convolution2dAttrs, TRAINGRAPH_FIELD(strides),
                    TRAINGRAPH_FIELD(dilation_rates), TRAINGRAPH_FIELD(padding),
                    TRAINGRAPH_FIELD(groups))
};

/// `shape` is that of the result: the input's, or the weights' (O, I/g, H, W).
struct Convolution2dGradientAttrs {
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  std::int64_t groups = 1;
  Shape shape;
  TRAINGRAPH_FIELDS(Convolution2dGradientAttrs, TRAINGRAPH_FIELD(strides),
                    TRAINGRAPH_FIELD(dilation_rates), TRAINGRAPH_FIELD(padding),
                    TRAINGRAPH_FIELD(groups), TRAINGRAPH_REQUIRED(shape))
};

struct Pool2dAttrs {
  Pair kernel_sizes{1, 1};
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  TRAINGRAPH_FIELDS(Pool2dAttrs, TRAINGRAPH_REQUIRED(kernel_sizes),
                    TRAINGRAPH_FIELD(strides), TRAINGRAPH_FIELD(dilation_rates),
                    TRAINGRAPH_FIELD(padding))
};

struct AveragePool2dAttrs {
  Pair kernel_sizes{1, 1};
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  bool count_includes_padding = false;
  TRAINGRAPH_FIELDS(AveragePool2dAttrs, TRAINGRAPH_REQUIRED(kernel_sizes),
                    TRAINGRAPH_FIELD(strides), TRAINGRAPH_FIELD(dilation_rates),
                    TRAINGRAPH_FIELD(padding),
                    TRAINGRAPH_FIELD(count_includes_padding))
};

/// `shape` is that of the pooled input.
struct AveragePool2dGradientAttrs {
  Pair kernel_sizes{1, 1};
  Pair strides{1, 1};
  Pair dilation_rates{1, 1};
  Padding padding{};
  bool count_includes_padding = false;
  Shape shape;
  TRAINGRAPH_FIELDS(AveragePool2dGradientAttrs,
                    TRAINGRAPH_REQUIRED(kernel_sizes),
                    TRAINGRAPH_FIELD(strides), TRAINGRAPH_FIELD(dilation_rates),
                    TRAINGRAPH_FIELD(padding),
                    TRAINGRAPH_FIELD(count_includes_padding),
                    TRAINGRAPH_REQUIRED(shape))
};
// Attributes of the remaining families follow in op_attrs_more.h only to keep
// each header readable; include this one.
}  // namespace traingraph

#include "traingraph/op_attrs_more.h"  // IWYU pragma: export
