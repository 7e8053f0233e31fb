// SPDX-License-Identifier: MIT
// Reductions, normalization, matrix products and losses of the emulator.
#include "ops_support.h"

#include <cmath>
#include <limits>

namespace {

bool all_nan(const Values& values) {
  for (double value : values) {
    if (!std::isnan(value)) return false;
  }
  return true;
}

TEST_F(OpsTest, ReductionsKeepAxes) {
  MPSGraphTensor* x = feed({2, 3}, {1, 5, 3, -4, 2, 6});
  MPSGraphTensor* sum = [graph reductionSumWithTensor:x axis:-1 name:nil];
  EXPECT_EQ(shape(sum), (Lengths{2, 1}));
  EXPECT_EQ(run(sum), (Values{9, 4}));
  EXPECT_EQ(run([graph reductionSumWithTensor:x axes:@[ @0 ] name:nil]),
            (Values{-3, 7, 9}));
  MPSGraphTensor* all = [graph reductionSumWithTensor:x axes:nil name:nil];
  EXPECT_EQ(shape(all), (Lengths{1, 1}));
  EXPECT_EQ(run(all), Values{13});
  EXPECT_EQ(run([graph reductionMaximumWithTensor:x axis:1 name:nil]),
            (Values{5, 6}));
  EXPECT_EQ(run([graph reductionMinimumWithTensor:x axes:@[ @1, @0 ] name:nil]),
            Values{-4});
  EXPECT_EQ(run([graph reductionProductWithTensor:x axis:0 name:nil]),
            (Values{-4, 10, 18}));
  MPSGraphTensor* best = [graph reductionArgMaximumWithTensor:x
                                                         axis:1
                                                         name:nil];
  EXPECT_EQ([best dataType], MPSDataTypeInt32);
  EXPECT_EQ(run(best), (Values{1, 2}));
  EXPECT_EQ(run([graph reductionArgMinimumWithTensor:x axis:0 name:nil]),
            (Values{1, 1, 0}));
}

TEST_F(OpsTest, ReductionsOfNaN) {
  MPSGraphTensor* x = feed({1, std::numeric_limits<double>::quiet_NaN(), 3});
  EXPECT_EQ(run([graph reductionMaximumWithTensor:x axis:0 name:nil]),
            Values{3});
  EXPECT_TRUE(all_nan(run([graph reductionMaximumPropagateNaNWithTensor:x
                                                                   axis:0
                                                                   name:nil])));
  EXPECT_TRUE(all_nan(run([graph reductionMinimumPropagateNaNWithTensor:x
                                                                   axis:0
                                                                   name:nil])));
}

TEST_F(OpsTest, LogicalReductions) {
  MPSGraphTensor* x = feed({2, 2}, {1, 0, 1, 1}, MPSDataTypeBool);
  EXPECT_EQ(run([graph reductionAndWithTensor:x axis:1 name:nil]),
            (Values{0, 1}));
  EXPECT_EQ(run([graph reductionOrWithTensor:x axis:1 name:nil]),
            (Values{1, 1}));
}

TEST_F(OpsTest, OnlyTheLastFourAxesReduce) {
  MPSGraphTensor* x = feed({2, 1, 1, 1, 2}, {1, 2, 3, 4});
  EXPECT_EQ(run([graph reductionSumWithTensor:x axis:4 name:nil]),
            (Values{3, 7}));
  EXPECT_TRUE(all_nan(run([graph reductionSumWithTensor:x axis:0 name:nil])));
  EXPECT_TRUE(all_nan(run([graph reductionSumWithTensor:x axes:nil name:nil])));
  EXPECT_TRUE(all_nan(run([graph meanOfTensor:x axes:@[ @0 ] name:nil])));
  EXPECT_TRUE(all_nan(run([graph varianceOfTensor:x axes:@[ @0 ] name:nil])));
  EXPECT_TRUE(all_nan(run([graph softMaxWithTensor:x axis:0 name:nil])));
  EXPECT_EQ(run([graph reductionArgMaximumWithTensor:x axis:0 name:nil]),
            (Values{-1, -1}));
}

TEST_F(OpsTest, Normalization) {
  MPSGraphTensor* x = feed({2, 2}, {1, 3, 2, 8});
  MPSGraphTensor* mean = [graph meanOfTensor:x axes:@[ @1 ] name:nil];
  MPSGraphTensor* variance = [graph varianceOfTensor:x axes:@[ @1 ] name:nil];
  EXPECT_EQ(run(mean), (Values{2, 5}));
  EXPECT_EQ(run(variance), (Values{1, 9}));
  EXPECT_EQ(run([graph varianceOfTensor:x
                             meanTensor:feed({1})
                                   axes:@[ @1 ]
                                   name:nil]),
            (Values{2, 25}));
  MPSGraphTensor* y = [graph normalizationWithTensor:x
                                          meanTensor:mean
                                      varianceTensor:variance
                                         gammaTensor:feed({2, 3})
                                          betaTensor:feed({10})
                                             epsilon:0
                                                name:nil];
  expect_near(run(y), {8, 13, 8, 13});
  MPSGraphTensor* plain = [graph normalizationWithTensor:x
                                              meanTensor:mean
                                          varianceTensor:variance
                                             gammaTensor:nil
                                              betaTensor:feed({10})
                                                 epsilon:3
                                                    name:nil];
  expect_near(run(plain),
              {9.5, 10.5, 10 - 3 / std::sqrt(12.0), 10 + 3 / std::sqrt(12.0)});
}

TEST_F(OpsTest, MatrixProductBroadcastsBatches) {
  MPSGraphTensor* a = feed({2, 1, 2}, {1, 2, 3, 4});
  MPSGraphTensor* b = feed({2, 2}, {1, 10, 100, 1000});
  MPSGraphTensor* y = [graph matrixMultiplicationWithPrimaryTensor:a
                                                   secondaryTensor:b
                                                              name:nil];
  EXPECT_EQ(shape(y), (Lengths{2, 1, 2}));
  EXPECT_EQ(run(y), (Values{201, 2010, 403, 4030}));
}

TEST_F(OpsTest, LongAndManyMatricesAreWrong) {
  const std::int64_t length = 32768;
  MPSGraphTensor* row = feed({1, length}, Values(length, 1));
  MPSGraphTensor* column = feed({length, 1}, Values(length, 1));
  EXPECT_EQ(run([graph matrixMultiplicationWithPrimaryTensor:row
                                             secondaryTensor:column
                                                        name:nil]),
            Values{32767});
  const std::int64_t batch = 32769;
  MPSGraphTensor* many = feed({batch, 1, 1}, Values(batch, 2));
  const Values products =
      run([graph matrixMultiplicationWithPrimaryTensor:many
                                       secondaryTensor:feed({1, 1}, {3})
                                                  name:nil]);
  EXPECT_EQ(products[32767], 6);
  EXPECT_EQ(products[32768], 0);
}

TEST_F(OpsTest, CrossEntropy) {
  const Values logits = scattered(6, 3);
  MPSGraphTensor* x = feed({2, 3}, logits);
  MPSGraphTensor* labels = feed({2, 3}, {0, 1, 0, 0.25, 0.25, 0.5});
  Values expected;
  for (int line = 0; line < 2; ++line) {
    const double* z = logits.data() + 3 * line;
    const double total = std::exp(z[0]) + std::exp(z[1]) + std::exp(z[2]);
    const double dot =
        line == 0 ? z[1] : 0.25 * z[0] + 0.25 * z[1] + 0.5 * z[2];
    expected.push_back(std::log(total) - dot);
  }
  const double sum = expected[0] + expected[1];
  const std::pair<MPSGraphLossReductionType, Values> cases[] = {
      {MPSGraphLossReductionTypeNone, expected},
      {MPSGraphLossReductionTypeSum, {sum}},
      {MPSGraphLossReductionTypeMean, {sum / 2}},
  };
  for (const auto& [reduction, values] : cases) {
    MPSGraphTensor* loss = [graph softMaxCrossEntropyWithSourceTensor:x
                                                         labelsTensor:labels
                                                                 axis:1
                                                        reductionType:reduction
                                                                 name:nil];
    expect_near(run(loss), values);
    const bool is_sum = values.size() == 1;
    MPSGraphTensor* g = is_sum ? feed({2}) : feed({2, 1}, {2, -1});
    MPSGraphTensor* gradient =
        [graph softMaxCrossEntropyGradientWithIncomingGradientTensor:g
                                                        sourceTensor:x
                                                        labelsTensor:labels
                                                                axis:1
                                                       reductionType:reduction
                                                                name:nil];
    expect_gradient(gradient, x, loss, g);
  }
}

TEST_F(OpsTest, ReductionRefusals) {
  MPSGraphTensor* x = feed({2, 2}, {1, 2, 3, 4});
  MPSGraphTensor* boolean = feed({2}, {1, 0}, MPSDataTypeBool);
  const auto product = [&](const Lengths& a, const Lengths& b) {
    const auto ones = [&](const Lengths& dims) {
      std::int64_t count = 1;
      for (std::int64_t length : dims) count *= length;
      return feed(dims, Values(count, 1));
    };
    MPSGraphTensor* first = ones(a);
    MPSGraphTensor* second = ones(b);
    return refusal([&] {
      [graph matrixMultiplicationWithPrimaryTensor:first
                                   secondaryTensor:second
                                              name:nil];
    });
  };
  EXPECT_EQ(product({1, 2}, {2, 1}), "");
  EXPECT_NE(product({1, 2}, {3, 1}), "");
  EXPECT_NE(product({2}, {2, 1}), "");
  EXPECT_NE(product({2, 1, 2}, {3, 2, 1}), "");
  EXPECT_NE(product({1, 1, 1, 1, 1}, {1, 1}), "");
  EXPECT_NE(refusal([&] { [graph reductionSumWithTensor:x axis:2 name:nil]; }),
            "");
  EXPECT_NE(refusal([&] {
              [graph reductionSumWithTensor:x axes:@[ @0, @-2 ] name:nil];
            }),
            "");
  EXPECT_NE(
      refusal([&] { [graph reductionSumWithTensor:boolean axis:0 name:nil]; }),
      "");
  EXPECT_NE(refusal([&] { [graph reductionAndWithTensor:x axis:0 name:nil]; }),
            "");
  EXPECT_NE(refusal([&] {
              [graph normalizationWithTensor:x
                                  meanTensor:feed({1, 2, 3})
                              varianceTensor:feed({1})
                                 gammaTensor:nil
                                  betaTensor:nil
                                     epsilon:0
                                        name:nil];
            }),
            "");
}

}  // namespace
