// SPDX-License-Identifier: MIT
// The dropout kernel as C++ against the function that all devices share.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/random.h"
#include "metal/kernels/dropout.h"
#include "traingraph/op_attrs.h"

// The shading language's keywords are macros here: nothing else comes after.
#include <metal_stdlib>

// The emulator's own copy has another name.
namespace dropout_kernel_test {
using namespace ::metal;
#define TRAINGRAPH_MSL(...) __VA_ARGS__
#include "metal/kernels/dropout.metal"
#undef TRAINGRAPH_MSL
}  // namespace dropout_kernel_test

namespace traingraph::metal {
namespace {

constexpr std::uint8_t kUntouched = 7;

struct State {
  std::uint64_t seed, step;
};

/// Runs it with threads to spare.
template <class F>
void launch_all(Kernel which, const DropoutAttrs& attrs, const State& state,
                std::int64_t count, F run) {
  const KernelLaunch launch = launch_dropout(which, attrs, count);
  EXPECT_GE(4 * launch.num_threads, static_cast<std::size_t>(count));
  dropout_kernel_test::DropoutParams params;
  ASSERT_EQ(launch.params.size(), sizeof(params));
  std::memcpy(&params, launch.params.data(), sizeof(params));
  int words[4];
  static_assert(sizeof(words) == kRandomStateBytes);
  std::memcpy(words, &state.seed, 8);
  std::memcpy(words + 2, &state.step, 8);
  const auto num_threads = static_cast<std::uint32_t>(launch.num_threads) + 4;
  for (std::uint32_t id = 0; id < num_threads; ++id) run(words, params, id);
}

/// The mask as the GPU computes it, with elements to spare.
std::vector<std::uint8_t> run_mask(const DropoutAttrs& attrs,
                                   const State& state, std::int64_t count) {
  std::vector<std::uint8_t> mask(count + 20, kUntouched);
  launch_all(Kernel::DropoutMask, attrs, state, count,
             [&](const int* words, const auto& params, std::uint32_t id) {
               dropout_kernel_test::dropout_mask(words, mask.data(), params,
                                                 id);
             });
  return mask;
}

bool is_kept(const DropoutAttrs& attrs, const State& state,
             std::uint64_t index) {
  const std::uint64_t seed =
      attrs.seed != 0 ? static_cast<std::uint64_t>(attrs.seed) : state.seed;
  const PhiloxBlock block = dropout_block(
      seed, static_cast<std::uint32_t>(attrs.stream), state.step, index / 4);
  return to_unit_float(block[index % 4]) >= attrs.rate;
}

void expect_shared_mask(const DropoutAttrs& attrs, const State& state,
                        std::int64_t count) {
  const std::vector<std::uint8_t> mask = run_mask(attrs, state, count);
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(mask[i], is_kept(attrs, state, i) ? 1 : 0)
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

TEST(DropoutKernel, WholeDropoutKeepsTheSameElements) {
  const State state{11, 4};
  for (float rate : {0.1f, 0.5f, 0.9f}) {
    for (std::int64_t count : {1, 3, 4, 1002}) {
      const DropoutAttrs attrs{.rate = rate, .stream = 5};
      std::vector<float> x(count + 20, 3), y(count + 20, -7);
      for (std::int64_t i = 0; i < count; ++i) x[i] = 0.37f * (i + 1);
      x[0] = std::numeric_limits<float>::infinity();
      launch_all(Kernel::Dropout, attrs, state, count,
                 [&](const int* words, const auto& params, std::uint32_t id) {
                   dropout_kernel_test::dropout(words, x.data(), y.data(),
                                                params, id);
                 });
      const std::vector<std::uint8_t> mask = run_mask(attrs, state, count);
      for (std::int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(y[i], mask[i] ? x[i] * kept_scale(attrs) : 0) << i;
      }
      for (std::size_t i = count; i < y.size(); ++i) ASSERT_EQ(y[i], -7) << i;
    }
  }
}

TEST(DropoutKernel, SourceIsWhatMetalCompiles) {
  const std::string source = kDropoutSource;
  EXPECT_TRUE(source.starts_with("#include <metal_stdlib>\n"));
  for (const std::string name : {"dropout_mask", "dropout"}) {
    EXPECT_NE(source.find("kernel void " + name + "("), source.npos) << name;
  }
  EXPECT_NE(source.find("[[thread_position_in_grid]]"), source.npos);
  EXPECT_EQ(source.find("TRAINGRAPH"), source.npos);
}

}  // namespace
}  // namespace traingraph::metal
