// SPDX-License-Identifier: MIT
// Gathers, scatters, one-hot vectors, random numbers and optimizers of the
// emulator.
#include "ops_support.h"

#include <cmath>

namespace {

class IndexingTest : public OpsTest {
 protected:
  MPSGraphTensor* indices(const Lengths& lengths, const Values& values) {
    return feed(lengths, values, MPSDataTypeInt32);
  }
};

TEST_F(IndexingTest, Gather) {
  MPSGraphTensor* table = feed({3, 2}, {0, 1, 10, 11, 20, 21});
  MPSGraphTensor* y = [graph gatherWithUpdatesTensor:table
                                       indicesTensor:indices({2, 1}, {2, 0})
                                                axis:0
                                     batchDimensions:0
                                                name:nil];
  EXPECT_EQ(shape(y), (Lengths{2, 1, 2}));
  EXPECT_EQ(run(y), (Values{20, 21, 0, 1}));
  EXPECT_EQ(run([graph gatherWithUpdatesTensor:table
                                 indicesTensor:indices({3, 1}, {1, 0, 1})
                                          axis:1
                               batchDimensions:1
                                          name:nil]),
            (Values{1, 10, 21}));
  EXPECT_EQ(run([graph gatherNDWithUpdatesTensor:table
                                   indicesTensor:indices({2, 2}, {2, 1, 0, 0})
                                 batchDimensions:0
                                            name:nil]),
            (Values{21, 0}));
  const Values outside = run([graph gatherWithUpdatesTensor:table
                                              indicesTensor:indices({1}, {3})
                                                       axis:0
                                            batchDimensions:0
                                                       name:nil]);
  EXPECT_TRUE(std::isnan(outside[0]));
}

TEST_F(IndexingTest, GatherAlongAxisReadsZeroOutside) {
  MPSGraphTensor* x = feed({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run([graph gatherAlongAxis:-1
                     withUpdatesTensor:x
                         indicesTensor:indices({2, 2}, {2, 0, 3, 1})
                                  name:nil]),
            (Values{3, 1, 0, 5}));
}

TEST_F(IndexingTest, ScatterNDAddsCollisions) {
  MPSGraphTensor* rows = indices({3, 1}, {1, 0, 1});
  MPSGraphTensor* updates = feed({3, 2}, {1, 2, 3, 4, 5, 6});
  const auto scattered_to = [&](MPSGraphScatterMode mode) {
    return run([graph scatterNDWithUpdatesTensor:updates
                                   indicesTensor:rows
                                           shape:@[ @3, @2 ]
                                 batchDimensions:0
                                            mode:mode
                                            name:nil]);
  };
  EXPECT_EQ(scattered_to(MPSGraphScatterModeAdd), (Values{3, 4, 6, 8, 0, 0}));
  EXPECT_EQ(scattered_to(MPSGraphScatterModeMax), (Values{3, 4, 5, 6, 0, 0}));
  EXPECT_EQ(scattered_to(MPSGraphScatterModeMul), (Values{3, 4, 5, 12, 0, 0}));
  EXPECT_EQ(scattered_to(MPSGraphScatterModeSub),
            (Values{-3, -4, -6, -8, 0, 0}));
}

TEST_F(IndexingTest, ScatterAlongAxis) {
  MPSGraphTensor* data = feed({4, 3}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3});
  MPSGraphTensor* updates = feed({2, 3}, {1, 2, 3, 4, 5, 6});
  MPSGraphTensor* at = indices({2, 3}, {2, 1, 0, 1, 3, 2});
  EXPECT_EQ(run([graph scatterAlongAxis:0
                         withDataTensor:data
                          updatesTensor:updates
                          indicesTensor:at
                                   mode:MPSGraphScatterModeAdd
                                   name:nil]),
            (Values{0, 0, 3, 5, 3, 1, 3, 2, 8, 3, 8, 3}));
  EXPECT_EQ(run([graph scatterAlongAxis:0
                      withUpdatesTensor:updates
                          indicesTensor:indices({2, 3}, {0, 0, 0, 0, 9, -1})
                                  shape:@[ @1, @3 ]
                                   mode:MPSGraphScatterModeAdd
                                   name:nil]),
            (Values{5, 2, 3}));
}

TEST_F(IndexingTest, OneHot) {
  MPSGraphTensor* at = indices({2}, {1, 5});
  MPSGraphTensor* y = [graph oneHotWithIndicesTensor:at depth:3 name:nil];
  EXPECT_EQ(shape(y), (Lengths{2, 3}));
  EXPECT_EQ(run(y), (Values{0, 1, 0, 0, 0, 0}));
  MPSGraphTensor* columns = [graph oneHotWithIndicesTensor:at
                                                     depth:2
                                                      axis:0
                                                  dataType:MPSDataTypeInt32
                                                   onValue:7
                                                  offValue:-1
                                                      name:nil];
  EXPECT_EQ(run(columns), (Values{-1, -1, 7, -1}));
}

// The known answer of Philox4x32-10 for a counter and a key of zeros.
TEST_F(IndexingTest, PhiloxKnownAnswer) {
  MPSGraphTensor* state = [graph randomPhiloxStateTensorWithCounterLow:0
                                                           counterHigh:0
                                                                   key:0
                                                                  name:nil];
  MPSGraphRandomOpDescriptor* d = [MPSGraphRandomOpDescriptor
      descriptorWithDistribution:MPSGraphRandomDistributionUniform
                        dataType:MPSDataTypeFloat32];
  NSArray* drawn = [graph randomTensorWithShape:@[ @4 ]
                                     descriptor:d
                                    stateTensor:state
                                           name:nil];
  const std::vector<Values> results = run_all(drawn);
  const std::uint32_t words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                 0x9b00dbd8};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(results[0][i], (words[i] >> 8) * 0x1p-24);
  }
  EXPECT_EQ(results[1], (Values{1, 1, 0, 0, 0, 0, 0}));
}

TEST_F(IndexingTest, RandomStatesGoOn) {
  MPSGraphTensor* state = [graph randomPhiloxStateTensorWithSeed:42 name:nil];
  NSArray* first = [graph randomUniformTensorWithShape:@[ @4 ]
                                           stateTensor:state
                                                  name:nil];
  NSArray* second = [graph randomUniformTensorWithShape:@[ @4 ]
                                            stateTensor:[first objectAtIndex:1]
                                                   name:nil];
  NSArray* both = [graph randomUniformTensorWithShape:@[ @8 ]
                                          stateTensor:state
                                                 name:nil];
  Values joined = run([first objectAtIndex:0]);
  const Values rest = run([second objectAtIndex:0]);
  joined.insert(joined.end(), rest.begin(), rest.end());
  EXPECT_EQ(joined, run([both objectAtIndex:0]));
}

TEST_F(IndexingTest, RandomDistributions) {
  const auto drawn = [&](MPSGraphRandomOpDescriptor* d, NSArray* to) {
    return run([graph randomTensorWithShape:to descriptor:d seed:7 name:nil]);
  };
  const auto moments = [](const Values& x) {
    double mean = 0, square = 0;
    for (double value : x) mean += value / x.size();
    for (double value : x) {
      square += (value - mean) * (value - mean) / x.size();
    }
    return std::pair(mean, square);
  };
  MPSGraphRandomOpDescriptor* normal = [MPSGraphRandomOpDescriptor
      descriptorWithDistribution:MPSGraphRandomDistributionNormal
                        dataType:MPSDataTypeFloat32];
  [normal setMean:3];
  [normal setStandardDeviation:2];
  const auto [mean, variance] = moments(drawn(normal, @[ @10000 ]));
  EXPECT_NEAR(mean, 3, 0.1);
  EXPECT_NEAR(variance, 4, 0.2);
  MPSGraphRandomOpDescriptor* truncated = [MPSGraphRandomOpDescriptor
      descriptorWithDistribution:MPSGraphRandomDistributionTruncatedNormal
                        dataType:MPSDataTypeFloat32];
  for (double value : drawn(truncated, @[ @1000 ])) {
    EXPECT_LE(std::abs(value), 2);
  }
  MPSGraphRandomOpDescriptor* integers = [MPSGraphRandomOpDescriptor
      descriptorWithDistribution:MPSGraphRandomDistributionUniform
                        dataType:MPSDataTypeInt32];
  [integers setMinInteger:-1];
  [integers setMaxInteger:1];
  double sum_of_squares = 0;
  for (double value : drawn(integers, @[ @3000 ])) {
    EXPECT_LE(std::abs(value), 1);
    sum_of_squares += value * value;
  }
  EXPECT_NEAR(sum_of_squares, 2000, 150);
  EXPECT_TRUE(std::isnan(drawn(normal, @[ @1, @1, @1, @1, @2 ])[0]));
}

TEST_F(IndexingTest, Optimizers) {
  MPSGraphTensor* x = feed({2}, {1, 2});
  MPSGraphTensor* g = feed({2}, {10, -10});
  EXPECT_EQ(
      run([graph stochasticGradientDescentWithLearningRateTensor:feed({0.5})
                                                    valuesTensor:x
                                                  gradientTensor:g
                                                            name:nil]),
      (Values{-4, 7}));
  const std::vector<Values> adam =
      run_all([graph adamWithLearningRateTensor:feed({0.1})
                                    beta1Tensor:feed({0.5})
                                    beta2Tensor:feed({0.75})
                                  epsilonTensor:feed({1})
                               beta1PowerTensor:feed({0.5})
                               beta2PowerTensor:feed({0.75})
                                   valuesTensor:x
                                 momentumTensor:feed({2}, {2, 0})
                                 velocityTensor:feed({2}, {0, 0})
                          maximumVelocityTensor:feed({2}, {100, 0})
                                 gradientTensor:g
                                           name:nil]);
  const double rate = 0.1 * std::sqrt(0.25) / 0.5;
  expect_near(adam[0], {1 - rate * 6 / 11, 2 + rate * 5 / 6});
  EXPECT_EQ(adam[1], (Values{6, -5}));
  EXPECT_EQ(adam[2], (Values{25, 25}));
  EXPECT_EQ(adam[3], (Values{100, 25}));
}

TEST_F(IndexingTest, Refusals) {
  MPSGraphTensor* x = feed({2, 3}, scattered(6));
  const auto gather = [&](MPSGraphTensor* at, NSUInteger axis,
                          NSUInteger batch) {
    return refusal([&] {
      [graph gatherWithUpdatesTensor:x
                       indicesTensor:at
                                axis:axis
                     batchDimensions:batch
                                name:nil];
    });
  };
  EXPECT_EQ(gather(indices({1}, {0}), 1, 0), "");
  EXPECT_NE(gather(feed({0}), 1, 0), "");
  EXPECT_NE(gather(indices({1}, {0}), 2, 0), "");
  EXPECT_NE(gather(indices({1}, {0}), 0, 1), "");
  EXPECT_NE(gather(indices({1}, {0}), 1, 1), "");
  EXPECT_NE(refusal([&] {
              [graph gatherAlongAxis:1
                   withUpdatesTensor:x
                       indicesTensor:indices({1, 3}, {0, 0, 0})
                                name:nil];
            }),
            "");
  EXPECT_NE(refusal([&] {
              [graph scatterNDWithUpdatesTensor:x
                                  indicesTensor:indices({2, 1}, {0, 1})
                                          shape:@[ @4, @2 ]
                                batchDimensions:0
                                           mode:MPSGraphScatterModeAdd
                                           name:nil];
            }),
            "");
  EXPECT_NE(refusal([&] {
              [graph randomUniformTensorWithShape:@[ @2 ]
                                      stateTensor:indices({2}, {0, 0})
                                             name:nil];
            }),
            "");
  EXPECT_NE(
      refusal([&] { [graph oneHotWithIndicesTensor:x depth:3 name:nil]; }), "");
  EXPECT_NE(refusal([&] {
              [graph stochasticGradientDescentWithLearningRateTensor:x
                                                        valuesTensor:x
                                                      gradientTensor:x
                                                                name:nil];
            }),
            "");
}

}  // namespace
