// SPDX-License-Identifier: MIT
#include "support/half_rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace traingraph::testing {
namespace {

/// Significant bits, and the exponents of the least normal and of the largest
/// power of two.
struct Format {
  int digits, lowest, highest;
};

Format format_of(DataType type) {
  switch (type) {
    case DataType::Float16:
      return {11, -14, 15};
    case DataType::BFloat16:
      return {8, -126, 127};
    default:
      return {24, -126, 127};
  }
}

}  // namespace

double unit_roundoff(DataType type) {
  return std::ldexp(1, -format_of(type).digits);
}

double round_to(DataType type, double value) {
  const bool is_float = type == DataType::Float32 ||
                        type == DataType::Float16 || type == DataType::BFloat16;
  if (!is_float || value == 0 || !std::isfinite(value)) return value;
  const Format format = format_of(type);
  const int exponent = std::max(std::ilogb(value), format.lowest);
  // The last bit of numbers with this exponent.
  const double last = std::ldexp(1, exponent - format.digits + 1);
  const double rounded = std::nearbyint(value / last) * last;
  if (std::abs(rounded) < std::ldexp(2, format.highest)) return rounded;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

}  // namespace traingraph::testing
