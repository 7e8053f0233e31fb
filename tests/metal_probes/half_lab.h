// SPDX-License-Identifier: MIT
// What probes of floats of 16 bits share: a question is asked per type.
#pragma once

#include <string>

#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {

inline constexpr MPSDataType kHalf = MPSDataTypeFloat16;
/// Not every SDK that this compiles with names it.
inline constexpr auto kBFloat = static_cast<MPSDataType>(
    MPSDataTypeAlternateEncodingBit | MPSDataTypeFloat16);

/// An answer without an argument, per type.
template <std::string (*answer)(MPSDataType)>
std::string of_half() {
  return answer(kHalf);
}
template <std::string (*answer)(MPSDataType)>
std::string of_bfloat() {
  if (@available(macOS 14.0, *)) return answer(kBFloat);
  return "before macOS 14";
}

inline Beginnings or_none(const char* expected) {
  return {expected, "before macOS 14"};
}

}  // namespace traingraph::metal::probes
