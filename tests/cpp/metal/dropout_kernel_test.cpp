// SPDX-License-Identifier: MIT
// The dropout kernel as C++ against the function that all devices share.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "metal/kernels/dropout.h"
#include "traingraph/op_attrs.h"

// The shading language's keywords are macros here: nothing else comes after.
#include <metal_stdlib>

// Not the name of the emulator's own copy.
namespace dropout_kernel_test {
using namespace ::metal;
#define TRAINGRAPH_MSL(...) __VA_ARGS__
#include "metal/kernels/dropout.metal"
#undef TRAINGRAPH_MSL
}  // namespace dropout_kernel_test

namespace traingraph::metal {
namespace {

constexpr float kUntouched = -7;

struct State {
  std::uint64_t seed, step;
};

dropout_kernel_test::DropoutParams kernel_params(const DropoutAttrs& attrs,
                                                 std::int64_t count) {
  const auto seed = static_cast<std::uint64_t>(attrs.seed);
  const DropoutParams params{.seed_lo = static_cast<std::uint32_t>(seed),
                             .seed_hi = static_cast<std::uint32_t>(seed >> 32),
                             .stream = static_cast<std::uint32_t>(attrs.stream),
                             .rate = attrs.rate,
                             .scale = 1 / (1 - attrs.rate),
                             .count = static_cast<std::uint32_t>(count)};
  return std::bit_cast<dropout_kernel_test::DropoutParams>(params);
}

/// The mask as the GPU computes it, with threads and elements to spare.
std::vector<float> run_kernel(const DropoutAttrs& attrs, const State& state,
                              std::int64_t count) {
  const auto params = kernel_params(attrs, count);
  int words[4];
  std::memcpy(words, &state.seed, 8);
  std::memcpy(words + 2, &state.step, 8);
  std::vector<float> mask(count + 20, kUntouched);
  for (std::int64_t id = 0; id < count / 4 + 4; ++id) {
    dropout_kernel_test::dropout_mask(words, mask.data(), params,
                                      static_cast<std::uint32_t>(id));
  }
  return mask;
}

float expected_mask(const DropoutAttrs& attrs, const State& state,
                    std::uint64_t index) {
  const std::uint64_t seed =
      attrs.seed != 0 ? static_cast<std::uint64_t>(attrs.seed) : state.seed;
  const PhiloxBlock block = dropout_block(
      seed, static_cast<std::uint32_t>(attrs.stream), state.step, index / 4);
  const bool keeps = to_unit_float(block[index % 4]) >= attrs.rate;
  return keeps ? 1 / (1 - attrs.rate) : 0;
}

void expect_shared_mask(const DropoutAttrs& attrs, const State& state,
                        std::int64_t count) {
  const std::vector<float> mask = run_kernel(attrs, state, count);
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(mask[i], expected_mask(attrs, state, i))
        << "element " << i << ", seed " << state.seed << ", step "
        << state.step;
  }
  for (std::size_t i = count; i < mask.size(); ++i) {
    ASSERT_EQ(mask[i], kUntouched) << "element " << i << " of " << count;
  }
}

constexpr std::uint64_t kNumbers[] = {0,
                                      1,
                                      42,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      0x100000000,
                                      0x123456789abcdef0,
                                      0xffffffffffffffff};

TEST(DropoutKernel, AgreesForAllSeedsAndSteps) {
  for (std::uint64_t seed : kNumbers) {
    for (std::uint64_t step : kNumbers) {
      expect_shared_mask({.rate = 0.5f, .stream = 3}, {seed, step}, 257);
    }
  }
}

TEST(DropoutKernel, AttributeSeedReplacesTheStates) {
  for (std::uint64_t seed : kNumbers) {
    const DropoutAttrs attrs{.rate = 0.3f,
                             .seed = static_cast<std::int64_t>(seed)};
    expect_shared_mask(attrs, {12345, 6}, 64);
  }
}

TEST(DropoutKernel, AgreesForAllRatesAndStreams) {
  for (float rate : {0.0f, 0x1p-24f, 0.1f, 0.5f, 0.9f, 0.999999f}) {
    for (std::int64_t stream : {0, 1, 77, 1 << 30}) {
      expect_shared_mask({.rate = rate, .stream = stream}, {9, 1}, 1001);
    }
  }
}

TEST(DropoutKernel, WritesExactlyTheElements) {
  for (std::int64_t count = 1; count <= 9; ++count) {
    expect_shared_mask({}, {1, 2}, count);
  }
}

TEST(DropoutKernel, AgreesFarIntoATensor) {
  expect_shared_mask({.rate = 0.5f, .stream = 2}, {5, 7}, 1'000'003);
}

TEST(DropoutKernel, SourceIsWhatMetalCompiles) {
  const std::string source = kDropoutSource;
  EXPECT_TRUE(source.starts_with("#include <metal_stdlib>\n"));
  EXPECT_NE(source.find("kernel void dropout_mask("), source.npos);
  EXPECT_NE(source.find("[[thread_position_in_grid]]"), source.npos);
  EXPECT_EQ(source.find("TRAINGRAPH"), source.npos);
}

}  // namespace
}  // namespace traingraph::metal
