// SPDX-License-Identifier: MIT
// Floats stored in 16 bits. They convert to and from float by themselves and
// have no arithmetic of their own: a sum of them is a sum of floats. Storing
// rounds to nearest, ties to even (IEEE 754), beyond the range to infinity; a
// NaN stays one. Without branches, so that loops vectorize; floats are assigned
// without a temporary, which GCC would keep in memory in loops of several
// loads.
#pragma once

#include <bit>
#include <cstdint>

namespace traingraph {

/// The upper half of a float: 8 bits of exponent, 8 significant bits.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  constexpr bfloat16(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (all + 0x7fffu + (all >> 16 & 1u)) >> 16;
    const std::uint32_t quiet = all >> 16 | 0x40u;
    const bool is_nan = (all & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<std::uint16_t>(is_nan ? quiet : rounded);
  }
  constexpr bfloat16& operator=(float value) {
    bits = bfloat16(value).bits;
    return *this;
  }
  constexpr operator float() const {
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }
};

/// IEEE 754 binary16: 5 bits of exponent, 11 significant bits, at most 65504.
struct float16 {
  std::uint16_t bits = 0;

  float16() = default;
  constexpr float16(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t size = all & 0x7fffffffu;
    const std::uint32_t even = size + 0xfffu + (size >> 13 & 1u);
    const std::uint32_t normal = (even - kBias) >> 13;
    // The last bit of 0.5f is the least float16: adding rounds to these.
    const std::uint32_t below = select(size < kSmallest, size, 0);
    const float sum = std::bit_cast<float>(below) + 0.5f;
    const std::uint32_t small = std::bit_cast<std::uint32_t>(sum) - kHalf;
    const std::uint32_t nan = 0x7e00u | (size >> 13 & 0x3ffu);
    std::uint32_t result = select(size < kSmallest, small, normal);
    result = select(size >= kTooLarge, 0x7c00u, result);
    result = select(size > 0x7f800000u, nan, result);
    bits = static_cast<std::uint16_t>(result | (all >> 16 & 0x8000u));
  }
  constexpr float16& operator=(float value) {
    bits = float16(value).bits;
    return *this;
  }
  constexpr operator float() const {
    const std::uint32_t size = bits & 0x7fffu;
    const std::uint32_t exponent = kBias + select(size >= 0x7c00u, kBias, 0);
    const std::uint32_t normal = (size << 13) + exponent;
    const float sum = std::bit_cast<float>(kHalf + size) - 0.5f;
    const auto small = std::bit_cast<std::uint32_t>(sum);
    const std::uint32_t value = select(size < 0x400u, small, normal);
    return std::bit_cast<float>(value | (bits & 0x8000u) << 16);
  }

 private:
  static constexpr std::uint32_t kBias = 112u << 23;       // 127 - 15
  static constexpr std::uint32_t kSmallest = 113u << 23;   // 2^-14
  static constexpr std::uint32_t kTooLarge = 0x477ff000u;  // 65520
  static constexpr std::uint32_t kHalf = 0x3f000000u;      // 0.5f

  /// Selects by masks, since compilers make branches of ?: here.
  static constexpr std::uint32_t select(bool first, std::uint32_t a,
                                        std::uint32_t b) {
    const std::uint32_t mask = 0u - static_cast<std::uint32_t>(first);
    return (a & mask) | (b & ~mask);
  }
};

static_assert(sizeof(bfloat16) == 2 && sizeof(float16) == 2);

}  // namespace traingraph
