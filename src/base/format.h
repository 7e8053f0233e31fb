// SPDX-License-Identifier: MIT
// Text of attribute values: the same spelling in errors, pictures and reports.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "traingraph/enums.h"
#include "traingraph/types.h"

namespace traingraph {

std::string format_value(bool value);
std::string format_value(std::int64_t value);
/// The shortest text that reads back as the same number.
std::string format_value(float value);
inline std::string format_value(const Shape& value) {
  return value.to_string();
}

/// Enumerators by their lower-case name.
template <class Enum>
  requires std::is_enum_v<Enum>
std::string format_value(Enum value) {
  return std::string(to_string(value));
}

/// "(1, 2)"
template <std::size_t kSize>
std::string format_value(const std::array<std::int64_t, kSize>& values) {
  return Shape(values).to_string();
}

}  // namespace traingraph
