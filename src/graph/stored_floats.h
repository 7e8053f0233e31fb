// SPDX-License-Identifier: MIT
// Floats on their way into tensors of fewer bits and out of them. Numbers are
// rounded once, whatever they come from.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "traingraph/types.h"

namespace traingraph {

/// A float from which storing rounds as it would from `x`: `x` itself, or one
/// of its two neighbours, that with an odd last bit, which is no tie of fewer
/// bits. What is beyond the range of floats is the largest.
inline float before_rounding(double x) {
  const auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || std::isnan(x)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(x)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

/// Numbers of a float type as float32, which is exact. Throws DTypeError for
/// other types.
std::vector<float> upcast(std::span<const std::byte> values, DataType type);

/// Rounds to a float type. Throws InvalidArgument, with `op` and `node`, when a
/// finite value would become infinite; DTypeError for other types.
void store_floats(std::span<const float> values, DataType type,
                  std::span<std::byte> to, const char* op,
                  const std::string& node);

}  // namespace traingraph
