// SPDX-License-Identifier: MIT
// Rounding and memory layout of element types.
#include "element_types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace emulator {
namespace {

double through_memory(std::uint32_t type, double value) {
  char bytes[8];
  encode(type, &value, 1, bytes);
  double result;
  decode(type, bytes, 1, &result);
  return result;
}

std::uint16_t half_bits(double value) {
  std::uint16_t bits;
  encode(kFloat16, &value, 1, &bits);
  return bits;
}

TEST(ElementTypes, Float32) {
  EXPECT_EQ(round_to_type(kFloat32, 0.1), double{0.1f});
  EXPECT_EQ(through_memory(kFloat32, 0.1), double{0.1f});
  EXPECT_TRUE(std::isinf(round_to_type(kFloat32, 1e39)));
}

TEST(ElementTypes, HalfAgreesWithTheCompiler) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    double value;
    decode(kFloat16, &half, 1, &value);
    _Float16 expected;
    std::memcpy(&expected, &half, 2);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<double>(expected)));
      continue;
    }
    ASSERT_EQ(value, static_cast<double>(expected));
    ASSERT_EQ(half_bits(value), half);
  }
  for (double value = -1e-9; std::abs(value) < 1e6; value *= -1.0173) {
    EXPECT_EQ(round_to_type(kFloat16, value),
              static_cast<double>(static_cast<_Float16>(value)));
  }
}

TEST(ElementTypes, HalfRoundsTiesToEven) {
  EXPECT_EQ(round_to_type(kFloat16, 2049), 2048);
  EXPECT_EQ(round_to_type(kFloat16, 2051), 2052);
  EXPECT_EQ(round_to_type(kFloat16, 65519), 65504);
  EXPECT_TRUE(std::isinf(round_to_type(kFloat16, 65520)));
  EXPECT_EQ(half_bits(0x1p-24), 1);
  EXPECT_EQ(half_bits(0x1p-25), 0);
  EXPECT_TRUE(std::isnan(through_memory(kFloat16, NAN)));
}

TEST(ElementTypes, BFloat) {
  EXPECT_EQ(round_to_type(kBFloat16, 257), 256);
  EXPECT_EQ(round_to_type(kBFloat16, 259), 260);
  EXPECT_EQ(through_memory(kBFloat16, -1.5), -1.5);
}

TEST(ElementTypes, Integers) {
  EXPECT_EQ(round_to_type(kInt32, -2.7), -2);
  EXPECT_EQ(round_to_type(kInt8, 128), -128);
  EXPECT_EQ(round_to_type(kUInt8, -1), 255);
  EXPECT_EQ(round_to_type(kUInt32, 4294967296.0), 0);
  EXPECT_EQ(round_to_type(kInt32, NAN), 0);
  EXPECT_EQ(round_to_type(kBool, 0.25), 1);
  EXPECT_EQ(through_memory(kInt64, -9007199254740991.0), -9007199254740991.0);
  EXPECT_EQ(through_memory(kUInt16, 65535), 65535);
  EXPECT_EQ(through_memory(kInt16, -3), -3);
}

TEST(ElementTypes, WhatTensorsCannotHave) {
  EXPECT_EQ(element_size(0x10000040), 0u);  // float64
  EXPECT_EQ(element_size(0), 0u);
  EXPECT_EQ(element_size(kBool), 1u);
  EXPECT_EQ(to_string(Type{kFloat32, {2, 3}}), "Float32 (2, 3)");
}

}  // namespace
}  // namespace emulator
