// SPDX-License-Identifier: MIT
// Normalization across channels, across pixels and of local contrast, with
// odd and even windows, and their gradients.
#include <cmath>

#import "mpsnn_filter_support.h"

namespace {

/// Elements around (c, y, x): size / 2 before, (size - 1) / 2 after.
std::vector<double> around(const Tensor& t, std::int64_t c, std::int64_t y,
                           std::int64_t x, const Extent& size) {
  std::vector<double> all;
  for (std::int64_t k = 0; k < size.channels; ++k) {
    for (std::int64_t i = 0; i < size.height; ++i) {
      for (std::int64_t j = 0; j < size.width; ++j) {
        const std::int64_t channel = c + k - size.channels / 2;
        const std::int64_t row = y + i - size.height / 2;
        const std::int64_t column = x + j - size.width / 2;
        if (channel < 0 || channel >= t.extent.channels) continue;
        if (t.has(row, column)) all.push_back(t.at(channel, row, column));
      }
    }
  }
  return all;
}

double squares(const std::vector<double>& all, double centre = 0) {
  double sum = 0;
  for (double x : all) sum += (x - centre) * (x - centre);
  return sum;
}

Formula by_energy(const Extent& size, double alpha, double beta, double delta) {
  return [=](const Tensors& s) {
    return tensor_of(s[0].extent, [&](auto c, auto y, auto x) {
      const double sum = squares(around(s[0], c, y, x, size));
      return s[0].at(c, y, x) /
             std::pow(delta + alpha / double(size.count()) * sum, beta);
    });
  };
}

struct Contrast {
  double alpha = 1, beta = 0.5, delta = 1.0 / 1024, pm = 0, ps = 1, p0 = 1;
};

Formula by_contrast(const Extent& size, const Contrast& p) {
  return [=](const Tensors& s) {
    return tensor_of(s[0].extent, [&](auto c, auto y, auto x) {
      const std::vector<double> all = around(s[0], c, y, x, size);
      double mean = 0;
      for (double value : all) mean += value / double(all.size());
      const double variance = squares(all, mean) / double(all.size());
      return p.pm + p.ps * (s[0].at(c, y, x) - p.p0 * mean) /
                        std::pow(p.delta + p.alpha * variance, p.beta);
    });
  };
}

class NormalizationTest : public FilterTest {
 protected:
  static void set(MPSCNNNormalizationNode* node, double alpha, double beta,
                  double delta) {
    [node setAlpha:float(alpha)];
    [node setBeta:float(beta)];
    [node setDelta:float(delta)];
  }
  // Derivatives grow with the energy's inverse powers.
  static constexpr double kLoose = 2e-4;
};

TEST_F(NormalizationTest, CrossChannel) {
  for (int size : {1, 2, 3, 4, 5}) {
    const Extent window{size, 1, 1};
    MPSCNNCrossChannelNormalizationNode* node =
        [MPSCNNCrossChannelNormalizationNode
            nodeWithSource:image(random_extent(8, 3), -1, 1)
                kernelSize:size];
    expect_filter(node, by_energy(window, 1, 5, 1));
    set(node, 0.5, 0.75, 2);
    expect_filter(node, by_energy(window, 0.5, 0.75, 2));
  }
  MPSCNNCrossChannelNormalizationNode* plain =
      [[[MPSCNNCrossChannelNormalizationNode alloc]
          initWithSource:image({1, 1, 1})] autorelease];
  EXPECT_EQ([plain kernelSizeInFeatureChannels], 5u);
}

TEST_F(NormalizationTest, Spatial) {
  for (int size : {1, 2, 3, 4}) {
    MPSCNNSpatialNormalizationNode* node = [MPSCNNSpatialNormalizationNode
        nodeWithSource:image(random_extent(2, 6), -1, 1)
            kernelSize:size];
    expect_filter(node, by_energy({1, size, size}, 1, 5, 1));
    set(node, 0.5, 0.75, 2);
    expect_filter(node, by_energy({1, size, size}, 0.5, 0.75, 2));
  }
}

TEST_F(NormalizationTest, LocalContrast) {
  for (int size : {2, 3, 4, 5}) {
    MPSCNNLocalContrastNormalizationNode* node =
        [MPSCNNLocalContrastNormalizationNode
            nodeWithSource:image({2, pick(3, 6), pick(3, 6)})
                kernelSize:size];
    expect_filter(node, by_contrast({1, size, size}, {}), kLoose);
    [node setKernelWidth:3];
    [node setKernelHeight:2];
    [node setPm:0.5f];
    [node setPs:-2];
    [node setP0:0.25f];
    set(node, 0.5, 0.75, 0.5);
    expect_filter(node,
                  by_contrast({1, 2, 3}, {.alpha = 0.5,
                                          .beta = 0.75,
                                          .delta = 0.5,
                                          .pm = 0.5,
                                          .ps = -2,
                                          .p0 = 0.25}),
                  kLoose);
  }
}

TEST_F(NormalizationTest, GradientNodeOfContrastHasAlphaZero) {
  MPSCNNLocalContrastNormalizationNode* node =
      [MPSCNNLocalContrastNormalizationNode nodeWithSource:image({1, 4, 4})
                                                kernelSize:3];
  EXPECT_EQ([node alpha], 1);
  EXPECT_EQ([node beta], 0.5f);
  EXPECT_EQ([node delta], 1.0f / 1024);
  MPSNNImageNode* g = image({1, 4, 4});
  MPSCNNLocalContrastNormalizationGradientNode* made =
      [MPSCNNLocalContrastNormalizationGradientNode
          nodeWithSourceGradient:g
                     sourceImage:[[node sourceImages] objectAtIndex:0]
                   gradientState:(MPSNNGradientStateNode*)[node resultState]
                     kernelWidth:3
                    kernelHeight:3];
  EXPECT_EQ([made alpha], 0);
  expect_gradients([node sourceImages], g, [NSArray arrayWithObject:made],
                   by_contrast({1, 3, 3}, {.alpha = 0}), kLoose);
  made = (id)[node gradientFilterWithSource:g];
  EXPECT_EQ([made alpha], 1);
}

TEST_F(NormalizationTest, Refuses) {
  MPSCNNSpatialNormalizationNode* node =
      [MPSCNNSpatialNormalizationNode nodeWithSource:image({1, 3, 3})
                                          kernelSize:3];
  [node setKernelHeight:2];
  EXPECT_NE(refusal_of([node resultImage]), "");
  [node setKernelHeight:3];
  [node setAlpha:-1];
  EXPECT_NE(refusal_of([node resultImage]), "");
  EXPECT_NE(refusal_of([[MPSCNNCrossChannelNormalizationNode
                nodeWithSource:image({1, 3, 3})
                    kernelSize:0] resultImage]),
            "");
}

}  // namespace
