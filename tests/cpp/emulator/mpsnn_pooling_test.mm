// SPDX-License-Identifier: MIT
// Pooling: every type, padding policy and edge mode, with their gradients.
#include <cmath>

#import "mpsnn_filter_support.h"

/// Puts windows where it is told to.
@interface PlacedPadding : TestCallback <MPSNNPadding> {
 @public
  MPSOffset _offset;
  MPSImageEdgeMode _edgeMode;
  NSUInteger _width, _height;
}
@end

@implementation PlacedPadding
- (MPSNNPaddingMethod)paddingMethod {
  return MPSNNPaddingMethodCustom;
}
- (MPSImageDescriptor*)
    destinationImageDescriptorForSourceImages:(NSArray<MPSImage*>*)images
                                 sourceStates:(NSArray<MPSState*>*)states
                                    forKernel:(MPSKernel*)kernel
                          suggestedDescriptor:(MPSImageDescriptor*)descriptor {
  (void)images, (void)states;
  [(MPSCNNKernel*)kernel setOffset:_offset];
  [(MPSCNNKernel*)kernel setEdgeMode:_edgeMode];
  [descriptor setWidth:_width];
  [descriptor setHeight:_height];
  return descriptor;
}
@end

namespace {

struct Windows {
  int width = 2, height = 2, stride_x = 1, stride_y = 1;
  int dilation_x = 1, dilation_y = 1;
  // The first sample of the first window, and the result.
  int left = 0, top = 0;
  std::int64_t result_width = 1, result_height = 1;
  bool has_zeros = false;
};

/// The samples of a window; zeros outside when there are any.
std::vector<double> samples(const Windows& w, const Tensor& source,
                            std::int64_t c, std::int64_t i, std::int64_t j) {
  std::vector<double> all;
  for (int v = 0; v < w.height; ++v) {
    for (int u = 0; u < w.width; ++u) {
      const std::int64_t y = i * w.stride_y + w.top + v * w.dilation_y;
      const std::int64_t x = j * w.stride_x + w.left + u * w.dilation_x;
      if (source.has(y, x)) all.push_back(source.at(c, y, x));
      if (!source.has(y, x) && w.has_zeros) all.push_back(0);
    }
  }
  return all;
}

using Reduction = std::function<double(const std::vector<double>&)>;

Formula pooled(const Windows& w, const Reduction& reduction) {
  return [=](const Tensors& s) {
    const Extent result{s[0].extent.channels, w.result_height, w.result_width};
    return tensor_of(result, [&](auto c, auto y, auto x) {
      return reduction(samples(w, s[0], c, y, x));
    });
  };
}

double largest(const std::vector<double>& all) {
  return *std::max_element(all.begin(), all.end());
}
double mean(const std::vector<double>& all) {
  double sum = 0;
  for (double x : all) sum += x;
  return sum / double(all.size());
}
double norm(const std::vector<double>& all) {
  double sum = 0;
  for (double x : all) sum += x * x;
  return std::sqrt(sum);
}

class PoolingTest : public FilterTest {
 protected:
  void expect_pooling(MPSNNFilterNode* node, const Windows& w,
                      const Reduction& reduction) {
    SCOPED_TRACE(object_getClassName(node));
    expect_filter(node, pooled(w, reduction));
  }
  /// Windows that lie within the source.
  Windows valid(const Extent& source) {
    Windows w;
    w.width = pick(1, int(source.width));
    w.height = pick(1, int(source.height));
    w.stride_x = pick(1, 3);
    w.stride_y = pick(1, 3);
    w.result_width = (source.width - w.width) / w.stride_x + 1;
    w.result_height = (source.height - w.height) / w.stride_y + 1;
    return w;
  }
  static MPSNNFilterNode* node(Class kind, MPSNNImageNode* source,
                               const Windows& w) {
    return [[[kind alloc] initWithSource:source
                             kernelWidth:w.width
                            kernelHeight:w.height
                         strideInPixelsX:w.stride_x
                         strideInPixelsY:w.stride_y] autorelease];
  }
  void place(MPSNNFilterNode* node, const Windows& w, int extent_x,
             int extent_y) {
    PlacedPadding* padding = [[PlacedPadding new] autorelease];
    padding->_offset = {w.left + extent_x / 2, w.top + extent_y / 2, 0};
    padding->_edgeMode =
        w.has_zeros ? MPSImageEdgeModeZero : MPSImageEdgeModeClamp;
    padding->_width = NSUInteger(w.result_width);
    padding->_height = NSUInteger(w.result_height);
    [node setPaddingPolicy:padding];
  }

  struct Kind {
    Class node;
    Reduction reduction;
  };
  const std::vector<Kind> kinds_{{[MPSCNNPoolingMaxNode class], largest},
                                 {[MPSCNNPoolingAverageNode class], mean},
                                 {[MPSCNNPoolingL2NormNode class], norm}};
};

TEST_F(PoolingTest, ValidWindows) {
  MPSNNDefaultPadding* padding = [MPSNNDefaultPadding
      paddingWithMethod:MPSNNPaddingMethodSizeValidOnly |
                        MPSNNPaddingMethodAlignBottomRight];
  for (const Kind& kind : kinds_) {
    for (int i = 0; i < 4; ++i) {
      const Extent extent = random_extent(3, 7);
      const Windows w = valid(extent);
      MPSNNFilterNode* made = node(kind.node, image(extent), w);
      [made setPaddingPolicy:padding];
      expect_pooling(made, w, kind.reduction);
    }
  }
}

TEST_F(PoolingTest, SameSizeClipsWindows) {
  for (const Kind& kind : kinds_) {
    for (int size : {2, 3, 4}) {
      const Extent extent{2, pick(3, 7), pick(3, 7)};
      Windows w;
      w.width = w.height = size;
      w.stride_x = w.stride_y = pick(1, 2);
      w.result_width = (extent.width + w.stride_x - 1) / w.stride_x;
      w.result_height = (extent.height + w.stride_y - 1) / w.stride_y;
      // What hangs over is shared, an odd pixel lies at the end.
      const auto before = [&](std::int64_t result, int stride,
                              std::int64_t length) {
        const auto extra = (result - 1) * stride + size - length;
        return -int(extra / 2);
      };
      w.left = before(w.result_width, w.stride_x, extent.width);
      w.top = before(w.result_height, w.stride_y, extent.height);
      expect_pooling([kind.node nodeWithSource:image(extent)
                                    filterSize:size
                                        stride:w.stride_x],
                     w, kind.reduction);
    }
  }
}

TEST_F(PoolingTest, PolicyPlacesWindows) {
  for (const Kind& kind : kinds_) {
    for (int i = 0; i < 6; ++i) {
      const Extent extent{2, pick(3, 6), pick(3, 6)};
      Windows w;
      w.width = pick(2, 4);
      w.height = pick(2, 4);
      w.stride_x = pick(1, 2);
      w.stride_y = pick(1, 2);
      // At least one sample of every window is inside.
      w.left = -pick(0, w.width - 1);
      w.top = -pick(0, w.height - 1);
      w.result_width = (extent.width - 1 - w.left) / w.stride_x + 1;
      w.result_height = (extent.height - 1 - w.top) / w.stride_y + 1;
      w.has_zeros = i % 2 == 1;
      MPSNNFilterNode* made = node(kind.node, image(extent), w);
      place(made, w, w.width, w.height);
      expect_pooling(made, w, kind.reduction);
    }
  }
}

TEST_F(PoolingTest, TensorFlowAverageLeavesEdgesOut) {
  Windows w;
  w.width = w.height = 3;
  w.left = w.top = -1;
  w.result_width = 5;
  w.result_height = 4;
  MPSNNFilterNode* made =
      [MPSCNNPoolingAverageNode nodeWithSource:image({2, 4, 5})
                                    filterSize:3
                                        stride:1];
  [made setPaddingPolicy:[MPSNNDefaultPadding
                             paddingForTensorflowAveragePooling]];
  expect_pooling(made, w, mean);
}

TEST_F(PoolingTest, Dilated) {
  for (int i = 0; i < 6; ++i) {
    const Extent extent{2, pick(5, 8), pick(5, 8)};
    Windows w;
    w.width = pick(1, 3);
    w.height = pick(1, 3);
    w.dilation_x = pick(1, 2);
    w.dilation_y = pick(1, 2);
    w.stride_x = pick(1, 2);
    w.stride_y = pick(1, 2);
    const int extent_x = (w.width - 1) * w.dilation_x + 1;
    const int extent_y = (w.height - 1) * w.dilation_y + 1;
    w.left = i % 2 ? -(extent_x - 1) / 2 : 0;
    w.result_width = (extent.width - extent_x - w.left) / w.stride_x + 1;
    w.result_height = (extent.height - extent_y) / w.stride_y + 1;
    MPSNNFilterNode* made = [[[MPSCNNDilatedPoolingMaxNode alloc]
         initWithSource:image(extent)
            kernelWidth:w.width
           kernelHeight:w.height
        strideInPixelsX:w.stride_x
        strideInPixelsY:w.stride_y
          dilationRateX:w.dilation_x
          dilationRateY:w.dilation_y] autorelease];
    place(made, w, extent_x, extent_y);
    expect_pooling(made, w, largest);
  }
}

TEST_F(PoolingTest, SizesOfConstructors) {
  MPSNNImageNode* source = image({1, 9, 9});
  MPSCNNPoolingNode* square = [MPSCNNPoolingMaxNode nodeWithSource:source
                                                        filterSize:3];
  EXPECT_EQ([square kernelWidth], 3u);
  EXPECT_EQ([square kernelHeight], 3u);
  EXPECT_EQ([square strideInPixelsX], 3u);
  EXPECT_EQ([square strideInPixelsY], 3u);
  MPSCNNDilatedPoolingMaxNode* dilated =
      [MPSCNNDilatedPoolingMaxNode nodeWithSource:source filterSize:2];
  EXPECT_EQ([dilated dilationRateX], 2u);
  EXPECT_EQ([dilated dilationRateY], 2u);
  MPSCNNPoolingGradientNode* gradient =
      (id)[square gradientFilterWithSource:image({1, 3, 3})];
  EXPECT_TRUE([gradient isMemberOfClass:[MPSCNNPoolingMaxGradientNode class]]);
  EXPECT_EQ([gradient kernelWidth], 3u);
  EXPECT_EQ([gradient strideInPixelsY], 3u);
}

TEST_F(PoolingTest, TiesGoToTheFirst) {
  MPSNNFilterNode* made =
      [MPSCNNPoolingMaxNode nodeWithSource:image_of({1, 2, 2}, {1, 1, 1, 1})
                                filterSize:2];
  MPSNNFilterNode* gradient =
      [made gradientFilterWithSource:image_of({1, 1, 1}, {5})];
  EXPECT_EQ(run([gradient resultImage])[0].data,
            (std::vector<double>{5, 0, 0, 0}));
}

TEST_F(PoolingTest, Refuses) {
  MPSNNImageNode* source = image({1, 4, 4});
  Windows none;
  none.width = 0;
  EXPECT_NE(refusal_of(
                [node([MPSCNNPoolingMaxNode class], source, none) resultImage]),
            "");
  MPSNNFilterNode* made = [MPSCNNPoolingMaxNode nodeWithSource:source
                                                    filterSize:2];
  EXPECT_NE(refusal_of(
                [[made gradientFilterWithSource:image({1, 3, 2})] resultImage]),
            "");
  EXPECT_NE(raised(^{
              [MPSCNNPoolingMaxNode nodeWithSource:(id)nothing_ filterSize:2];
            }),
            "");
}

}  // namespace
