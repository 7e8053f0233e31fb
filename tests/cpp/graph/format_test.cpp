// SPDX-License-Identifier: MIT
// Text of floats, which is ours because not every macOS has std::to_chars.
#include "base/format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <utility>

namespace traingraph::testing {
namespace {

TEST(FormatValue, IsTheShorterOfTwoSpellings) {
  const std::pair<float, const char*> cases[] = {{0, "0"},
                                                 {-0.0f, "-0"},
                                                 {1, "1"},
                                                 {-2.5f, "-2.5"},
                                                 {0.1f, "0.1"},
                                                 {1e-5f, "1e-05"},
                                                 {0.001f, "0.001"},
                                                 {1e-4f, "1e-04"},
                                                 {12345, "12345"},
                                                 {1e5f, "1e+05"},
                                                 {100, "100"},
                                                 {1234567936, "1234567936"},
                                                 {1e30f, "1e+30"},
                                                 {-3.5e-20f, "-3.5e-20"},
                                                 {0.3333333433f, "0.33333334"},
                                                 {16777216, "16777216"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(format_value(value), text);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(format_value(kInfinity), "inf");
  EXPECT_EQ(format_value(-kInfinity), "-inf");
  EXPECT_EQ(format_value(std::nanf("")), "nan");
}

TEST(FormatValue, ReadsBackAsTheSameNumber) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    const auto value =
        std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isnan(value)) continue;
    const std::string text = format_value(value);
    ASSERT_EQ(std::strtof(text.c_str(), nullptr), value)
        << text << " seed " << seed;
    ASSERT_LE(text.size(), 15u);
  }
}

}  // namespace
}  // namespace traingraph::testing
