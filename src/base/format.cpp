// SPDX-License-Identifier: MIT
#include "base/format.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace traingraph {
namespace {

/// The fewest significant digits that read back as `value`, which is positive,
/// and the power of ten of the first. Asks printf, since macOS before 13.3
/// lacks std::to_chars of floats; the decimal separator is the locale's.
struct Digits {
  explicit Digits(float value) {
    char text[32];
    for (int count = 1; count <= 9; ++count) {
      std::snprintf(text, sizeof(text), "%.*e", count - 1, double(value));
      if (std::strtof(text, nullptr) == value) break;
    }
    const char* at = text;
    for (; *at != 'e'; ++at) {
      if (std::isdigit(static_cast<unsigned char>(*at))) digits += *at;
    }
    exponent = std::atoi(at + 1);
  }

  std::string scientific() const {
    std::string text = digits.substr(0, 1);
    if (digits.size() > 1) text += "." + digits.substr(1);
    char power[16];
    std::snprintf(power, sizeof(power), "e%c%02d", exponent < 0 ? '-' : '+',
                  std::abs(exponent));
    return text + power;
  }

  std::string fixed(float value) const {
    const int count = static_cast<int>(digits.size());
    if (exponent < 0) return "0." + std::string(-exponent - 1, '0') + digits;
    if (exponent < count - 1) {
      return digits.substr(0, exponent + 1) + "." + digits.substr(exponent + 1);
    }
    char text[64];
    std::snprintf(text, sizeof(text), "%.0f", double(value));
    return text;
  }

  std::string digits;
  int exponent;
};

}  // namespace

std::string format_value(bool value) { return value ? "true" : "false"; }

std::string format_value(std::int64_t value) { return std::to_string(value); }

std::string format_value(float value) {
  if (std::signbit(value)) return "-" + format_value(-value);
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return "inf";
  if (value == 0) return "0";
  const Digits digits(value);
  const std::string fixed = digits.fixed(value), other = digits.scientific();
  return fixed.size() <= other.size() ? fixed : other;
}

}  // namespace traingraph
