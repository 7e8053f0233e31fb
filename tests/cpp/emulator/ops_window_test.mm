// SPDX-License-Identifier: MIT
// Convolutions and pooling of the emulator.
#include "ops_support.h"

#include <cmath>

namespace {

constexpr auto kNCHW = MPSGraphTensorNamedDataLayoutNCHW;
constexpr auto kNHWC = MPSGraphTensorNamedDataLayoutNHWC;
constexpr auto kOIHW = MPSGraphTensorNamedDataLayoutOIHW;
constexpr auto kHWIO = MPSGraphTensorNamedDataLayoutHWIO;
constexpr auto kExplicit = MPSGraphPaddingStyleExplicit;

MPSGraphConvolution2DOpDescriptor* descriptor(int stride, int dilation,
                                              int padding, int groups) {
  return [MPSGraphConvolution2DOpDescriptor descriptorWithStrideInX:stride
                                                          strideInY:1
                                                    dilationRateInX:dilation
                                                    dilationRateInY:1
                                                             groups:groups
                                                        paddingLeft:padding
                                                       paddingRight:0
                                                         paddingTop:0
                                                      paddingBottom:padding
                                                       paddingStyle:kExplicit
                                                         dataLayout:kNCHW
                                                      weightsLayout:kOIHW];
}

class WindowTest : public OpsTest {
 protected:
  /// Values of a tensor after an exchange of axes.
  MPSGraphTensor* permuted(MPSGraphTensor* tensor, NSArray* permutation) {
    return [graph transposeTensor:tensor permutation:permutation name:nil];
  }

  void check_convolution(int stride, int dilation, int padding, int groups) {
    MPSGraphConvolution2DOpDescriptor* d =
        descriptor(stride, dilation, padding, groups);
    MPSGraphTensor* x = feed({2, 4, 3, 5}, scattered(120, 1));
    const std::int64_t inputs = 4 / groups;
    MPSGraphTensor* w = feed({2, inputs, 2, 2}, scattered(8 * inputs, 2));
    MPSGraphTensor* y = [graph convolution2DWithSourceTensor:x
                                               weightsTensor:w
                                                  descriptor:d
                                                        name:nil];
    std::size_t count = 1;
    for (std::int64_t length : shape(y)) count *= length;
    MPSGraphTensor* g = feed(shape(y), scattered(count, 3));
    expect_gradient(
        [graph convolution2DDataGradientWithIncomingGradientTensor:g
                                                     weightsTensor:w
                                                       outputShape:[x shape]
                                      forwardConvolutionDescriptor:d
                                                              name:nil],
        x, y, g);
    expect_gradient(
        [graph convolution2DWeightsGradientWithIncomingGradientTensor:g
                                                         sourceTensor:x
                                                          outputShape:[w shape]
                                         forwardConvolutionDescriptor:d
                                                                 name:nil],
        w, y, g);

    // The transposed convolution undoes the shape.
    MPSGraphTensor* up = [graph convolutionTranspose2DWithSourceTensor:g
                                                         weightsTensor:w
                                                           outputShape:[x shape]
                                                            descriptor:d
                                                                  name:nil];
    EXPECT_EQ(shape(up), shape(x));
    expect_gradient(
        [graph
            convolutionTranspose2DDataGradientWithIncomingGradientTensor:x
                                                           weightsTensor:w
                                                             outputShape:
                                                                 [g shape]
                                            forwardConvolutionDescriptor:d
                                                                    name:nil],
        g, up, x);
    expect_gradient(
        [graph
            convolutionTranspose2DWeightsGradientWithIncomingGradientTensor:x
                                                               sourceTensor:g
                                                                outputShape:
                                                                    [w shape]
                                               forwardConvolutionDescriptor:d
                                                                       name:
                                                                           nil],
        w, up, x);
  }
};

TEST_F(WindowTest, ConvolutionByHand) {
  MPSGraphTensor* x = feed({1, 1, 1, 4}, {1, 2, 3, 4});
  MPSGraphTensor* w = feed({1, 1, 1, 2}, {10, 1});
  const auto convolved = [&](int stride, int dilation, int padding) {
    MPSGraphConvolution2DOpDescriptor* d = descriptor(stride, dilation, 0, 1);
    [d setPaddingLeft:padding];
    return run([graph convolution2DWithSourceTensor:x
                                      weightsTensor:w
                                         descriptor:d
                                               name:nil]);
  };
  EXPECT_EQ(convolved(1, 1, 0), (Values{12, 23, 34}));
  EXPECT_EQ(convolved(2, 1, 0), (Values{12, 34}));
  EXPECT_EQ(convolved(1, 2, 0), (Values{13, 24}));
  EXPECT_EQ(convolved(1, 1, 1), (Values{1, 12, 23, 34}));
}

TEST_F(WindowTest, Gradients) {
  check_convolution(1, 1, 0, 1);
  check_convolution(2, 1, 1, 1);
  check_convolution(1, 2, 1, 2);
}

TEST_F(WindowTest, LayoutsAgree) {
  MPSGraphTensor* x = feed({2, 2, 3, 4}, scattered(48));
  MPSGraphTensor* w = feed({4, 1, 2, 3}, scattered(24, 2));
  MPSGraphConvolution2DOpDescriptor* d = descriptor(2, 1, 1, 2);
  MPSGraphTensor* y = [graph convolution2DWithSourceTensor:x
                                             weightsTensor:w
                                                descriptor:d
                                                      name:nil];
  MPSGraphConvolution2DOpDescriptor* last = [[d copy] autorelease];
  [last setDataLayout:kNHWC];
  [last setWeightsLayout:kHWIO];
  MPSGraphTensor* z =
      [graph convolution2DWithSourceTensor:permuted(x, @[ @0, @2, @3, @1 ])
                             weightsTensor:permuted(w, @[ @2, @3, @1, @0 ])
                                descriptor:last
                                      name:nil];
  expect_near(run(permuted(z, @[ @0, @3, @1, @2 ])), run(y));
}

TEST_F(WindowTest, SamePadding) {
  MPSGraphTensor* x = feed({1, 1, 1, 4}, {1, 2, 3, 4});
  MPSGraphTensor* w = feed({1, 1, 1, 2}, {10, 1});
  const auto padded = [&](MPSGraphPaddingStyle style) {
    MPSGraphConvolution2DOpDescriptor* d = descriptor(1, 1, 0, 1);
    [d setPaddingStyle:style];
    return run([graph convolution2DWithSourceTensor:x
                                      weightsTensor:w
                                         descriptor:d
                                               name:nil]);
  };
  EXPECT_EQ(padded(MPSGraphPaddingStyleTF_SAME), (Values{12, 23, 34, 40}));
  EXPECT_EQ(padded(MPSGraphPaddingStyleONNX_SAME_LOWER),
            (Values{1, 12, 23, 34}));
  EXPECT_EQ(padded(MPSGraphPaddingStyleTF_VALID), (Values{12, 23, 34}));
}

TEST_F(WindowTest, Depthwise2DMultipliesChannels) {
  MPSGraphTensor* x = feed({1, 2, 1, 1}, {1, 10});
  MPSGraphTensor* w = feed({2, 2, 1, 1}, {2, 3, 4, 5});  // multiplier, channel
  MPSGraphDepthwiseConvolution2DOpDescriptor* d =
      [MPSGraphDepthwiseConvolution2DOpDescriptor
          descriptorWithDataLayout:kNCHW
                     weightsLayout:kOIHW];
  MPSGraphTensor* y = [graph depthwiseConvolution2DWithSourceTensor:x
                                                      weightsTensor:w
                                                         descriptor:d
                                                               name:nil];
  EXPECT_EQ(run(y), (Values{2, 4, 30, 50}));
  MPSGraphTensor* g = feed({1, 4, 1, 1}, {1, 2, 3, 4});
  expect_gradient(
      [graph
          depthwiseConvolution2DDataGradientWithIncomingGradientTensor:g
                                                         weightsTensor:w
                                                           outputShape:[x shape]
                                                            descriptor:d
                                                                  name:nil],
      x, y, g);
  expect_gradient(
      [graph
          depthwiseConvolution2DWeightsGradientWithIncomingGradientTensor:g
                                                             sourceTensor:x
                                                              outputShape:
                                                                  [w shape]
                                                               descriptor:d
                                                                     name:nil],
      w, y, g);
}

// Of NCHW images with channels at -3, batch and space are the three axes.
TEST_F(WindowTest, Depthwise3DOverImages) {
  MPSGraphTensor* x = feed({2, 3, 4, 4}, scattered(96));
  MPSGraphTensor* w = feed({1, 3, 2, 2}, scattered(12, 2));
  MPSGraphDepthwiseConvolution3DOpDescriptor* d =
      [MPSGraphDepthwiseConvolution3DOpDescriptor
          descriptorWithStrides:@[ @1, @2, @1 ]
                  dilationRates:@[ @1, @1, @2 ]
                  paddingValues:@[ @0, @0, @1, @0, @0, @1 ]
                   paddingStyle:kExplicit];
  [d setChannelDimensionIndex:-3];
  MPSGraphTensor* y = [graph depthwiseConvolution3DWithSourceTensor:x
                                                      weightsTensor:w
                                                         descriptor:d
                                                               name:nil];
  MPSGraphConvolution2DOpDescriptor* grouped = descriptor(1, 2, 0, 3);
  [grouped setStrideInY:2];
  [grouped setPaddingTop:1];
  [grouped setPaddingRight:1];
  MPSGraphTensor* same =
      [graph convolution2DWithSourceTensor:x
                             weightsTensor:permuted(w, @[ @1, @0, @2, @3 ])
                                descriptor:grouped
                                      name:nil];
  EXPECT_EQ(shape(y), shape(same));
  expect_near(run(y), run(same));
  MPSGraphTensor* g = feed(shape(y), scattered(run(y).size(), 4));
  expect_gradient(
      [graph
          depthwiseConvolution3DDataGradientWithIncomingGradientTensor:g
                                                         weightsTensor:w
                                                           outputShape:[x shape]
                                                            descriptor:d
                                                                  name:nil],
      x, y, g);
  expect_gradient(
      [graph
          depthwiseConvolution3DWeightsGradientWithIncomingGradientTensor:g
                                                             sourceTensor:x
                                                              outputShape:
                                                                  [w shape]
                                                               descriptor:d
                                                                     name:nil],
      w, y, g);
}

MPSGraphPooling2DOpDescriptor* pool(int kernel, int stride, int left) {
  MPSGraphPooling2DOpDescriptor* d =
      [MPSGraphPooling2DOpDescriptor descriptorWithKernelWidth:kernel
                                                  kernelHeight:1
                                                     strideInX:stride
                                                     strideInY:1
                                                  paddingStyle:kExplicit
                                                    dataLayout:kNCHW];
  [d setPaddingLeft:left];
  return d;
}

TEST_F(WindowTest, Pooling) {
  MPSGraphTensor* x = feed({1, 1, 1, 5}, {-1, -3, 2, 2, 8});
  MPSGraphPooling2DOpDescriptor* d = pool(2, 2, 1);
  const auto max = [&] {
    return run([graph maxPooling2DWithSourceTensor:x descriptor:d name:nil]);
  };
  const auto average = [&] {
    return run([graph avgPooling2DWithSourceTensor:x descriptor:d name:nil]);
  };
  EXPECT_EQ(max(), (Values{-1, 2, 8}));
  EXPECT_EQ(average(), (Values{-1, -0.5, 5}));
  [d setIncludeZeroPadToAverage:YES];
  EXPECT_EQ(average(), (Values{-0.5, -0.5, 5}));
  [d setPaddingLeft:0];
  EXPECT_EQ(max(), (Values{-1, 2}));
  [d setCeilMode:YES];
  EXPECT_EQ(max(), (Values{-1, 2, 8}));
}

TEST_F(WindowTest, TheFirstMaximumHasTheGradient) {
  MPSGraphTensor* x = feed({1, 1, 1, 4}, {5, 5, 1, 1});
  MPSGraphTensor* dx =
      [graph maxPooling2DGradientWithGradientTensor:feed({1, 1, 1, 2}, {1, 2})
                                       sourceTensor:x
                                         descriptor:pool(2, 2, 0)
                                               name:nil];
  EXPECT_EQ(run(dx), (Values{1, 0, 2, 0}));
}

TEST_F(WindowTest, PoolingGradients) {
  MPSGraphTensor* x =
      feed({1, 2, 2, 3}, {1, -2, 3, 4, -5, 6, 2, 7, -3, 5, 9, -1});
  MPSGraphPooling2DOpDescriptor* d = pool(2, 1, 1);
  [d setDataLayout:kNHWC];
  MPSGraphTensor* max = [graph maxPooling2DWithSourceTensor:x
                                                 descriptor:d
                                                       name:nil];
  MPSGraphTensor* g = feed(shape(max), scattered(12));
  expect_gradient([graph maxPooling2DGradientWithGradientTensor:g
                                                   sourceTensor:x
                                                     descriptor:d
                                                           name:nil],
                  x, max, g);
  expect_gradient(
      [graph avgPooling2DGradientWithGradientTensor:g
                                       sourceTensor:x
                                         descriptor:d
                                               name:nil],
      x, [graph avgPooling2DWithSourceTensor:x descriptor:d name:nil], g);
}

TEST_F(WindowTest, L2NormPooling) {
  MPSGraphTensor* x = feed({1, 1, 2, 4}, {3, 4, 0, 0, 0, 0, 0, 0});
  MPSGraphPooling4DOpDescriptor* d = [MPSGraphPooling4DOpDescriptor
      descriptorWithKernelSizes:@[ @1, @1, @2, @2 ]
                   paddingStyle:kExplicit];
  [d setStrides:@[ @1, @1, @2, @2 ]];
  MPSGraphTensor* y = [graph L2NormPooling4DWithSourceTensor:x
                                                  descriptor:d
                                                        name:nil];
  EXPECT_EQ(run(y), (Values{5, 0}));
  MPSGraphTensor* dx = [graph
      L2NormPooling4DGradientWithGradientTensor:feed({1, 1, 1, 2}, {10, 10})
                                   sourceTensor:x
                                     descriptor:d
                                           name:nil];
  expect_near(run(dx), {6, 8, 0, 0, 0, 0, 0, 0});
}

TEST_F(WindowTest, Refusals) {
  MPSGraphTensor* x = feed({1, 2, 3, 3}, scattered(18));
  MPSGraphTensor* w = feed({2, 2, 2, 2}, scattered(16));
  MPSGraphTensor* g = feed({1, 2, 2, 2}, scattered(8));
  MPSGraphTensor* flat = feed({18}, scattered(18));
  const auto convolve = [&](MPSGraphTensor* source, auto* d) {
    return refusal([&] {
      [graph convolution2DWithSourceTensor:source
                             weightsTensor:w
                                descriptor:d
                                      name:nil];
    });
  };
  EXPECT_EQ(convolve(x, descriptor(1, 1, 0, 1)), "");
  EXPECT_NE(convolve(flat, descriptor(1, 1, 0, 1)), "");
  EXPECT_NE(convolve(x, descriptor(1, 1, 0, 2)), "");
  EXPECT_NE(convolve(x, descriptor(0, 1, 0, 1)), "");
  EXPECT_NE(convolve(x, descriptor(1, 3, 0, 1)), "");
  EXPECT_NE(convolve(x, (MPSGraphConvolution2DOpDescriptor*)nil), "");
  MPSGraphConvolution2DOpDescriptor* layout = descriptor(1, 1, 0, 1);
  [layout setDataLayout:kOIHW];
  EXPECT_NE(convolve(x, layout), "");

  const auto weights_gradient = [&](NSArray* output_shape) {
    MPSGraphConvolution2DOpDescriptor* d = descriptor(1, 1, 0, 1);
    return refusal([&] {
      [graph convolution2DWeightsGradientWithIncomingGradientTensor:g
                                                       sourceTensor:x
                                                        outputShape:output_shape
                                       forwardConvolutionDescriptor:d
                                                               name:nil];
    });
  };
  EXPECT_EQ(weights_gradient([w shape]), "");
  EXPECT_NE(weights_gradient([x shape]), "");
  EXPECT_NE(weights_gradient(nil), "");
  const auto data_gradient = [&](NSArray* output_shape) {
    MPSGraphConvolution2DOpDescriptor* d = descriptor(1, 1, 0, 1);
    return refusal([&] {
      [graph convolution2DDataGradientWithIncomingGradientTensor:g
                                                   weightsTensor:w
                                                     outputShape:output_shape
                                    forwardConvolutionDescriptor:d
                                                            name:nil];
    });
  };
  EXPECT_EQ(data_gradient([x shape]), "");
  EXPECT_NE(data_gradient([w shape]), "");
  EXPECT_NE(refusal([&] {
              [graph maxPooling2DWithSourceTensor:flat
                                       descriptor:pool(2, 1, 0)
                                             name:nil];
            }),
            "");
  EXPECT_NE(refusal([&] {
              [graph maxPooling2DWithSourceTensor:x
                                       descriptor:pool(4, 1, 0)
                                             name:nil];
            }),
            "");
  EXPECT_NE(refusal([&] {
              [graph avgPooling2DGradientWithGradientTensor:g
                                               sourceTensor:x
                                                 descriptor:pool(2, 1, 0)
                                                       name:nil];
            }),
            "");
}

}  // namespace
