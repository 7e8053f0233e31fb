// SPDX-License-Identifier: MIT
// Padding policies: sizes and offsets by the bits, and by the caller's object.
#include "mpsnn/padding.h"
#import "mpsnn_support.h"

using emulator::mpsnn::place;
using emulator::mpsnn::Placement;
using emulator::mpsnn::Window;

/// So many pixels before and after the source.
@interface TestPadding : TestCallback <MPSNNPadding> {
 @public
  NSInteger _left, _right, _top, _bottom;
}
@end

@implementation TestPadding
- (MPSNNPaddingMethod)paddingMethod {
  return MPSNNPaddingMethodCustom | MPSNNPaddingMethodSizeSame;
}
- (MPSImageDescriptor*)
    destinationImageDescriptorForSourceImages:(NSArray<MPSImage*>*)images
                                 sourceStates:(NSArray<MPSState*>*)states
                                    forKernel:(MPSKernel*)kernel
                          suggestedDescriptor:(MPSImageDescriptor*)descriptor {
  (void)states;
  auto* own = (MPSCNNKernel*)kernel;
  const NSInteger width = [own kernelWidth], height = [own kernelHeight];
  MPSImage* source = [images objectAtIndex:0];
  [own setOffset:MPSOffset{width / 2 - _left, height / 2 - _top, 0}];
  [descriptor setWidth:([source width] + _left + _right - width) /
                           [own strideInPixelsX] +
                       1];
  [descriptor setHeight:([source height] + _top + _bottom - height) /
                            [own strideInPixelsY] +
                        1];
  return descriptor;
}
@end

namespace {

using MpsnnPaddingTest = MpsnnTest;

constexpr MPSNNPaddingMethod kTensorFlowSame =
    MPSNNPaddingMethodSizeSame | MPSNNPaddingMethodAddRemainderToBottomRight;

Placement of(MPSNNPaddingMethod method, int length, int kernel, int stride) {
  Window window;
  window.kernel_width = kernel;
  window.stride_x = stride;
  return place(method, window, {1, 1, length}, 1);
}

TEST_F(MpsnnPaddingTest, BitsGiveSizesAndOffsets) {
  EXPECT_EQ(of(kTensorFlowSame, 5, 3, 1).result.width, 5);
  EXPECT_EQ(of(kTensorFlowSame, 5, 3, 2).result.width, 3);
  EXPECT_EQ(of(MPSNNPaddingMethodSizeValidOnly, 5, 3, 2).result.width, 2);
  EXPECT_EQ(of(MPSNNPaddingMethodSizeFull, 5, 3, 1).result.width, 7);
  EXPECT_EQ(of(MPSNNPaddingMethodSizeValidOnly, 2, 3, 1).result.width, 0);
  // Centre of the first window; an even one has one pixel more before it.
  EXPECT_EQ(of(kTensorFlowSame, 5, 3, 1).offset_x, 0);
  EXPECT_EQ(of(kTensorFlowSame, 6, 3, 2).offset_x, 1);
  EXPECT_EQ(of(MPSNNPaddingMethodSizeSame, 6, 3, 2).offset_x, 0);
  EXPECT_EQ(of(MPSNNPaddingMethodSizeValidOnly, 5, 3, 1).offset_x, 1);
  EXPECT_EQ(of(MPSNNPaddingMethodSizeFull, 5, 3, 1).offset_x, -1);
}

TEST_F(MpsnnPaddingTest, ObjectsOfTheCallerPlaceWindows) {
  auto* descriptor =
      [MPSCNNConvolutionDescriptor cnnConvolutionDescriptorWithKernelWidth:2
                                                              kernelHeight:1
                                                      inputFeatureChannels:1
                                                     outputFeatureChannels:1];
  TestConvolution* weights = [TestConvolution sourceWith:descriptor
                                                 weights:{1, 10}
                                                  biases:{}];
  MPSCNNConvolutionNode* node =
      [MPSCNNConvolutionNode nodeWithSource:input(@"x") weights:weights];
  TestPadding* padding = [[TestPadding new] autorelease];
  padding->_left = 2;
  padding->_right = 1;
  [node setPaddingPolicy:padding];
  const Size size{1, 1, 3};
  MPSImageBatch* y =
      run(graph([node resultImage]), {{"x", batch(size, {{1, 2, 3}})}});
  EXPECT_EQ(values(y)[0], (std::vector<float>{0, 10, 21, 32, 3}));
  // The gradient goes where the forward filter was.
  MPSNNFilterNode* gradient = [node gradientFilterWithSource:input(@"g")];
  MPSImageBatch* dx = run(graph([gradient resultImage]),
                          {{"x", batch(size, {{1, 2, 3}})},
                           {"g", batch({1, 1, 5}, {{1, 2, 3, 4, 5}})}});
  EXPECT_EQ(values(dx)[0], (std::vector<float>{23, 34, 45}));
}

TEST_F(MpsnnPaddingTest, WhatDoesNotFitIsRefused) {
  auto* descriptor =
      [MPSCNNConvolutionDescriptor cnnConvolutionDescriptorWithKernelWidth:4
                                                              kernelHeight:1
                                                      inputFeatureChannels:1
                                                     outputFeatureChannels:1];
  TestConvolution* weights = [TestConvolution sourceWith:descriptor
                                                 weights:{1, 1, 1, 1}
                                                  biases:{}];
  MPSCNNConvolutionNode* node =
      [MPSCNNConvolutionNode nodeWithSource:input(@"x") weights:weights];
  [node
      setPaddingPolicy:[MPSNNDefaultPadding
                           paddingWithMethod:MPSNNPaddingMethodSizeValidOnly]];
  MPSNNGraph* made = graph([node resultImage]);
  EXPECT_NE(raised(^{
              run(made, {{"x", batch({1, 1, 3}, {{1, 2, 3}})}});
            }),
            "");
}

}  // namespace
