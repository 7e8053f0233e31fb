// SPDX-License-Identifier: MIT
// Convolutions as nodes: against plain sums, gradients against differences of
// the forward filter, weights and their updates.
#include <algorithm>
#include <cmath>

#include "emulator/control.h"
#import "mpsnn_support.h"

namespace {

struct ConvolutionSetting {
  int width = 3, height = 3, inputs = 2, outputs = 3;
  int stride_x = 1, stride_y = 1, dilation_x = 1, dilation_y = 1, groups = 1;
  bool is_depthwise = false;
  MPSNNPaddingMethod padding =
      MPSNNPaddingMethodSizeSame | MPSNNPaddingMethodAddRemainderToBottomRight;
  Size image{2, 5, 6};

  int inputs_per_group() const { return is_depthwise ? 1 : inputs / groups; }
  int num_weights() const {
    return outputs * height * width * inputs_per_group();
  }
};

std::vector<ConvolutionSetting> settings() {
  const auto valid = MPSNNPaddingMethodSizeValidOnly;
  const auto full = MPSNNPaddingMethodSizeFull;
  const auto same_bottom =
      MPSNNPaddingMethodSizeSame | MPSNNPaddingMethodAddRemainderToBottomRight;
  return {
      {},
      {.width = 2, .height = 4, .padding = same_bottom},
      {.width = 2, .height = 4, .padding = MPSNNPaddingMethodSizeSame},
      {.stride_x = 2, .stride_y = 3, .padding = same_bottom},
      {.width = 2, .dilation_x = 2, .dilation_y = 2, .padding = valid},
      {.padding = full},
      {.inputs = 8, .outputs = 8, .groups = 2, .image = {8, 4, 4}},
      {.inputs = 3, .outputs = 3, .is_depthwise = true, .image = {3, 4, 5}},
  };
}

class MpsnnConvolutionTest : public MpsnnTest {
 protected:
  MPSCNNConvolutionDescriptor* descriptor(const ConvolutionSetting& s) {
    Class kind = s.is_depthwise ? [MPSCNNDepthWiseConvolutionDescriptor class]
                                : [MPSCNNConvolutionDescriptor class];
    MPSCNNConvolutionDescriptor* d =
        [kind cnnConvolutionDescriptorWithKernelWidth:s.width
                                         kernelHeight:s.height
                                 inputFeatureChannels:s.inputs
                                outputFeatureChannels:s.outputs];
    [d setStrideInPixelsX:s.stride_x];
    [d setStrideInPixelsY:s.stride_y];
    [d setDilationRateX:s.dilation_x];
    [d setDilationRateY:s.dilation_y];
    [d setGroups:s.groups];
    return d;
  }

  template <class Source = TestConvolution>
  TestConvolution* source(const ConvolutionSetting& s) {
    return [Source sourceWith:descriptor(s)
                      weights:random(s.num_weights())
                       biases:random(s.outputs)];
  }

  MPSCNNConvolutionNode* node(const ConvolutionSetting& s,
                              TestConvolution* source) {
    MPSCNNConvolutionNode* node =
        [MPSCNNConvolutionNode nodeWithSource:input(@"x") weights:source];
    [node setPaddingPolicy:[MPSNNDefaultPadding paddingWithMethod:s.padding]];
    return node;
  }

  std::vector<std::vector<float>> forward(const ConvolutionSetting& s,
                                          TestConvolution* source,
                                          MPSImageBatch* x) {
    return values(run(graph([node(s, source) resultImage]), {{"x", x}}));
  }
};

/// How many pixels lie before the first window, by TensorFlow's rules; only
/// for what the settings use.
int pixels_before(MPSNNPaddingMethod padding, int length, int extent,
                  int stride) {
  if (padding & MPSNNPaddingMethodSizeFull) return extent - 1;
  if (!(padding & MPSNNPaddingMethodSizeSame)) return 0;
  const int results = (length + stride - 1) / stride;
  const int extra = std::max((results - 1) * stride + extent - length, 0);
  const bool is_bottom = padding & MPSNNPaddingMethodAddRemainderToBottomRight;
  return is_bottom ? extra / 2 : (extra + 1) / 2;
}

/// The sum of the specification, for one element.
double convolved(const ConvolutionSetting& s, const TestConvolution* source,
                 const std::vector<float>& x, int o, int oy, int ox) {
  const int before_x = pixels_before(
      s.padding, s.image.width, (s.width - 1) * s.dilation_x + 1, s.stride_x);
  const int before_y = pixels_before(
      s.padding, s.image.height, (s.height - 1) * s.dilation_y + 1, s.stride_y);
  const int per_group = s.is_depthwise ? 1 : s.outputs / s.groups;
  double sum = (*source->_biases)[o];
  for (int v = 0; v < s.height; ++v) {
    for (int u = 0; u < s.width; ++u) {
      for (int i = 0; i < s.inputs_per_group(); ++i) {
        const int iy = oy * s.stride_y - before_y + v * s.dilation_y;
        const int ix = ox * s.stride_x - before_x + u * s.dilation_x;
        if (iy < 0 || iy >= s.image.height || ix < 0 || ix >= s.image.width) {
          continue;
        }
        const int c = o / per_group * s.inputs_per_group() + i;
        const int w =
            ((o * s.height + v) * s.width + u) * s.inputs_per_group() + i;
        sum += double((*source->_weights)[w]) *
               x[(c * s.image.height + iy) * s.image.width + ix];
      }
    }
  }
  return sum;
}

TEST_F(MpsnnConvolutionTest, IsTheSumOfTheSpecification) {
  for (const ConvolutionSetting& s : settings()) {
    TestConvolution* weights = source(s);
    const auto x = random_batch(2, s.image);
    MPSImageBatch* y =
        run(graph([node(s, weights) resultImage]), {{"x", batch(s.image, x)}});
    for (int n = 0; n < 2; ++n) {
      MPSImage* image = [y objectAtIndex:n];
      const auto got = values(image);
      std::size_t at = 0;
      for (int o = 0; o < s.outputs; ++o) {
        for (int oy = 0; oy < int([image height]); ++oy) {
          for (int ox = 0; ox < int([image width]); ++ox) {
            EXPECT_NEAR(got[at++], convolved(s, weights, x[n], o, oy, ox),
                        1e-5);
          }
        }
      }
    }
    EXPECT_EQ(weights->_loadCount, weights->_purgeCount);
  }
}

TEST_F(MpsnnConvolutionTest, GradientsAreDifferencesOfTheForward) {
  constexpr float kStep = 1e-2f;
  for (const ConvolutionSetting& s : settings()) {
    TestConvolution* weights = source(s);
    auto x = random_batch(2, s.image);
    const auto y = forward(s, weights, batch(s.image, x));
    MPSCNNConvolutionNode* made = node(s, weights);
    [[made resultState] setExportFromGraph:YES];
    MPSImage* shape = [run(graph([made resultImage]),
                           {{"x", batch(s.image, x)}}) objectAtIndex:0];
    const Size size{int([shape featureChannels]), int([shape height]),
                    int([shape width])};
    const auto g = random_batch(2, size);
    MPSNNFilterNode* gradient = [made gradientFilterWithSource:input(@"g")];
    NSMutableArray* states = [NSMutableArray array];
    const auto dx = values(
        run(graph([gradient resultImage]),
            {{"x", batch(s.image, x)}, {"g", batch(size, g)}}, nil, states));
    MPSCNNConvolutionGradientState* state =
        [[states objectAtIndex:0] objectAtIndex:0];
    auto difference = [&](float& value) {
      const float kept = value;
      value = kept + kStep;
      const double above = dot(forward(s, weights, batch(s.image, x)), g);
      value = kept - kStep;
      const double below = dot(forward(s, weights, batch(s.image, x)), g);
      value = kept;
      return (above - below) / (2 * kStep);
    };
    for (int k = 0; k < 4; ++k) {
      const std::size_t i = random_() % x[1].size();
      EXPECT_NEAR(dx[1][i], difference(x[1][i]), 2e-3);
      const std::size_t w = random_() % weights->_weights->size();
      EXPECT_NEAR(floats([state gradientForWeights])[w],
                  difference((*weights->_weights)[w]), 2e-3);
      const std::size_t b = random_() % weights->_biases->size();
      EXPECT_NEAR(floats([state gradientForBiases])[b],
                  difference((*weights->_biases)[b]), 2e-3);
    }
  }
}

TEST_F(MpsnnConvolutionTest, FullyConnectedCoversTheWholeImage) {
  ConvolutionSetting s{.width = 3, .height = 2, .image = {2, 2, 3}};
  s.padding = MPSNNPaddingMethodSizeValidOnly;
  TestConvolution* weights = source(s);
  MPSCNNFullyConnectedNode* made =
      [MPSCNNFullyConnectedNode nodeWithSource:input(@"x") weights:weights];
  const auto x = random_batch(1, s.image);
  MPSImageBatch* y = run(graph([made resultImage]), {{"x", batch(s.image, x)}});
  ASSERT_EQ(values(y)[0].size(), 3u);
  for (int o = 0; o < 3; ++o) {
    EXPECT_NEAR(values(y)[0][o], convolved(s, weights, x[0], o, 0, 0), 1e-5);
  }
  EXPECT_TRUE([[made gradientFilterWithSource:input(@"g")]
      isKindOfClass:[MPSCNNFullyConnectedGradientNode class]]);
  MPSNNGraph* other = graph([made resultImage]);
  const Size wrong{2, 3, 3};
  EXPECT_NE(raised(^{
              run(other, {{"x", batch(wrong, random_batch(1, wrong))}});
            }),
            "");
}

/// The result of y is where the convolution over the source with zeros between
/// its pixels is; the weights are not turned.
TEST_F(MpsnnConvolutionTest, TransposedSpreadsTheSource) {
  ConvolutionSetting s{
      .width = 3, .height = 1, .inputs = 1, .outputs = 1, .stride_x = 2};
  TestConvolution* weights = [TestConvolution sourceWith:descriptor(s)
                                                 weights:{1, 10, 100}
                                                  biases:{0}];
  MPSCNNConvolutionTransposeNode* made =
      [MPSCNNConvolutionTransposeNode nodeWithSource:input(@"x")
                            convolutionGradientState:nil
                                             weights:weights];
  [made setPaddingPolicy:[MPSNNDefaultPadding
                             paddingWithMethod:MPSNNPaddingMethodSizeFull]];
  MPSImageBatch* y =
      run(graph([made resultImage]), {{"x", batch({1, 1, 2}, {{1, 2}})}});
  // 0 0 1 0 2 0 0 under 1 10 100.
  EXPECT_EQ(values(y)[0], (std::vector<float>{100, 10, 201, 20, 2}));
}

TEST_F(MpsnnConvolutionTest, TransposedGoesBackToTheSizeOfItsConvolution) {
  ConvolutionSetting s{.stride_x = 2, .stride_y = 3};
  s.image = {2, 5, 6};
  MPSCNNConvolutionNode* there = node(s, source(s));
  ConvolutionSetting back = s;
  std::swap(back.inputs, back.outputs);
  TestConvolution* weights = source(back);
  MPSCNNConvolutionTransposeNode* made = [MPSCNNConvolutionTransposeNode
                nodeWithSource:[there resultImage]
      convolutionGradientState:[there convolutionGradientState]
                       weights:weights];
  auto x = random_batch(1, s.image);
  MPSNNGraph* forward = graph([made resultImage]);
  MPSImageBatch* y = run(forward, {{"x", batch(s.image, x)}});
  EXPECT_EQ([[y objectAtIndex:0] width], 6u);
  EXPECT_EQ([[y objectAtIndex:0] height], 5u);
  EXPECT_EQ([[y objectAtIndex:0] featureChannels], 2u);

  MPSNNFilterNode* first = [made gradientFilterWithSource:input(@"g")];
  MPSNNFilterNode* second =
      [there gradientFilterWithSource:[first resultImage]];
  const auto g = random_batch(1, s.image);
  const auto dx =
      values(run(graph([second resultImage]),
                 {{"x", batch(s.image, x)}, {"g", batch(s.image, g)}}));
  constexpr float kStep = 1e-2f;
  for (std::size_t i = 0; i < x[0].size(); i += 7) {
    const float kept = x[0][i];
    x[0][i] = kept + kStep;
    const auto above = values(run(forward, {{"x", batch(s.image, x)}}));
    x[0][i] = kept - kStep;
    const auto below = values(run(forward, {{"x", batch(s.image, x)}}));
    x[0][i] = kept;
    EXPECT_NEAR(dx[0][i], (dot(above, g) - dot(below, g)) / (2 * kStep), 5e-3);
  }
}

TEST_F(MpsnnConvolutionTest, WeightsAreHalvesUnlessAskedOtherwise) {
  ConvolutionSetting s{.width = 1, .height = 1, .inputs = 1, .outputs = 1};
  s.image = {1, 1, 1};
  TestConvolution* weights = [TestConvolution sourceWith:descriptor(s)
                                                 weights:{0.1f}
                                                  biases:{0.1f}];
  EXPECT_EQ(forward(s, weights, batch(s.image, {{1}}))[0][0], 0.1f + 0.1f);
  weights->_kernelType = MPSDataTypeFloat16;
  EXPECT_EQ(forward(s, weights, batch(s.image, {{1}}))[0][0],
            float(_Float16(0.1f)) + 0.1f);
  weights->_kernelType = MPSDataTypeFloat32;
  MPSCNNConvolutionNode* made = node(s, weights);
  [made setAccumulatorPrecision:MPSNNConvolutionAccumulatorPrecisionOptionHalf];
  EXPECT_NE(raised(^{
              graph([made resultImage]);
            }),
            "");
}

TEST_F(MpsnnConvolutionTest, DeviceUpdatesAreUsedByTheNextRun) {
  const long unread = emulator::counters().unread_temporaries;
  ConvolutionSetting s{.width = 1, .height = 1, .inputs = 1, .outputs = 1};
  TestConvolution* weights = [TestGpuConvolution sourceWith:descriptor(s)
                                                    weights:{2}
                                                     biases:{1}];
  MPSCNNConvolutionNode* made = node(s, weights);
  [[made resultImage] setExportFromGraph:YES];
  [[made resultImage] setImageAllocator:[MPSImage defaultAllocator]];
  MPSNNFilterNode* gradient = [made gradientFilterWithSource:input(@"g")];
  MPSNNGraph* training = [MPSNNGraph graphWithDevice:device_
                                         resultImage:[gradient resultImage]
                                 resultImageIsNeeded:NO];
  [training setFormat:MPSImageFeatureChannelFormatFloat32];
  const Size size{1, 1, 1};
  // Images 3 and 4, gradients 1 and 1: sums 7 and 2.
  std::vector<float> seen;
  for (int i = 0; i < 2; ++i) {
    NSMutableArray* outputs = [NSMutableArray array];
    EXPECT_EQ(
        run(training,
            {{"x", batch(size, {{3}, {4}})}, {"g", batch(size, {{1}, {1}})}},
            outputs),
        nil);
    seen.push_back(values((MPSImageBatch*)[outputs objectAtIndex:0])[0][0]);
  }
  EXPECT_EQ(seen, (std::vector<float>{7, 3 * (2 - 3.5f) + (1 - 1)}));
  EXPECT_EQ(weights->_updateCount, 2);
  EXPECT_EQ((*weights->_weights)[0], 2);
  EXPECT_EQ(weights->_loadCount, 1);
  // What the device learned is lost.
  [training reloadFromDataSources];
  EXPECT_EQ(weights->_loadCount, 2);
  EXPECT_EQ(emulator::counters().unread_temporaries, unread);
}

TEST_F(MpsnnConvolutionTest, HostUpdatesHappenAfterTheCommandBuffer) {
  ConvolutionSetting s{.width = 1, .height = 1, .inputs = 1, .outputs = 1};
  TestConvolution* weights = [TestCpuConvolution sourceWith:descriptor(s)
                                                    weights:{2}
                                                     biases:{1}];
  MPSCNNConvolutionNode* made = node(s, weights);
  [made setTrainingStyle:MPSNNTrainingStyleUpdateDeviceCPU];
  MPSNNFilterNode* gradient = [made gradientFilterWithSource:input(@"g")];
  MPSNNGraph* training = graph([gradient resultImage]);
  const Size size{1, 1, 1};
  run(training, {{"x", batch(size, {{3}})}, {"g", batch(size, {{1}})}});
  EXPECT_EQ((*weights->_weights)[0], 0.5f);
  EXPECT_EQ((*weights->_biases)[0], 0.5f);
  EXPECT_EQ(weights->_loadCount, 2);
  EXPECT_EQ(weights->_purgeCount, 2);
  const auto dx = values(
      run(training, {{"x", batch(size, {{3}})}, {"g", batch(size, {{1}})}}));
  EXPECT_EQ(dx[0][0], 0.5f);
}

TEST_F(MpsnnConvolutionTest, MisuseRaises) {
  ConvolutionSetting s;
  EXPECT_NE(raised(^{
              [MPSCNNConvolutionNode nodeWithSource:input(@"x")
                                            weights:(id) @"no source"];
            }),
            "");
  for (ConvolutionSetting bad :
       {ConvolutionSetting{.inputs = 4, .outputs = 4, .groups = 2},
        ConvolutionSetting{.outputs = 4, .is_depthwise = true},
        ConvolutionSetting{.stride_x = 0}}) {
    MPSCNNConvolutionNode* made = node(bad, source(bad));
    EXPECT_NE(raised(^{
                graph([made resultImage]);
              }),
              "");
  }
  TestConvolution* weights = source(s);
  weights->_loads = NO;
  EXPECT_EQ(graph([node(s, weights) resultImage]), nil);
  MPSNNGraph* plain = graph([node(s, source(s)) resultImage]);
  const Size wrong{3, 4, 4};
  EXPECT_NE(raised(^{
              run(plain, {{"x", batch(wrong, random_batch(1, wrong))}});
            }),
            "");
}

}  // namespace
