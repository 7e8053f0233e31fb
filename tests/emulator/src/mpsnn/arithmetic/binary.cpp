// SPDX-License-Identifier: MIT
#include "binary.h"

#include <algorithm>

#include "picture.h"

namespace emulator::mpsnn {
namespace {

double element(const Picture& picture, const Strides& s, std::int64_t c,
               std::int64_t y, std::int64_t x) {
  return picture.at(c * s.channels, y * s.y, x * s.x);
}

bool compare(Comparison comparison, double a, double b) {
  switch (comparison) {
    case Comparison::kEqual:
      return a == b;
    case Comparison::kNotEqual:
      return a != b;
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessOrEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    case Comparison::kGreaterOrEqual:
      return a >= b;
  }
  return false;
}

double combine(const Binary& b, double x, double y) {
  x *= b.primary_scale;
  y *= b.secondary_scale;
  switch (b.op) {
    case BinaryOp::kAdd:
      return x + y;
    case BinaryOp::kSubtract:
      return x - y;
    case BinaryOp::kMultiply:
      return x * y;
    case BinaryOp::kDivide:
      return x / y;
    case BinaryOp::kCompare:
      return compare(b.comparison, x, y) ? 1 : 0;
  }
  return 0;
}

/// Zero when lengths differ where neither operand is broadcast.
std::int64_t length_of(std::int64_t a, std::int64_t stride_a, std::int64_t b,
                       std::int64_t stride_b) {
  if (stride_a == 0) return stride_b == 0 ? 1 : b;
  return stride_b == 0 || a == b ? a : 0;
}

}  // namespace

std::optional<Extent> binary_extent(const Binary& b, const Extent& p,
                                    const Extent& s) {
  const Extent extent{length_of(p.channels, b.primary.channels, s.channels,
                                b.secondary.channels),
                      length_of(p.height, b.primary.y, s.height, b.secondary.y),
                      length_of(p.width, b.primary.x, s.width, b.secondary.x)};
  if (extent.count() == 0) return std::nullopt;
  return extent;
}

Picture apply_binary(const Binary& binary, const Picture& primary,
                     const Picture& secondary) {
  const Extent result =
      *binary_extent(binary, primary.extent, secondary.extent);
  return picture_of(result, [&](auto c, auto y, auto x) {
    const double value =
        combine(binary, element(primary, binary.primary, c, y, x),
                element(secondary, binary.secondary, c, y, x)) +
        binary.bias;
    return std::clamp(value, binary.minimum, binary.maximum);
  });
}

Picture binary_gradient(const BinaryGradient& rule, const Picture& gradient,
                        const Picture& other, const Extent& operand) {
  Sums result(operand);
  for_each(gradient.extent, [&](auto c, auto y, auto x) {
    double g = rule.scale * gradient.at(c, y, x);
    if (rule.is_product) {
      g *= rule.other_scale * element(other, rule.other, c, y, x);
    }
    result.at(c * rule.own.channels, y * rule.own.y, x * rule.own.x) += g;
  });
  return result.rounded();
}

}  // namespace emulator::mpsnn
