// SPDX-License-Identifier: MIT
// Max pooling of numbers that are not finite and of ties, plain and in the
// blocked layout that a convolution left.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpu/kernel_case.h"

namespace traingraph::testing {
namespace {

// Behind a convolution the image has blocked channels, 5 of them padded.
class MaxPoolOf : public ::testing::TestWithParam<float> {};

TEST_P(MaxPoolOf, NumbersThatAreNotFinite) {
  for (const std::int64_t channels : {5, 16}) {
    for (const bool has_state : {false, true}) {
      Case test;
      const Shape shape{2, channels, 6, 5};
      const ValueId image = test.input(shape);
      const ValueId weights = test.input({channels, channels, 1, 1});
      Floats& pixels = test.data[0].second;
      std::fill(pixels.begin() + 30, pixels.begin() + 50, -INFINITY);
      for (std::size_t i = 0; i < pixels.size(); i += 37) {
        pixels[i] = GetParam();
      }
      Program& program = test.program;
      const ValueId x = program.append_one(
          OpKind::Convolution2d, Convolution2dAttrs{}, {image, weights});
      const Pool2dAttrs attrs{{3, 2}, {2, 1}, {1, 1}, {1, 1, 0, 1}};
      std::vector<ValueId> kept{x, image};
      for (const ValueId source : {x, image}) {
        const auto y = program.append(OpKind::MaxPool2d, attrs, {source});
        kept.push_back(y[0]);
        if (!has_state) continue;
        const ValueId g = test.input(program.shape(y[0]));
        kept.push_back(program.append_one(OpKind::MaxPool2dGradient, attrs,
                                          {g, source, y[1]}));
      }
      const ProgramRun run = test.run(kept);
      for (int i : {0, 1}) {
        const Floats from = i == 0 ? run.get(x) : test.values(0);
        const Floats got = run.get(kept[2 + i * (has_state ? 2 : 1)]);
        ASSERT_EQ(got.size(), 2 * channels * 3 * 5u);
        for (std::int64_t at = 0; at < std::int64_t(got.size()); ++at) {
          const std::int64_t plane = at / 15, row = at / 5 % 3, column = at % 5;
          float want = -std::numeric_limits<float>::infinity();
          for (std::int64_t h = row * 2 - 1; h < row * 2 + 2; ++h) {
            for (std::int64_t w = column; w < column + 2; ++w) {
              if (h < 0 || h > 5 || w > 4) continue;
              const float sample = from[plane * 30 + h * 5 + w];
              if (!(sample <= want) && !std::isnan(want)) want = sample;
            }
          }
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got[at]) : got[at] == want)
              << "element " << at << ": expected " << want << ", got "
              << got[at];
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Values, MaxPoolOf,
                         ::testing::Values(NAN, INFINITY, -INFINITY));

TEST(MaxPoolKernel, TieGoesToTheFirstInTheWindow) {
  for (const std::int64_t channels : {1, 16}) {
    Case test;
    const ValueId x = test.input({1, channels, 2, 2});
    const ValueId g = test.input({1, channels, 1, 1});
    std::fill(test.data[0].second.begin(), test.data[0].second.end(), 1.0f);
    const Pool2dAttrs attrs{{2, 2}};
    const auto max = test.program.append(OpKind::MaxPool2d, attrs, {x});
    const ValueId dx = test.program.append_one(OpKind::MaxPool2dGradient, attrs,
                                               {g, x, max[1]});
    const Floats got = test.run({dx}).get(dx);
    for (std::int64_t c = 0; c < channels; ++c) {
      EXPECT_EQ(got[4 * c], test.values(1)[c]);
      EXPECT_EQ(got[4 * c + 1], 0);
      EXPECT_EQ(got[4 * c + 3], 0);
    }
  }
}

}  // namespace
}  // namespace traingraph::testing
