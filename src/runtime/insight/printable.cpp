// SPDX-License-Identifier: MIT
#include "runtime/insight/printable.h"

#include <algorithm>
#include <cstdint>

namespace traingraph {
namespace {

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// Bytes of the character that begins here; 0: none does, or it must not be
/// shown. Unicode, table 3-7.
std::size_t length_of_character(std::string_view text) {
  const auto at = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = at(0);
  const unsigned second = at(1);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + length, continues)) {
    return 0;
  }
  const bool is_control = first == 0xC2 && second < 0xA0;
  const bool is_overlong =
      (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool is_surrogate = first == 0xED && second > 0x9F;
  const bool is_too_large = first == 0xF4 && second > 0x8F;
  // U+FFFE and U+FFFF, which XML has not.
  const bool is_no_character = first == 0xEF && second == 0xBF && at(2) > 0xBD;
  if (is_control || is_overlong || is_surrogate || is_too_large ||
      is_no_character) {
    return 0;
  }
  return length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = length_of_character(text);
    shown += length == 0 ? "?" : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

std::size_t width(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::ranges::count_if(text, continues));
}

std::string with_commas(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace traingraph
