// SPDX-License-Identifier: MIT
// Labels are text of the user's: any bytes at all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace traingraph {

/// Replaces control characters, and what is no UTF-8, by "?".
std::string printable(std::string_view text);

/// Counts the characters of UTF-8 text.
std::size_t width(std::string_view text);

/// Formats as printf() does, at most 399 characters.
template <class... Numbers>
std::string format(const char* pattern, Numbers... numbers) {
  std::array<char, 400> text{};
  std::snprintf(text.data(), text.size(), pattern, numbers...);
  return text.data();
}

/// "12,345"
std::string with_commas(std::uint64_t number);

}  // namespace traingraph
