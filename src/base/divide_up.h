// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace traingraph {

/// a / b, rounded up, for numbers not below 0; never overflows.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

}  // namespace traingraph
