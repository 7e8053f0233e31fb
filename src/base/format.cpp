// SPDX-License-Identifier: MIT
#include "base/format.h"

#include <charconv>

namespace traingraph {

std::string format_value(bool value) { return value ? "true" : "false"; }

std::string format_value(std::int64_t value) { return std::to_string(value); }

std::string format_value(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return std::string(text, end);
}

}  // namespace traingraph
