// SPDX-License-Identifier: MIT
// Reductions within an image, upsampling and scaling.
#include <algorithm>
#include <cmath>

#import "mpsnn_filter_support.h"

@interface TransformProvider : TestCallback <MPSImageTransformProvider> {
 @public
  MPSScaleTransform _transform;
}
@end

@implementation TransformProvider
- (MPSScaleTransform)transformForSourceImage:(MPSImage*)image
                                      handle:(id<MPSHandle>)handle {
  EXPECT_NE([handle label], nil);
  EXPECT_NE([image width], 0u);
  return _transform;
}
@end

namespace {

using Values = std::vector<double>;
using Operation = double (*)(const Values&);

double smallest(const Values& v) {
  return *std::min_element(v.begin(), v.end());
}
double largest(const Values& v) {
  return *std::max_element(v.begin(), v.end());
}
double sum(const Values& v) {
  double all = 0;
  for (double x : v) all += x;
  return all;
}
double mean(const Values& v) { return sum(v) / double(v.size()); }
double where_smallest(const Values& v) {
  return double(std::min_element(v.begin(), v.end()) - v.begin());
}
double where_largest(const Values& v) {
  return double(std::max_element(v.begin(), v.end()) - v.begin());
}

enum class Axis { kRow, kColumn, kChannels, kPixels };

/// Reduces the part of the image from (top, left) on.
Formula reduced(Axis axis, Operation operation, std::int64_t top = 0,
                std::int64_t left = 0, std::int64_t height = 99,
                std::int64_t width = 99) {
  return [=](const Tensors& s) {
    const Extent e = s[0].extent;
    const std::int64_t bottom = std::min(e.height, top + height);
    const std::int64_t right = std::min(e.width, left + width);
    Extent result{e.channels, bottom - top, right - left};
    if (axis == Axis::kRow || axis == Axis::kPixels) result.width = 1;
    if (axis == Axis::kColumn || axis == Axis::kPixels) result.height = 1;
    if (axis == Axis::kChannels) result.channels = 1;
    return tensor_of(result, [&](auto c, auto y, auto x) {
      Values taken;
      for (std::int64_t k = 0; k < e.channels; ++k) {
        for (std::int64_t i = top; i < bottom; ++i) {
          for (std::int64_t j = left; j < right; ++j) {
            if (result.channels > 1 && k != c) continue;
            if (axis != Axis::kChannels && k != c) continue;
            if (axis != Axis::kColumn && axis != Axis::kPixels &&
                i - top != y) {
              continue;
            }
            if (axis != Axis::kRow && axis != Axis::kPixels && j - left != x) {
              continue;
            }
            taken.push_back(s[0].at(k, i, j));
          }
        }
      }
      return operation(taken);
    });
  };
}

struct Reduction {
  Class node;
  Axis axis;
  Operation operation;
};

std::vector<Reduction> reductions() {
  return {
      {[MPSNNReductionRowMinNode class], Axis::kRow, smallest},
      {[MPSNNReductionColumnMinNode class], Axis::kColumn, smallest},
      {[MPSNNReductionFeatureChannelsMinNode class], Axis::kChannels, smallest},
      {[MPSNNReductionRowMaxNode class], Axis::kRow, largest},
      {[MPSNNReductionColumnMaxNode class], Axis::kColumn, largest},
      {[MPSNNReductionFeatureChannelsMaxNode class], Axis::kChannels, largest},
      {[MPSNNReductionRowSumNode class], Axis::kRow, sum},
      {[MPSNNReductionColumnSumNode class], Axis::kColumn, sum},
      {[MPSNNReductionFeatureChannelsSumNode class], Axis::kChannels, sum},
      {[MPSNNReductionRowMeanNode class], Axis::kRow, mean},
      {[MPSNNReductionColumnMeanNode class], Axis::kColumn, mean},
      {[MPSNNReductionFeatureChannelsMeanNode class], Axis::kChannels, mean},
      {[MPSNNReductionSpatialMeanNode class], Axis::kPixels, mean},
      {[MPSNNReductionFeatureChannelsArgumentMinNode class],
       Axis::kChannels,
       where_smallest},
      {[MPSNNReductionFeatureChannelsArgumentMaxNode class],
       Axis::kChannels,
       where_largest},
  };
}

using ReductionTest = FilterTest;

TEST_F(ReductionTest, EveryKind) {
  for (const Reduction& one : reductions()) {
    SCOPED_TRACE(class_getName(one.node));
    expect_forward([one.node nodeWithSource:image(random_extent())],
                   reduced(one.axis, one.operation));
    MPSNNUnaryReductionNode* part = [one.node nodeWithSource:image({3, 5, 6})];
    [part setClipRectSource:MTLRegionMake2D(1, 2, 3, 9)];
    expect_forward(part, reduced(one.axis, one.operation, 2, 1, 9, 3));
  }
}

TEST_F(ReductionTest, Weight) {
  MPSNNReductionFeatureChannelsSumNode* node =
      [MPSNNReductionFeatureChannelsSumNode nodeWithSource:image({3, 2, 2})];
  EXPECT_EQ([node weight], 1);
  [node setWeight:2];
  expect_forward(node, reduced(Axis::kChannels,
                               [](const Values& v) { return 2 * sum(v); }));
}

TEST_F(ReductionTest, OnlyTheSpatialMeanHasAGradient) {
  expect_filter(
      [MPSNNReductionSpatialMeanNode nodeWithSource:image(random_extent())],
      reduced(Axis::kPixels, mean));
  MPSNNReductionSpatialMeanNode* part =
      [MPSNNReductionSpatialMeanNode nodeWithSource:image({2, 4, 4})];
  [part setClipRectSource:MTLRegionMake2D(1, 1, 2, 3)];
  expect_filter(part, reduced(Axis::kPixels, mean, 1, 1, 3, 2));
  for (const Reduction& one : reductions()) {
    if (one.axis == Axis::kPixels) continue;
    MPSNNFilterNode* node = [one.node nodeWithSource:image({2, 2, 2})];
    MPSNNImageNode* g = image({2, 2, 2});
    EXPECT_NE(raised(^{
                [node gradientFilterWithSource:g];
              }),
              "");
  }
  MPSNNUnaryReductionNode* nothing =
      [MPSNNReductionRowMaxNode nodeWithSource:image({1, 2, 2})];
  [nothing setClipRectSource:MTLRegionMake2D(2, 0, 1, 1)];
  EXPECT_NE(refusal_of([nothing resultImage]), "");
}

/// Interpolates between the samples around a position; ends are repeated.
double interpolate(const Tensor& t, std::int64_t c, double y, double x) {
  y = std::clamp(y, 0.0, double(t.extent.height - 1));
  x = std::clamp(x, 0.0, double(t.extent.width - 1));
  const auto top = std::int64_t(y), left = std::int64_t(x);
  const double v = y - double(top), u = x - double(left);
  double value = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const double weight = (i ? v : 1 - v) * (j ? u : 1 - u);
      if (weight > 0) value += weight * t.at(c, top + i, left + j);
    }
  }
  return value;
}

using Position = std::function<double(std::int64_t i, std::int64_t source,
                                      std::int64_t result)>;

Formula resampled(std::int64_t height, std::int64_t width, const Position& row,
                  const Position& column) {
  return [=](const Tensors& s) {
    const Extent e = s[0].extent;
    return tensor_of({e.channels, height, width}, [&](auto c, auto y, auto x) {
      return interpolate(s[0], c, row(y, e.height, height),
                         column(x, e.width, width));
    });
  };
}

double half_pixel(std::int64_t i, std::int64_t source, std::int64_t result) {
  return (double(i) + 0.5) * double(source) / double(result) - 0.5;
}
double aligned(std::int64_t i, std::int64_t source, std::int64_t result) {
  return result > 1 ? double(i * (source - 1)) / double(result - 1) : 0;
}
double repeated(std::int64_t i, std::int64_t source, std::int64_t result) {
  return double(i / (result / source));
}

TEST_F(ReductionTest, Upsampling) {
  for (int i = 0; i < 4; ++i) {
    const Extent e = random_extent(3, 4);
    const NSUInteger across = NSUInteger(pick(1, 3)),
                     down = NSUInteger(pick(1, 3));
    const auto height = e.height * std::int64_t(down);
    const auto width = e.width * std::int64_t(across);
    expect_filter([MPSCNNUpsamplingNearestNode nodeWithSource:image(e)
                                          integerScaleFactorX:across
                                          integerScaleFactorY:down],
                  resampled(height, width, repeated, repeated));
    MPSCNNUpsamplingBilinearNode* plain =
        [MPSCNNUpsamplingBilinearNode nodeWithSource:image(e)
                                 integerScaleFactorX:across
                                 integerScaleFactorY:down];
    EXPECT_FALSE([plain alignCorners]);
    EXPECT_EQ([plain scaleFactorX], double(across));
    expect_filter(plain, resampled(height, width, half_pixel, half_pixel));
    expect_filter([MPSCNNUpsamplingBilinearNode nodeWithSource:image(e)
                                           integerScaleFactorX:across
                                           integerScaleFactorY:down
                                                  alignCorners:YES],
                  resampled(height, width, aligned, aligned));
  }
  EXPECT_NE(
      refusal_of([[MPSCNNUpsamplingNearestNode nodeWithSource:image({1, 1, 1})
                                          integerScaleFactorX:0
                                          integerScaleFactorY:1] resultImage]),
      "");
}

TEST_F(ReductionTest, Scale) {
  const Extent e{2, 4, 5};
  MPSNNFilterNode* node =
      [MPSNNBilinearScaleNode nodeWithSource:image(e)
                                  outputSize:MTLSizeMake(3, 7, 1)];
  expect_forward(node, resampled(7, 3, half_pixel, half_pixel));
  MPSNNImageNode* g = image({2, 7, 3});
  EXPECT_NE(raised(^{
              [node gradientFilterWithSource:g];
            }),
            "");
  TransformProvider* provider = [[TransformProvider new] autorelease];
  provider->_transform = {2, 0.5, 1, -0.25};
  const auto at = [](double scale, double translation) {
    return [=](std::int64_t i, std::int64_t, std::int64_t) {
      return (double(i) + 0.5 - translation) / scale - 0.5;
    };
  };
  expect_forward([MPSNNBilinearScaleNode nodeWithSource:image(e)
                                      transformProvider:provider
                                             outputSize:MTLSizeMake(6, 3, 1)],
                 resampled(3, 6, at(0.5, -0.25), at(2, 1)));
}

}  // namespace
