// SPDX-License-Identifier: MIT
// Softmax, its logarithm, and dropout, with their gradients.
#include <cmath>
#include <set>

#import "mpsnn_filter_support.h"

namespace {

Tensor softmax(const Tensor& x, bool is_log) {
  return tensor_of(x.extent, [&](auto c, auto i, auto j) {
    double sum = 0;
    for (std::int64_t k = 0; k < x.extent.channels; ++k) {
      sum += std::exp(x.at(k, i, j));
    }
    const double y = x.at(c, i, j) - std::log(sum);
    return is_log ? y : std::exp(y);
  });
}

using SoftMaxTest = FilterTest;

TEST_F(SoftMaxTest, WithGradients) {
  for (int i = 0; i < 4; ++i) {
    expect_filter([MPSCNNSoftMaxNode nodeWithSource:image(random_extent())],
                  [](const Tensors& x) { return softmax(x[0], false); });
    expect_filter([MPSCNNLogSoftMaxNode nodeWithSource:image(random_extent())],
                  [](const Tensors& x) { return softmax(x[0], true); });
  }
}

TEST_F(SoftMaxTest, LargeNumbers) {
  MPSNNImageNode* x = image_of({3, 1, 1}, {1000, 999, -1000});
  const Tensor got = run([[MPSCNNSoftMaxNode nodeWithSource:x] resultImage])[0];
  const double e = std::exp(-1);
  expect_close(got,
               tensor_of({3, 1, 1},
                         [&](auto c, auto, auto) {
                           return c == 2 ? 0 : (c == 0 ? 1 : e) / (1 + e);
                         }),
               kTolerance);
}

TEST_F(SoftMaxTest, GradientReadsTheResult) {
  MPSNNFilterNode* node = [MPSCNNSoftMaxNode nodeWithSource:image({2, 1, 1})];
  MPSNNFilterNode* gradient = [node gradientFilterWithSource:image({2, 1, 1})];
  EXPECT_TRUE([gradient isMemberOfClass:[MPSCNNSoftMaxGradientNode class]]);
  EXPECT_EQ([[gradient sourceImages] objectAtIndex:1], [node resultImage]);
}

class DropoutTest : public FilterTest {
 protected:
  /// Kept and scaled, or zero: ones where an element was kept.
  static Tensor mask_of(const Tensor& result, const Tensor& source,
                        double keep) {
    return tensor_of(source.extent, [&](auto c, auto y, auto x) {
      const double value = result.at(c, y, x);
      if (value == 0) return 0.0;
      EXPECT_NEAR(value, source.at(c, y, x) / keep, 1e-5);
      return 1.0;
    });
  }
};

TEST_F(DropoutTest, SameMaskForwardAndBack) {
  constexpr float kKeep = 0.75f;
  const Extent e{5, 6, 7};
  MPSNNImageNode* x = image(e, 0.5, 2);
  MPSNNImageNode* g = image(e, 0.5, 2);
  MPSCNNDropoutNode* node =
      [MPSCNNDropoutNode nodeWithSource:x
                        keepProbability:kKeep
                                   seed:3
                     maskStrideInPixels:MTLSizeMake(1, 1, 1)];
  MPSNNFilterNode* gradient = [node gradientFilterWithSource:g];
  const auto got = run([NSArray
      arrayWithObjects:[node resultImage], [gradient resultImage], nil]);
  std::set<std::vector<double>> masks;
  for (int i = 0; i < kImages; ++i) {
    const Tensor mask = mask_of(got[0][i], values(x)[i], kKeep);
    EXPECT_EQ(mask_of(got[1][i], values(g)[i], kKeep).data, mask.data);
    masks.insert(mask.data);
    double kept = 0;
    for (double one : mask.data) kept += one;
    // 210 draws: five standard deviations.
    EXPECT_NEAR(kept / double(e.count()), kKeep, 0.15);
  }
  EXPECT_EQ(masks.size(), std::size_t(kImages));
}

TEST_F(DropoutTest, SharedMask) {
  const Extent e{4, 5, 6};
  for (int i = 0; i < 8; ++i) {
    const int c = i & 1, y = (i >> 1) & 1, x = (i >> 2) & 1;
    MPSNNImageNode* source = image(e, 0.5, 2);
    MPSNNImageNode* g = image(e, 0.5, 2);
    MPSCNNDropoutNode* node =
        [MPSCNNDropoutNode nodeWithSource:source
                          keepProbability:0.5f
                                     seed:NSUInteger(i)
                       maskStrideInPixels:MTLSizeMake(x, y, c)];
    const auto got = run([NSArray
        arrayWithObjects:[node resultImage],
                         [[node gradientFilterWithSource:g] resultImage], nil]);
    const Tensor mask = mask_of(got[0][0], values(source)[0], 0.5);
    EXPECT_EQ(mask_of(got[1][0], values(g)[0], 0.5).data, mask.data);
    tensor_of(e, [&](auto k, auto row, auto column) {
      EXPECT_EQ(mask.at(k, row, column), mask.at(k * c, row * y, column * x));
      return 0;
    });
  }
}

TEST_F(DropoutTest, SeedAndDefaults) {
  MPSNNImageNode* x = image({4, 4, 4}, 1, 2);
  MPSCNNDropoutNode* node = [MPSCNNDropoutNode nodeWithSource:x];
  EXPECT_EQ([node keepProbability], 0.5f);
  EXPECT_EQ([node seed], 0u);
  EXPECT_EQ([node maskStrideInPixels].depth, 1u);
  EXPECT_EQ([[MPSCNNDropoutNode nodeWithSource:x
                               keepProbability:0.25f] keepProbability],
            0.25f);
  // A graph begins with the seed.
  EXPECT_EQ(run([node resultImage])[0].data, run([node resultImage])[0].data);
  MPSCNNDropoutNode* other =
      [MPSCNNDropoutNode nodeWithSource:x
                        keepProbability:0.5f
                                   seed:1
                     maskStrideInPixels:MTLSizeMake(1, 1, 1)];
  EXPECT_NE(run([node resultImage])[0].data, run([other resultImage])[0].data);
}

TEST_F(DropoutTest, Refuses) {
  MPSNNImageNode* x = image({1, 1, 1});
  for (float keep : {0.0f, 1.0f, -0.5f, 2.0f, NAN}) {
    EXPECT_NE(raised(^{
                [MPSCNNDropoutNode nodeWithSource:x keepProbability:keep];
              }),
              "")
        << keep;
  }
  EXPECT_NE(raised(^{
              [MPSCNNDropoutNode nodeWithSource:x
                                keepProbability:0.5f
                                           seed:0
                             maskStrideInPixels:MTLSizeMake(2, 1, 1)];
            }),
            "");
}

}  // namespace
