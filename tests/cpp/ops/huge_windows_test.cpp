// SPDX-License-Identifier: MIT
// Windows and dilation rates far larger than the image: legal with padding, and
// as cheap as the samples they read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "support/run_op.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

constexpr std::int64_t kHuge = (std::int64_t{1} << 31) - 1;
const Shape kImage{1, 2, 4, 4};
const Values kSamples = random_values(32, 1);

/// Every window of the 4 by 4 image is the whole image.
template <class Attrs>
Attrs covering_windows() {
  Attrs attrs;
  attrs.kernel_size = {kHuge, kHuge};
  attrs.strides = {1, 1};
  attrs.padding = {kHuge / 2, kHuge / 2, kHuge / 2, kHuge / 2};
  return attrs;
}

std::vector<float> max_pooled(const Pool2dAttrs& attrs) {
  Program program;
  const ValueId x =
      program.add_value(Role::Input, {kImage, DataType::Float32}, "x");
  const ValueId y = program.append_one(OpKind::MaxPool2d, attrs, {x});
  ProgramRun run(program, {y});
  run.set(x, std::vector<float>(kSamples.begin(), kSamples.end()));
  run.run();
  return run.get(y);
}

TEST(HugeWindow, PoolsTheWholeImage) {
  const double largest[] = {
      *std::max_element(kSamples.begin(), kSamples.begin() + 16),
      *std::max_element(kSamples.begin() + 16, kSamples.end())};
  const std::vector<float> y = max_pooled(covering_windows<Pool2dAttrs>());
  ASSERT_EQ(y.size(), 32u);
  for (int i = 0; i < 32; ++i) EXPECT_FLOAT_EQ(y[i], largest[i / 16]);
}

TEST(HugeWindow, AveragesTheWholeImage) {
  OpRun run(OpKind::AveragePool2d, covering_windows<AveragePool2dAttrs>());
  run.input(kImage, kSamples).run();
  const Values y = run.result();
  for (int i = 0; i < 32; ++i) {
    double sum = 0;
    for (int k = 0; k < 16; ++k) sum += kSamples[i / 16 * 16 + k];
    EXPECT_NEAR(y[i], sum / 16, 1e-6);
  }
}

TEST(HugeWindow, SharesTheGradient) {
  auto attrs = covering_windows<AveragePool2dGradientAttrs>();
  attrs.shape = kImage;
  OpRun run(OpKind::AveragePool2dGradient, attrs);
  run.input(kImage, Values(32, 1)).run();
  const Values dx = run.result();
  for (double value : dx) EXPECT_NEAR(value, 1, 1e-6);
}

TEST(HugeDilation, ReadsTheOneTapInside) {
  Pool2dAttrs attrs{.kernel_size = {3, 3},
                    .strides = {1, 1},
                    .dilation_rates = {kHuge, kHuge}};
  attrs.padding = {kHuge, kHuge, kHuge, kHuge};
  const std::vector<float> y = max_pooled(attrs);
  expect_near({y.begin(), y.end()}, kSamples, 1e-6);
}

/// oneDNN has no code for it.
TEST(HugeDilation, OfAConvolutionReadsOneTapOrIsRefusedByName) {
  Program program;
  const auto input = [&](Shape shape) {
    return program.add_value(Role::Input, {shape, DataType::Float32}, "x");
  };
  const Convolution2dAttrs attrs{.strides = {1, 1},
                                 .dilation_rates = {kHuge, kHuge},
                                 .padding = {kHuge, kHuge, kHuge, kHuge}};
  const ValueId x = input(kImage), weights = input({2, 2, 3, 3});
  const ValueId y =
      program.append_one(OpKind::Convolution2d, attrs, {x, weights}, "stem");
  try {
    ProgramRun run(program, {y});
    const Values filters = random_values(36, 2);
    run.set(x, std::vector<float>(kSamples.begin(), kSamples.end()));
    run.set(weights, std::vector<float>(filters.begin(), filters.end()));
    run.run();
    const std::vector<float> found = run.get(y);
    ASSERT_EQ(found.size(), 32u);
    for (int i = 0; i < 32; ++i) {
      double sum = 0;
      for (int channel = 0; channel < 2; ++channel) {
        const int center = (i / 16 * 2 + channel) * 9 + 4;
        sum += kSamples[channel * 16 + i % 16] * filters[center];
      }
      EXPECT_NEAR(found[i], sum, 1e-5);
    }
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.op(), "convolution_2d");
    EXPECT_EQ(error.node(), "stem");
  }
}

}  // namespace
}  // namespace traingraph::testing
