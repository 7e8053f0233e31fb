// SPDX-License-Identifier: MIT
// Image graphs (MPSNN): pooling, transposed convolution, upsampling, and the
// normalizations that are printed with two meanings.
#include <cmath>

#include "metal/assumptions.h"
#include "metal/gpu_limits.h"
#import "tests/metal_probes/image_parameters.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

template <class Node>
Node* pooling(MPSNNImageNode* source, NSUInteger width, NSUInteger height) {
  return [[[Node alloc] initWithSource:source
                           kernelWidth:width
                          kernelHeight:height
                       strideInPixelsX:1
                       strideInPixelsY:1] autorelease];
}

MPSNNDefaultPadding* size_of(MPSNNPaddingMethod size) {
  return [MPSNNDefaultPadding
      paddingWithMethod:size | MPSNNPaddingMethodAlignCentered];
}

std::string max_ties() {
  ImageLab lab;
  auto* node = pooling<MPSCNNPoolingMaxNode>(
      lab.input({2, 7, 7, 7, 7, 1}, {1, 1, 2, 3}), 3, 2);
  [node setPaddingPolicy:size_of(MPSNNPaddingMethodSizeValidOnly)];
  MPSNNGradientFilterNode* gradient =
      [node gradientFilterWithSource:lab.row({1})];
  return explain(lab.run(gradient),
                 {{"first", {0, 1, 0, 0, 0, 0}},
                  {"last", {0, 0, 0, 0, 1, 0}},
                  {"all", {0, 1, 1, 1, 1, 0}},
                  {"first in column-major order", {0, 0, 0, 1, 0, 0}}});
}

std::string average_at_borders() {
  ImageLab lab;
  auto* node = pooling<MPSCNNPoolingAverageNode>(lab.row({2, 4, 8}), 3, 1);
  [node setPaddingPolicy:size_of(MPSNNPaddingMethodSizeSame)];
  return explain(lab.run(node), {{"the samples inside", {3, 14 / 3.0F, 6}},
                                 {"the whole window", {2, 14 / 3.0F, 4}},
                                 {"the whole window, which repeats the border",
                                  {8 / 3.0F, 14 / 3.0F, 20 / 3.0F}}});
}

std::string l2_at_borders() {
  ImageLab lab;
  auto* node = pooling<MPSCNNPoolingL2NormNode>(lab.row({3, 4, 0}), 3, 1);
  [node setPaddingPolicy:size_of(MPSNNPaddingMethodSizeSame)];
  return explain(lab.run(node), {{"zeros", {5, 5, 4}},
                                 {"the border", {std::sqrt(34.0F), 5, 4}}});
}

std::string l2_of_zeros() {
  ImageLab lab;
  auto* node = pooling<MPSCNNPoolingL2NormNode>(lab.row({0, 0}), 2, 1);
  [node setPaddingPolicy:size_of(MPSNNPaddingMethodSizeValidOnly)];
  const float nan = std::nanf("");
  return explain(lab.run([node gradientFilterWithSource:lab.row({1})]),
                 {{"0", {0, 0}}, {"NaN", {nan, nan}}});
}

/// Part of `whole`: from which element?
std::string place_in(const Numbers& whole, const Numbers& part) {
  for (std::size_t start = 0; start + part.size() <= whole.size(); ++start) {
    const auto from = whole.begin() + static_cast<std::ptrdiff_t>(start);
    const auto to = from + static_cast<std::ptrdiff_t>(part.size());
    if (are_near({from, to}, part)) {
      return " from tap " + std::to_string(start) + ", " +
             std::to_string(part.size()) + " of them";
    }
  }
  return {};
}

/// (1, 2) under weights (1, 10, 100) and stride 2: y[2 i + u - left] += w[u]
/// x[i] says where they go, and whether the kernel is turned.
std::string transposed() {
  ProbeParameters parameters({{"weights", {1, 10, 100}}, {"biases", {0}}});
  ImageLab lab;
  MPSCNNConvolutionTransposeNode* node = [MPSCNNConvolutionTransposeNode
                nodeWithSource:lab.row({1, 2})
      convolutionGradientState:nil
                       weights:[TGConvolutionData
                                   dataWithDescriptor:row_kernel(3, 2)
                                           parameters:&parameters]];
  [node
      setAccumulatorPrecision:MPSNNConvolutionAccumulatorPrecisionOptionFloat];
  [node setPaddingPolicy:size_of(MPSNNPaddingMethodSizeSame)];
  const Numbers got = lab.run(node);
  const std::string written = place_in({1, 10, 102, 20, 200}, got);
  if (!written.empty()) return "as written," + written;
  const std::string turned = place_in({100, 10, 201, 20, 2}, got);
  return turned.empty() ? "something else: " + text(got) : "turned," + turned;
}

/// By the state of a convolution: of the size of its source.
std::string transposed_by_state() {
  ProbeParameters forward({{"weights", {1, 0, 0}}, {"biases", {0}}});
  ProbeParameters back({{"weights", {1, 10, 100}}, {"biases", {0}}});
  ImageLab lab;
  MPSCNNConvolutionNode* node =
      convolution(lab.row({1, 2, 3, 4, 5}), forward, row_kernel(3, 2));
  [node setPaddingPolicy:size_of(MPSNNPaddingMethodSizeValidOnly)];
  MPSCNNConvolutionTransposeNode* inverse = [MPSCNNConvolutionTransposeNode
                nodeWithSource:[node resultImage]
      convolutionGradientState:[node convolutionGradientState]
                       weights:[TGConvolutionData
                                   dataWithDescriptor:row_kernel(3, 2)
                                           parameters:&back]];
  [inverse
      setAccumulatorPrecision:MPSNNConvolutionAccumulatorPrecisionOptionFloat];
  [inverse setPaddingPolicy:size_of(MPSNNPaddingMethodSizeValidOnly)];
  // The convolution gives (1, 3).
  return explain(lab.run(inverse), {{"as written", {1, 10, 103, 30, 300}},
                                    {"turned", {100, 10, 301, 30, 3}}});
}

std::string bilinear(BOOL aligns_corners) {
  const Numbers x = {2, 3, 5, 9};
  ImageLab lab;
  MPSCNNUpsamplingBilinearNode* node =
      [MPSCNNUpsamplingBilinearNode nodeWithSource:lab.row(x)
                               integerScaleFactorX:2
                               integerScaleFactorY:1
                                      alignCorners:aligns_corners];
  const auto spaced = [](float i, float n, float m) {
    return i * (n - n / m) / (m - 1);
  };
  return explain(lab.run(node),
                 {{"ends on ends", resized(x, ends_on_ends, 8)},
                  {"centres of pixels", resized(x, centres, 8)},
                  {"the upper left corners of pixels", resized(x, corners, 8)},
                  {"equal steps over all but a pixel", resized(x, spaced, 8)}});
}

std::string bilinear_aligned() { return bilinear(YES); }
std::string bilinear_not_aligned() { return bilinear(NO); }

std::string nearest() {
  ImageLab lab;
  MPSCNNUpsamplingNearestNode* node =
      [MPSCNNUpsamplingNearestNode nodeWithSource:lab.row({1, 2, 3})
                              integerScaleFactorX:2
                              integerScaleFactorY:1];
  return explain(lab.run(node), {{"repeats each", {1, 1, 2, 2, 3, 3}},
                                 {"is shifted", {1, 2, 2, 3, 3, 3}}});
}

// --- x / (delta + alpha / n sum x^2)^beta over n samples ---

using Formula = Numbers (*)(const Numbers& x);

/// Central differences of g y(x).
Numbers derivative(Formula formula, const Numbers& x, const Numbers& g) {
  constexpr float kStep = 1e-2F;
  Numbers gradient;
  for (std::size_t k = 0; k < x.size(); ++k) {
    Numbers above = x, below = x;
    above[k] += kStep;
    below[k] -= kStep;
    const Numbers high = formula(above), low = formula(below);
    float sum = 0;
    for (std::size_t i = 0; i < g.size(); ++i) sum += g[i] * (high[i] - low[i]);
    gradient.push_back(sum / (2 * kStep));
  }
  return gradient;
}

constexpr float kAlpha = 0.5F, kBeta = 0.75F, kDelta = 1;

Numbers over_all(const Numbers& x) {
  float sum = 0;
  for (float value : x) sum += value * value;
  Numbers y;
  const auto count = static_cast<float>(x.size());
  for (float value : x) {
    y.push_back(value / std::pow(kDelta + kAlpha / count * sum, kBeta));
  }
  return y;
}

/// Windows of 9 channels over 5, of 9 by 9 pixels over one of 5: all of them,
/// divided by the size of the window.
Numbers in_window_of(const Numbers& x, float size) {
  float sum = 0;
  for (float value : x) sum += value * value;
  Numbers y;
  for (float value : x) {
    y.push_back(value / std::pow(kDelta + kAlpha / size * sum, kBeta));
  }
  return y;
}
Numbers in_nine(const Numbers& x) { return in_window_of(x, 9); }
Numbers in_nine_by_nine(const Numbers& x) { return in_window_of(x, 81); }

std::string explain_contrast(MPSCNNNormalizationNode* node, ImageLab& lab,
                             const ImageShape& shape, Formula by_window) {
  const Numbers x = {1, -2, 0.5F, 3, -1}, g = {1, 0.5F, -1, 2, 0.25F};
  [node setAlpha:kAlpha];
  [node setBeta:kBeta];
  [node setDelta:kDelta];
  MPSNNGradientFilterNode* gradient =
      [node gradientFilterWithSource:lab.input(g, shape)];
  const Numbers got = lab.run(gradient);
  for (const auto& [name, formula] :
       {std::pair("by the window", by_window),
        std::pair("by the samples inside", Formula(over_all))}) {
    if (are_near(got, derivative(formula, x, g), 5e-3F)) {
      return std::string("exact, divided ") + name;
    }
  }
  return "another: " + text(got);
}

std::string cross_channel() {
  ImageLab lab;
  const ImageShape shape = {1, 5, 1, 1};
  return explain_contrast(
      [MPSCNNCrossChannelNormalizationNode
          nodeWithSource:lab.input({1, -2, 0.5F, 3, -1}, shape)
              kernelSize:9],
      lab, shape, in_nine);
}

std::string spatial() {
  ImageLab lab;
  const ImageShape shape = {1, 1, 1, 5};
  return explain_contrast(
      [MPSCNNSpatialNormalizationNode
          nodeWithSource:lab.input({1, -2, 0.5F, 3, -1}, shape)
              kernelSize:9],
      lab, shape, in_nine_by_nine);
}

}  // namespace

std::vector<Probe> image_window_probes() {
  const Remedy trust = {
      .constant = "trusts_misprinted_filters",
      .value = "true",
      .text = "once all that it stands for are exact; docs/nodes.md"};
  const Beginnings not_exact = {"another", "raised", "aborted"};
  return {
      {.name = "image_max_ties",
       .question = "MPSNN's max pooling has its gradient go to which of equal "
                   "samples",
       .answer = max_ties,
       .weight = Weight::Reliance,
       .expected = when(kImagePoolingPicksFirstOfTies, {"first"}),
       .remedy = {.constant = "kImagePoolingPicksFirstOfTies",
                  .value = "false"}},
      {.name = "image_average_borders",
       .question = "MPSNN's average pooling divides by",
       .answer = average_at_borders,
       .weight = Weight::Reliance,
       .expected = {"the samples inside"},
       .remedy = {.text = "reason_of(PoolingFilter) of metal/mpsnn/support.cpp "
                          "has to refuse all that reads outside"}},
      {.name = "image_l2_borders",
       .question = "MPSNN's L2 pooling reads outside of the image",
       .answer = l2_at_borders,
       .weight = Weight::Chance,
       .expected = {"the border", "something else"},
       .remedy = {.text = "reason_of(PoolingFilter) of metal/mpsnn/support.cpp "
                          "need not refuse it"},
       .emulated = {"zeros"}},
      {.name = "image_l2_zeros",
       .question = "MPSNN's L2 pooling's gradient where the window is zero",
       .answer = l2_of_zeros,
       .weight = Weight::Reliance,
       .expected = {"0"},
       .remedy = {.text = "reason_of(PoolingFilter) of metal/mpsnn/support.cpp "
                          "has to refuse L2 pooling that has a gradient"}},
      {.name = "image_transposed",
       .question = "MPSNN's transposed convolution of stride 2 puts its kernel",
       .answer = transposed,
       .weight = Weight::Chance,
       .expected = {"turned", "something else", "raised", "aborted"},
       .remedy = {.text = "reason_of(ConvolutionTransposeFilter) of "
                          "metal/mpsnn/support.cpp need not refuse it, if the "
                          "next probe says so too"},
       .may_abort = true},
      {.name = "image_transposed_state",
       .question = "MPSNN's transposed convolution with a convolution's state "
                   "puts its kernel",
       .answer = transposed_by_state,
       .weight = Weight::Chance,
       .expected = {"turned", "something else", "raised", "aborted"},
       .remedy = {.text = "reason_of(ConvolutionTransposeFilter) of "
                          "metal/mpsnn/support.cpp need not refuse it, if the "
                          "probe before says so too"},
       .may_abort = true},
      {.name = "image_bilinear_aligned",
       .question = "MPSNN's bilinear upsampling with aligned corners reads",
       .answer = bilinear_aligned,
       .weight = Weight::Reliance,
       .expected = {"ends on ends"},
       .remedy = {.text = "reason_of(UpsamplingFilter) of "
                          "metal/mpsnn/support.cpp has to refuse it"}},
      {.name = "image_bilinear",
       .question = "MPSNN's bilinear upsampling reads",
       .answer = bilinear_not_aligned,
       .weight = Weight::Chance,
       .expected = {"the upper left", "equal steps", "ends", "something else"},
       .remedy = {.text = "reason_of(UpsamplingFilter) of "
                          "metal/mpsnn/support.cpp need not refuse it"},
       .emulated = {"centres of pixels"}},
      {.name = "image_nearest",
       .question = "MPSNN's nearest upsampling by 2",
       .answer = nearest,
       .weight = Weight::Reliance,
       .expected = {"repeats each"},
       .remedy = {.text = "reason_of(UpsamplingFilter) of "
                          "metal/mpsnn/support.cpp has to refuse it"}},
      {.name = "image_cross_channel",
       .question = "the gradient of MPSNN's cross-channel normalization is",
       .answer = cross_channel,
       .weight = Weight::Chance,
       .expected = not_exact,
       .remedy = trust,
       .emulated = {"exact, divided by the window"},
       .may_abort = true},
      {.name = "image_spatial",
       .question = "the gradient of MPSNN's spatial normalization is",
       .answer = spatial,
       .weight = Weight::Chance,
       .expected = not_exact,
       .remedy = trust,
       .emulated = {"exact, divided by the window"},
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
