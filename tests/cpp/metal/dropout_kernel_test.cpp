// SPDX-License-Identifier: MIT
// The dropout kernel as C++ against the function that all devices share.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "formulas/random.h"
#include "metal/kernels/dropout.h"
#include "metal/kernels/sources.h"
#include "traingraph/op_attrs.h"

// The shading language's keywords are macros here: nothing else comes after.
#include <metal_stdlib>

// The emulator's own copy has another name.
namespace dropout_kernel_test {
using namespace ::metal;
#include "metal/kernels/dropout.metal"
}  // namespace dropout_kernel_test

namespace traingraph::metal {
namespace {

constexpr std::uint8_t kUntouched = 7;

using State = formulas::RandomState;

/// Runs it with threads to spare.
template <class F>
void launch_all(Kernel which, const DropoutAttrs& attrs, std::int64_t count,
                F run) {
  const KernelLaunch launch = launch_dropout(which, attrs, count);
  EXPECT_GE(4 * launch.num_threads, static_cast<std::size_t>(count));
  formulas::DropoutCall call;
  ASSERT_EQ(launch.params.size(), sizeof(call));
  std::memcpy(static_cast<void*>(&call), launch.params.data(), sizeof(call));
  const auto num_threads = static_cast<std::uint32_t>(launch.num_threads) + 4;
  for (std::uint32_t id = 0; id < num_threads; ++id) run(call, id);
}

/// The mask as the GPU computes it, with elements to spare.
std::vector<std::uint8_t> run_mask(const DropoutAttrs& attrs,
                                   const State& state, std::int64_t count) {
  std::vector<std::uint8_t> mask(count + 20, kUntouched);
  launch_all(Kernel::DropoutMask, attrs, count,
             [&](const formulas::DropoutCall& call, std::uint32_t id) {
               dropout_kernel_test::dropout_mask(&state, mask.data(), call, id);
             });
  return mask;
}

bool is_kept(const DropoutAttrs& attrs, const State& state,
             std::uint64_t index) {
  const std::uint64_t seed =
      attrs.seed != 0 ? static_cast<std::uint64_t>(attrs.seed) : state.seed;
  const auto block = formulas::dropout_block(
      {seed, state.step, static_cast<std::uint32_t>(attrs.stream)}, index / 4);
  return formulas::to_unit_float(block.words[index % 4]) >= attrs.rate;
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
      launch_all(Kernel::Dropout, attrs, count,
                 [&](const formulas::DropoutCall& call, std::uint32_t id) {
                   dropout_kernel_test::dropout(&state, x.data(), y.data(),
                                                call, id);
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
  EXPECT_NE(source.find("#include <metal_stdlib>\n"), source.npos);
  for (const std::string name : {"dropout_mask", "dropout"}) {
    EXPECT_NE(source.find("kernel void " + name + "("), source.npos) << name;
  }
  EXPECT_NE(source.find("[[thread_position_in_grid]]"), source.npos);
  EXPECT_EQ(source.find("#include \""), source.npos);
}

}  // namespace
}  // namespace traingraph::metal
