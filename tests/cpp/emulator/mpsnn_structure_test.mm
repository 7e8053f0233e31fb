// SPDX-License-Identifier: MIT
// Concatenation, reshape, padding and Gram matrix, with their gradients.
#import "mpsnn_filter_support.h"

@interface AlphaCallback : TestCallback <MPSNNGramMatrixCallback>
@end

@implementation AlphaCallback
- (float)alphaForSourceImage:(MPSImage*)source
            destinationImage:(MPSImage*)destination {
  EXPECT_EQ([destination width], [source featureChannels]);
  return 0.5f;
}
@end

namespace {

using StructureTest = FilterTest;

Tensor joined(const Tensors& sources) {
  Extent e = sources[0].extent;
  e.channels = 0;
  for (const Tensor& one : sources) {
    e.channels += (one.extent.channels + 3) / 4 * 4;
  }
  Tensor result(e);
  std::int64_t offset = 0;
  for (const Tensor& one : sources) {
    tensor_of(one.extent, [&](auto c, auto y, auto x) {
      return result.at(offset + c, y, x) = one.at(c, y, x);
    });
    offset += (one.extent.channels + 3) / 4 * 4;
  }
  return result;
}

TEST_F(StructureTest, ConcatenationFillsUpToFour) {
  for (int count : {1, 2, 3}) {
    const int height = pick(1, 3), width = pick(1, 3);
    NSMutableArray* sources = [NSMutableArray array];
    for (int i = 0; i < count; ++i) {
      [sources addObject:image({pick(1, 9), height, width})];
    }
    expect_filter([MPSNNConcatenationNode nodeWithSources:sources], joined);
  }
  MPSNNImageNode* x = image({3, 2, 2});
  expect_filter([MPSNNConcatenationNode
                    nodeWithSources:[NSArray arrayWithObjects:x, x, nil]],
                joined);
}

TEST_F(StructureTest, ConcatenationRefuses) {
  MPSNNImageNode* x = image({2, 2, 2});
  NSArray* sources = [NSArray arrayWithObjects:x, image({3, 2, 2}), nil];
  MPSNNFilterNode* node = [MPSNNConcatenationNode nodeWithSources:sources];
  NSArray* g = [NSArray arrayWithObject:image({8, 2, 2})];
  EXPECT_NE(raised(^{
              [node gradientFilterWithSources:g];
            }),
            "");
  NSArray* gradients = [node gradientFiltersWithSources:g];
  EXPECT_TRUE([[gradients objectAtIndex:0]
      isMemberOfClass:[MPSNNConcatenationGradientNode class]]);
  NSArray* others = [NSArray arrayWithObjects:x, image({2, 2, 3}), nil];
  EXPECT_NE(
      refusal_of([[MPSNNConcatenationNode nodeWithSources:others] resultImage]),
      "");
}

TEST_F(StructureTest, ReshapeKeepsTheOrderOfRowsColumnsChannels) {
  const Formula formula = [](const Tensors& s) {
    const Extent from = s[0].extent, to{4, 1, 6};
    return tensor_of(to, [&](auto c, auto y, auto x) {
      const auto flat = (y * to.width + x) * to.channels + c;
      const auto pixel = flat / from.channels;
      return s[0].at(flat % from.channels, pixel / from.width,
                     pixel % from.width);
    });
  };
  expect_filter([MPSNNReshapeNode nodeWithSource:image({3, 4, 2})
                                     resultWidth:6
                                    resultHeight:1
                           resultFeatureChannels:4],
                formula);
  EXPECT_NE(refusal_of([[MPSNNReshapeNode nodeWithSource:image({3, 4, 2})
                                             resultWidth:5
                                            resultHeight:1
                                   resultFeatureChannels:4] resultImage]),
            "");
}

/// Says which sample an index outside stands for; -1: none.
std::int64_t sample(std::int64_t at, std::int64_t length,
                    MPSImageEdgeMode mode) {
  if (at >= 0 && at < length) return at;
  const bool is_before = at < 0;
  const std::int64_t outside = is_before ? -at : at - length + 1;  // from 1
  if (mode == MPSImageEdgeModeClamp) return is_before ? 0 : length - 1;
  if (mode == MPSImageEdgeModeMirror) {
    return is_before ? outside : length - 1 - outside;
  }
  if (mode == MPSImageEdgeModeMirrorWithEdge) {
    return is_before ? outside - 1 : length - outside;
  }
  return -1;
}

TEST_F(StructureTest, PaddingOfEveryMode) {
  for (NSUInteger i = 0; i < 20; ++i) {
    const auto mode = MPSImageEdgeMode(i % 5);
    SCOPED_TRACE("edge mode " + std::to_string(mode));
    const Extent e{pick(3, 5), pick(3, 5), pick(3, 5)};
    const auto amount = [&] { return NSUInteger(pick(0, 2)); };
    const MPSImageCoordinate before{amount(), amount(), amount()};
    const MPSImageCoordinate after{amount(), amount(), amount()};
    MPSNNPadNode* node = [MPSNNPadNode nodeWithSource:image(e)
                                    paddingSizeBefore:before
                                     paddingSizeAfter:after
                                             edgeMode:mode];
    EXPECT_EQ([node fillValue], 0);
    [node setFillValue:1.5f];
    const double fill = mode == MPSImageEdgeModeConstant ? 1.5 : 0;
    const Extent result{
        std::int64_t(before.channel + after.channel) + e.channels,
        std::int64_t(before.y + after.y) + e.height,
        std::int64_t(before.x + after.x) + e.width};
    expect_filter(node, [=](const Tensors& s) {
      return tensor_of(result, [&](auto c, auto y, auto x) {
        const auto k =
            sample(c - std::int64_t(before.channel), e.channels, mode);
        const auto row = sample(y - std::int64_t(before.y), e.height, mode);
        const auto column = sample(x - std::int64_t(before.x), e.width, mode);
        if (k < 0 || row < 0 || column < 0) return fill;
        return s[0].at(k, row, column);
      });
    });
  }
}

TEST_F(StructureTest, MirrorsNoMoreThanThereIs) {
  MPSNNPadNode* node = [MPSNNPadNode nodeWithSource:image({1, 1, 3})
                                  paddingSizeBefore:MPSImageCoordinate{3, 0, 0}
                                   paddingSizeAfter:MPSImageCoordinate{0, 0, 0}
                                           edgeMode:MPSImageEdgeModeMirror];
  EXPECT_NE(refusal_of([node resultImage]), "");
}

Formula gram(double alpha) {
  return [alpha](const Tensors& s) {
    const Extent e = s[0].extent;
    return tensor_of({e.channels, 1, e.channels}, [&](auto c, auto, auto f) {
      double sum = 0;
      for (std::int64_t y = 0; y < e.height; ++y) {
        for (std::int64_t x = 0; x < e.width; ++x) {
          sum += s[0].at(f, y, x) * s[0].at(c, y, x);
        }
      }
      return alpha * sum;
    });
  };
}

TEST_F(StructureTest, GramMatrix) {
  expect_filter(
      [MPSNNGramMatrixCalculationNode nodeWithSource:image(random_extent())],
      gram(1));
  expect_filter(
      [MPSNNGramMatrixCalculationNode nodeWithSource:image(random_extent())
                                               alpha:-2],
      gram(-2));
  MPSNNGramMatrixCalculationNode* asked =
      [MPSNNGramMatrixCalculationNode nodeWithSource:image({3, 2, 2})];
  [asked setPropertyCallBack:[[AlphaCallback new] autorelease]];
  expect_filter(asked, gram(0.5));
}

}  // namespace
