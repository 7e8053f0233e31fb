// SPDX-License-Identifier: MIT
// Upsampling on the GPU: what counts where a sample has no weight.
#include <gtest/gtest.h>

#include <limits>

#include "metal/lowering_support.h"

namespace traingraph::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(UpsampleLowering, ASampleWithoutWeightDoesNotCount) {
  const Operand x{{1, 1, 3}, {1, kInfinity, 3}};
  const UpsampleAttrs aligned{{5}, SampleMode::Linear, true};
  expect_alike(run_on_gpu(OpKind::Upsample, aligned, {x}),
               {1, kInfinity, kInfinity, kInfinity, 3}, 0);
  // The last sample's only share is that of the last.
  const Operand gradient{{1, 1, 5}, {kInfinity, 1, 1, 1, 2}};
  const UpsampleAttrs back{{3}, SampleMode::Linear, true};
  expect_alike(run_on_gpu(OpKind::UpsampleGradient, back, {gradient}),
               {kInfinity, 2, 2.5}, 0);
}

TEST(UpsampleLowering, ASampleThatNothingReadsHasNoGradient) {
  const Operand gradient{{1, 1, 2}, {kInfinity, 2}};
  const UpsampleAttrs back{{4}};
  expect_alike(run_on_gpu(OpKind::UpsampleGradient, back, {gradient}),
               {0, kInfinity, 0, 2}, 0);
}

}  // namespace
}  // namespace traingraph::testing
