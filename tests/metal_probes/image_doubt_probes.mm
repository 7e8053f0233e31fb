// SPDX-License-Identifier: MIT
// Image graphs (MPSNN): what metal/mpsnn/support.cpp refuses because nobody
// knows. An answer that is as this library means it takes a refusal away.
#import "tests/metal_probes/image_parameters.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

/// Two groups of one channel each: (1, 2) times 3 and 5.
std::string small_groups() {
  ProbeParameters parameters({{"weights", {3, 5}}, {"biases", {0, 0}}});
  nodes::ConvolutionDescriptor d = row_kernel(1);
  d.input_feature_channels = d.output_feature_channels = 2;
  d.groups = 2;
  ImageLab lab;
  return explain(
      lab.run(convolution(lab.input({1, 2}, {1, 2, 1, 1}), parameters, d)),
      {{"one after the other", {3, 10}}});
}

std::string concatenated() {
  ImageLab lab;
  NSArray<MPSNNImageNode*>* sources =
      [NSArray arrayWithObjects:lab.input({1, 2}, {1, 2, 1, 1}),
                                lab.input({3}, {1, 1, 1, 1}), nil];
  MPSNNConcatenationNode* node =
      [MPSNNConcatenationNode nodeWithSources:sources];
  return explain(lab.run(node), {{"one after the other", {1, 2, 3}},
                                 {"filled up", {1, 2, 0, 0, 3}},
                                 {"filled up", {1, 2, 0, 0, 3, 0, 0, 0}}});
}

std::string broadcast_primary() {
  ImageLab lab;
  NSArray<MPSNNImageNode*>* sources =
      [NSArray arrayWithObjects:lab.row({10}), lab.row({1, 2, 3}), nil];
  MPSNNAdditionNode* node = [MPSNNAdditionNode nodeWithSources:sources];
  [node setPrimaryStrideInPixelsX:0];
  return explain(lab.run(node), {{"the secondary source's", {11, 12, 13}},
                                 {"the primary source's", {11}}});
}

/// Below 0, between and above b: slopes of a x below 0, cut at b.
std::string cut_off() {
  ImageLab lab;
  MPSCNNNeuronReLUNNode* node =
      [MPSCNNNeuronReLUNNode nodeWithSource:lab.row({-5, -0.5F, 0.5F, 3})
                                          a:-1
                                          b:2];
  const Numbers got =
      lab.run([node gradientFilterWithSource:lab.row({1, 1, 1, 1})]);
  return explain(got, {{"0 where it is cut off", {0, -1, 1, 0}},
                       {"the slope also where it is cut off", {-1, -1, 1, 0}},
                       {"the slopes, never cut off", {-1, -1, 1, 1}}});
}

std::string bilinear_scale() {
  const Numbers x = {2, 3, 5, 9};
  ImageLab lab;
  MPSNNBilinearScaleNode* node =
      [MPSNNBilinearScaleNode nodeWithSource:lab.row(x)
                                  outputSize:MTLSizeMake(6, 1, 1)];
  return explain(lab.run(node), {{"centres of pixels", resized(x, centres, 6)},
                                 {"ends on ends", resized(x, ends_on_ends, 6)},
                                 {"the upper left corners of pixels",
                                  resized(x, corners, 6)}});
}

/// (x - mean) / (1 + variance) over windows of 3, at an end of the row.
std::string local_contrast() {
  const Numbers x = {1, 2, 6, 3};
  const auto contrast = [&](bool counts_outside) {
    Numbers y;
    for (int i = 0; i < 4; ++i) {
      float sum = 0, squares = 0, count = 0;
      for (int j = i - 1; j <= i + 1; ++j) {
        const bool is_inside = j >= 0 && j < 4;
        if (!is_inside && !counts_outside) continue;
        const float value = is_inside ? x[static_cast<std::size_t>(j)] : 0;
        sum += value, squares += value * value, ++count;
      }
      const float mean = sum / count;
      y.push_back((x[static_cast<std::size_t>(i)] - mean) /
                  (1 + squares / count - mean * mean));
    }
    return y;
  };
  ImageLab lab;
  MPSCNNLocalContrastNormalizationNode* node =
      [MPSCNNLocalContrastNormalizationNode nodeWithSource:lab.row(x)
                                                kernelSize:3];
  [node setKernelHeight:1];
  [node setKernelWidth:3];
  [node setAlpha:1];
  [node setBeta:1];
  [node setDelta:1];
  [node setPm:0];
  [node setPs:1];
  [node setP0:1];
  return explain(lab.run(node), {{"the samples inside", contrast(false)},
                                 {"the whole window", contrast(true)}});
}

/// Of (y - t)^2 by t, given 3.
std::string label_gradient() {
  MPSCNNLossDescriptor* descriptor = [MPSCNNLossDescriptor
      cnnLossDescriptorWithType:MPSCNNLossTypeMeanSquaredError
                  reductionType:MPSCNNReductionTypeSum];
  [descriptor setWeight:1];
  ImageLab lab;
  const ImageShape shape = {1, 2, 1, 1};
  NSArray<MPSNNImageNode*>* sources =
      [NSArray arrayWithObjects:lab.input({1, 2}, shape),
                                lab.input({0.5F, 3}, shape), nil];
  MPSNNForwardLossNode* node =
      [MPSNNForwardLossNode nodeWithSources:sources lossDescriptor:descriptor];
  NSArray<MPSNNLossGradientNode*>* gradients =
      [node gradientFiltersWithSource:lab.row({3})];
  if ([gradients count] != 2) {
    return std::to_string([gradients count]) + " gradients";
  }
  return explain(
      lab.run([gradients objectAtIndex:1]),
      {{"the derivative", {-3, 6}}, {"that of the prediction", {3, -6}}});
}

}  // namespace

std::vector<Probe> image_doubt_probes() {
  const auto doubt = [](const char* name, const char* question,
                        std::string (*answer)(), Beginnings expected,
                        const char* text, Beginnings emulated = {}) {
    for (const char* other : {"something else", "raised", "aborted"}) {
      expected.push_back(other);
    }
    return Probe{.name = name,
                 .question = question,
                 .answer = answer,
                 .weight = Weight::Chance,
                 .expected = std::move(expected),
                 .remedy = {.text = text},
                 .emulated = std::move(emulated),
                 .may_abort = true};
  };
  return {
      doubt("image_groups",
            "MPSNN's convolution of groups of one channel computes them",
            small_groups, {},
            "reason_of(ConvolutionFilter) of metal/mpsnn/support.cpp need not "
            "refuse other groups than of fours"),
      doubt("image_concatenation",
            "MPSNN's concatenation of 2 channels and 1 puts them", concatenated,
            {"filled up"},
            "reason_of(ConcatenationFilter) of metal/mpsnn/support.cpp need "
            "not refuse it"),
      doubt("image_broadcast",
            "the size of MPSNN's sum that broadcasts the primary source is",
            broadcast_primary, {"the primary source's"},
            "reason_of(ArithmeticFilter) of metal/mpsnn/support.cpp need not "
            "refuse it",
            {"the secondary source's"}),
      doubt(
          "image_cut_off", "the gradient of MPSNN's ReLUN is", cut_off,
          {"the slope"},
          "reason_of(NeuronFilter) of metal/mpsnn/support.cpp need not refuse "
          "it",
          {"0 where"}),
      doubt("image_scale", "MPSNN's bilinear scale reads", bilinear_scale,
            {"ends", "the upper left"},
            "reason_of(BilinearScaleFilter) of metal/mpsnn/support.cpp need "
            "not refuse it",
            {"centres"}),
      doubt("image_local_contrast",
            "MPSNN's local contrast normalization divides by", local_contrast,
            {"the whole window"},
            "reason_of(LocalContrastNormalizationFilter) of "
            "metal/mpsnn/support.cpp need not refuse it",
            {"the samples inside"}),
      doubt("image_label_gradient",
            "the gradient of MPSNN's squared error by the labels is",
            label_gradient, {"that of the prediction"},
            "reason_of_forward() of metal/mpsnn/loss_support.cpp need not "
            "refuse gradients by labels",
            {"the derivative"}),
  };
}

}  // namespace traingraph::metal::probes
