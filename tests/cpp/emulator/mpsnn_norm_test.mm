// SPDX-License-Identifier: MIT
// Batch, instance and group normalization as nodes: against the formulas,
// gradients against differences of the forward, statistics and updates.
#include <cmath>

#include "emulator/control.h"
#import "mpsnn/states.h"
#import "mpsnn_norm_support.h"

namespace {

enum class Kind { Batch, Instance, Group };

constexpr Size kSize{4, 2, 3};
constexpr float kEpsilon = 1e-3f;

class MpsnnNormTest : public MpsnnTest {
 protected:
  TestNormalization* source(Class kind = [TestNormalization class]) {
    TestNormalization* made = [[kind new] autorelease];
    made->_gamma = new std::vector<float>(random(4, 0.5, 1.5));
    made->_beta = new std::vector<float>(random(4));
    made->_mean = new std::vector<float>(random(4));
    made->_variance = new std::vector<float>(random(4, 0.5, 1.5));
    made->_epsilon = kEpsilon;
    made->_numberOfGroups = 2;
    return made;
  }

  MPSNNFilterNode* node(Kind kind, TestNormalization* weights) {
    switch (kind) {
      case Kind::Batch:
        return [MPSCNNBatchNormalizationNode nodeWithSource:input(@"x")
                                                 dataSource:weights];
      case Kind::Instance:
        return [MPSCNNInstanceNormalizationNode nodeWithSource:input(@"x")
                                                    dataSource:weights];
      case Kind::Group:
        break;
    }
    return [MPSCNNGroupNormalizationNode nodeWithSource:input(@"x")
                                             dataSource:weights];
  }

  /// The formula, from statistics of the elements that belong together.
  std::vector<std::vector<float>> normalized(
      Kind kind, const TestNormalization* weights,
      const std::vector<std::vector<float>>& x) {
    const int plane = kSize.height * kSize.width;
    auto together = [&](int n, int c, int other_n, int other_c) {
      if (kind == Kind::Batch) return c == other_c;
      if (n != other_n) return false;
      return kind == Kind::Instance ? c == other_c : c / 2 == other_c / 2;
    };
    auto y = x;
    for (int n = 0; n < int(x.size()); ++n) {
      for (int c = 0; c < kSize.channels; ++c) {
        double sum = 0, squares = 0, count = 0;
        for (int m = 0; m < int(x.size()); ++m) {
          for (int i = 0; i < kSize.count(); ++i) {
            if (!together(n, c, m, i / plane)) continue;
            sum += x[m][i];
            squares += double(x[m][i]) * x[m][i];
            ++count;
          }
        }
        const double mean = sum / count;
        const double scale =
            1 / std::sqrt(squares / count - mean * mean + kEpsilon);
        for (int i = c * plane; i < (c + 1) * plane; ++i) {
          y[n][i] = (x[n][i] - mean) * scale * (*weights->_gamma)[c] +
                    (*weights->_beta)[c];
        }
      }
    }
    return y;
  }

  /// Forward and gradient in one graph; the state, too.
  struct Results {
    std::vector<std::vector<float>> y, dx;
    NSArray* states;
  };
  Results train(MPSNNFilterNode* made, const std::vector<std::vector<float>>& x,
                const std::vector<std::vector<float>>& g) {
    [[made resultState] setExportFromGraph:YES];
    [[made resultImage] setExportFromGraph:YES];
    [[made resultImage] setImageAllocator:[MPSImage defaultAllocator]];
    MPSNNFilterNode* gradient = [made gradientFilterWithSource:input(@"g")];
    NSMutableArray* images = [NSMutableArray array];
    NSMutableArray* states = [NSMutableArray array];
    const auto dx = values(run(graph([gradient resultImage]),
                               {{"x", batch(kSize, x)}, {"g", batch(kSize, g)}},
                               images, states));
    return {values((MPSImageBatch*)[images objectAtIndex:0]), dx,
            [states objectAtIndex:0]};
  }
};

void expect_near(const std::vector<std::vector<float>>& got,
                 const std::vector<std::vector<float>>& wanted) {
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    for (std::size_t i = 0; i < wanted[n].size(); ++i) {
      EXPECT_NEAR(got[n][i], wanted[n][i], 2e-5) << n << " " << i;
    }
  }
}

TEST_F(MpsnnNormTest, TrainsByTheFormulas) {
  constexpr float kStep = 1e-2f;
  for (Kind kind : {Kind::Batch, Kind::Instance, Kind::Group}) {
    TestNormalization* weights = source();
    auto x = random_batch(3, kSize);
    const auto g = random_batch(3, kSize);
    const Results got = train(node(kind, weights), x, g);
    expect_near(got.y, normalized(kind, weights, x));
    auto difference = [&](float& value) {
      const float kept = value;
      value = kept + kStep;
      const double above = dot(normalized(kind, weights, x), g);
      value = kept - kStep;
      const double below = dot(normalized(kind, weights, x), g);
      value = kept;
      return (above - below) / (2 * kStep);
    };
    for (int k = 0; k < 6; ++k) {
      const std::size_t i = random_() % x[1].size();
      EXPECT_NEAR(got.dx[1][i], difference(x[1][i]), 5e-3);
    }
    // Batch normalization has one state, the others one part per image.
    const NSUInteger parts = [[NSSet setWithArray:got.states] count];
    EXPECT_EQ([got.states count], 3u);
    EXPECT_EQ(parts, kind == Kind::Batch ? 1u : 3u);
    for (int c = 0; c < 4; ++c) {
      double gamma = 0, beta = 0;
      for (id state in [NSSet setWithArray:got.states]) {
        gamma +=
            floats([(MPSCNNBatchNormalizationState*)state gradientForGamma])[c];
        beta +=
            floats([(MPSCNNBatchNormalizationState*)state gradientForBeta])[c];
      }
      EXPECT_NEAR(gamma, difference((*weights->_gamma)[c]), 5e-3);
      EXPECT_NEAR(beta, difference((*weights->_beta)[c]), 5e-3);
    }
    EXPECT_EQ(weights->_loadCount, weights->_purgeCount);
  }
}

TEST_F(MpsnnNormTest, StatisticsAreOfTheBatchWhenAGradientReadsThem) {
  TestNormalization* weights = source();
  const auto x = random_batch(2, kSize);
  auto* made = (MPSCNNBatchNormalizationNode*)node(Kind::Batch, weights);
  auto forward = [&] {
    return values(run(graph([made resultImage]), {{"x", batch(kSize, x)}}));
  };
  auto by_source = x;
  for (auto& image : by_source) {
    for (int i = 0; i < kSize.count(); ++i) {
      const int c = i / (kSize.height * kSize.width);
      image[i] = (image[i] - (*weights->_mean)[c]) /
                     std::sqrt((*weights->_variance)[c] + kEpsilon) *
                     (*weights->_gamma)[c] +
                 (*weights->_beta)[c];
    }
  }
  expect_near(forward(), by_source);
  [made setFlags:MPSCNNBatchNormalizationFlagsCalculateStatisticsAlways];
  expect_near(forward(), normalized(Kind::Batch, weights, x));
  // Asked for, but not by a filter of the graph.
  [made setFlags:MPSCNNBatchNormalizationFlagsCalculateStatisticsAutomatic];
  [[made resultState] setExportFromGraph:YES];
  expect_near(forward(), by_source);
  [made setFlags:MPSCNNBatchNormalizationFlagsCalculateStatisticsNever];
  const auto g = random_batch(2, kSize);
  const Results got = train(made, x, g);
  expect_near(got.y, by_source);
  auto scaled = g;
  for (auto& image : scaled) {
    for (int i = 0; i < kSize.count(); ++i) {
      const int c = i / (kSize.height * kSize.width);
      image[i] *= (*weights->_gamma)[c] /
                  std::sqrt((*weights->_variance)[c] + kEpsilon);
    }
  }
  expect_near(got.dx, scaled);
}

TEST_F(MpsnnNormTest, EpsilonIsTinyUnlessGiven) {
  // A source without the method.
  MPSNNFilterNode* made = [MPSCNNInstanceNormalizationNode
      nodeWithSource:input(@"x")
          dataSource:[[TestPlainNormalization new] autorelease]];
  const Size size{1, 1, 2};
  const auto y = values(
      run(graph([made resultImage]), {{"x", batch(size, {{1e-6f, 3e-6f}})}}));
  EXPECT_NEAR(y[0][0], -1, 1e-5);
  EXPECT_NEAR(y[0][1], 1, 1e-5);
}

TEST_F(MpsnnNormTest, DeviceUpdatesAreUsedByTheNextRun) {
  for (Kind kind : {Kind::Batch, Kind::Instance, Kind::Group}) {
    auto* weights = (TestGpuNormalization*)source([TestGpuNormalization class]);
    MPSNNFilterNode* made = node(kind, weights);
    MPSNNFilterNode* gradient = [made gradientFilterWithSource:input(@"g")];
    [[made resultImage] setExportFromGraph:YES];
    [[made resultImage] setImageAllocator:[MPSImage defaultAllocator]];
    MPSNNGraph* training = [MPSNNGraph graphWithDevice:device_
                                           resultImage:[gradient resultImage]
                                   resultImageIsNeeded:NO];
    [training setFormat:MPSImageFeatureChannelFormatFloat32];
    const auto x = random_batch(2, kSize), g = random_batch(2, kSize);
    std::vector<std::vector<float>> last;
    for (int i = 0; i < 2; ++i) {
      NSMutableArray* images = [NSMutableArray array];
      run(training, {{"x", batch(kSize, x)}, {"g", batch(kSize, g)}}, images);
      last = values((MPSImageBatch*)[images objectAtIndex:0]);
    }
    EXPECT_EQ(weights->_updateCount, kind == Kind::Batch ? 4 : 2);
    // gamma became 2, beta 3.
    weights->_gamma->assign(4, 2);
    weights->_beta->assign(4, 3);
    expect_near(last, normalized(kind, weights, x));
  }
}

TEST_F(MpsnnNormTest, HostUpdatesHappenAfterTheCommandBuffer) {
  auto* weights = (TestCpuNormalization*)source([TestCpuNormalization class]);
  auto* made = (MPSCNNBatchNormalizationNode*)node(Kind::Batch, weights);
  [made setTrainingStyle:MPSNNTrainingStyleUpdateDeviceCPU];
  const auto x = random_batch(2, kSize), g = random_batch(2, kSize);
  train(made, x, g);
  EXPECT_EQ(weights->_updateCount, 2);
  double sum = 0;
  for (const auto& image : x) {
    for (int i = 0; i < 6; ++i) sum += image[i];
  }
  EXPECT_NEAR((*weights->_mean)[0], sum / 12, 1e-6);
  double beta = 0;
  for (const auto& image : g) {
    for (int i = 0; i < 6; ++i) beta += image[i];
  }
  EXPECT_NEAR((*weights->_beta)[0], beta, 1e-5);
  EXPECT_EQ(weights->_loadCount, weights->_purgeCount);
}

TEST_F(MpsnnNormTest, MisuseRaises) {
  EXPECT_NE(raised(^{
              [MPSCNNBatchNormalizationNode nodeWithSource:input(@"x")
                                                dataSource:(id) @"none"];
            }),
            "");
  MPSNNFilterNode* batch_node = node(Kind::Batch, source());
  MPSNNFilterNode* group_node = node(Kind::Group, source());
  EXPECT_NE(raised(^{
              [MPSCNNGroupNormalizationGradientNode
                  nodeWithSourceGradient:input(@"g")
                             sourceImage:input(@"x")
                           gradientState:(MPSNNGradientStateNode*)
                                             [batch_node resultState]];
            }),
            "");
  TestNormalization* odd = source();
  odd->_numberOfGroups = 3;
  EXPECT_NE(raised(^{
              graph([node(Kind::Group, odd) resultImage]);
            }),
            "");
  MPSNNGraph* made = graph([group_node resultImage]);
  const Size wrong{3, 2, 2};
  EXPECT_NE(raised(^{
              run(made, {{"x", batch(wrong, random_batch(1, wrong))}});
            }),
            "");
  TestNormalization* unloaded = source();
  unloaded->_refusesToLoad = YES;
  EXPECT_EQ(graph([node(Kind::Batch, unloaded) resultImage]), nil);
}

TEST_F(MpsnnNormTest, UpdatesMustLowerTheReadCount) {
  auto* weights = (TestGpuNormalization*)source([TestGpuNormalization class]);
  weights->_keepsReadCount = YES;
  MPSNNFilterNode* gradient =
      [node(Kind::Batch, weights) gradientFilterWithSource:input(@"g")];
  MPSNNGraph* training = graph([gradient resultImage]);
  const auto x = random_batch(1, kSize);
  EXPECT_NE(raised(^{
              run(training, {{"x", batch(kSize, x)}, {"g", batch(kSize, x)}});
            }),
            "");
}

}  // namespace
