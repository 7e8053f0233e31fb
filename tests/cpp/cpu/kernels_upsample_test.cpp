// SPDX-License-Identifier: MIT
// Upsampling on the CPU with infinities and with long sums; the cases of the
// table are small.
#include <gtest/gtest.h>

#include <limits>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(UpsampleKernels, ASampleWithoutWeightDoesNotCount) {
  OpRun up(OpKind::Upsample, UpsampleAttrs{{5}, SampleMode::Linear, true});
  up.input({1, 1, 3}, {1, kInfinity, 3}).run();
  expect_near(up.result(), {1, kInfinity, kInfinity, kInfinity, 3}, 0);
  OpRun down(OpKind::UpsampleGradient,
             UpsampleAttrs{{3}, SampleMode::Linear, true});
  down.input({1, 1, 5}, {kInfinity, 1, 1, 1, 2}).run();
  expect_near(down.result(), {kInfinity, 2, 2.5}, 0);
}

/// One sample becomes a million: its gradient is a sum of as many.
TEST(UpsampleKernels, LongSumsAreAccurate) {
  const Shape large{1, 1, 1000, 1000};
  Values gradient = random_values(large.num_elements(), 4);
  double sum = 0;
  for (double& each : gradient) {
    each = static_cast<float>(each + 10);
    sum += each;
  }
  for (const SampleMode mode : {SampleMode::Nearest, SampleMode::Linear}) {
    OpRun run(OpKind::UpsampleGradient, UpsampleAttrs{{1, 1}, mode});
    run.input(large, gradient).run();
    EXPECT_NEAR(run.result()[0] / sum, 1, 2e-6);
  }
}

}  // namespace
}  // namespace traingraph::testing
