// SPDX-License-Identifier: MIT
// What tests of kernels for floats of 16 bits share: values that are stored so,
// and how far a result may be off.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/run_program.h"
#include "traingraph/half_types.h"

namespace traingraph::testing {

template <class T>
inline constexpr DataType kTypeOf = DataType::Float32;
template <>
inline constexpr DataType kTypeOf<bfloat16> = DataType::BFloat16;
template <>
inline constexpr DataType kTypeOf<float16> = DataType::Float16;

/// Bits that are stored of a number, the first 1 included.
template <class T>
inline constexpr int kDigits = 24;
template <>
inline constexpr int kDigits<bfloat16> = 8;
template <>
inline constexpr int kDigits<float16> = 11;

/// Half a unit in the last place; below the normal numbers, of the least one.
template <class T>
double one_rounding(double exact) {
  constexpr int kMin = kTypeOf<T> == DataType::Float16 ? -14 : -126;
  const int exponent = exact == 0 ? kMin : std::ilogb(exact);
  return std::exp2(std::max(exponent, kMin) - kDigits<T>);
}

/// A sum in double, and the size of its terms: what float32 arithmetic may be
/// off by depends on it.
struct Exact {
  double value = 0, size = 0;

  void add(double term) {
    value += term;
    size += std::abs(term);
  }
  /// The error after a sum of up to thousands of terms in float32.
  double float_error() const { return 0x1p-21 * size; }
};
using Exacts = std::vector<Exact>;

template <class T>
std::vector<T> random_stored(std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> values(n);
  for (T& value : values) value = normal(random);
  return values;
}

template <class T>
void expect_rounded_once(const std::vector<T>& got, const Exacts& exact) {
  ASSERT_EQ(got.size(), exact.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double bound =
        one_rounding<T>(exact[i].value) + exact[i].float_error();
    ASSERT_NEAR(static_cast<float>(got[i]), exact[i].value, bound)
        << "at " << i;
  }
}

/// A program whose inputs are stored as T; keeps every result of what it runs.
template <class T>
struct HalfCase {
  Program program;
  std::vector<std::pair<ValueId, std::vector<T>>> data;

  ValueId input(const Shape& shape) {
    const auto seed = static_cast<std::uint32_t>(data.size() + 1);
    const ValueId id = program.add_value(Role::Input, {shape, kTypeOf<T>},
                                         "x" + std::to_string(data.size()));
    data.emplace_back(id, random_stored<T>(shape.num_elements(), seed));
    return id;
  }
  const std::vector<T>& operator[](int i) const { return data[i].second; }

  ProgramRun run(const std::vector<ValueId>& kept, bool in_place = false) {
    ProgramRun run(program, kept);
    for (const auto& [id, contents] : data) run.set(id, contents);
    run.run(in_place);
    EXPECT_TRUE(run.has_intact_guards());
    return run;
  }
  /// Computes the result alone twice, once in place, which gives the same bits.
  std::vector<T> result(ValueId y) {
    const auto bits = [](const std::vector<T>& values) {
      std::vector<std::uint16_t> all;
      for (T value : values) all.push_back(value.bits);
      return all;
    };
    auto values = run({y}).template get<T>(y);
    auto again = run({y}, /*in_place=*/true).template get<T>(y);
    EXPECT_EQ(bits(values), bits(again));
    return values;
  }
};

using HalfTypes = ::testing::Types<bfloat16, float16>;

}  // namespace traingraph::testing
