// SPDX-License-Identifier: MIT
// Numbers of one type as numbers of another, defined for all of them.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

namespace traingraph {

/// Out of range saturates and NaN becomes 0, where C++ would be undefined. A
/// class is a float stored in fewer bits.
template <class To, class From>
To convert(From x) {
  if constexpr (!std::is_arithmetic_v<From>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_integral_v<To> &&
                       std::is_floating_point_v<From>) {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(x)) return 0;
    if (x <= static_cast<From>(Limits::min())) return Limits::min();
    if (x >= static_cast<From>(Limits::max())) return Limits::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace traingraph
