// SPDX-License-Identifier: MIT
// Convolutions and their gradients: groups, depthwise, many images, wide ones.
#include "metal/gpu_limits.h"
#import "tests/metal_probes/convolution_lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

constexpr GpuLimits kLimits;
/// Gradients of more images are computed in tiles.
constexpr std::int64_t kMostImages = 65535;

/// What of a convolution is wrong: empty, or names.
std::string wrong_parts(const Convolution& c,
                        bool with_source_gradient = true) {
  const ConvolutionNumbers n = compute(c);
  const auto descriptor = descriptor_of(c);
  Lab lab;
  T source = lab.input(n.source, c.source_shape());
  T weights = lab.input(n.weights, c.weights_shape());
  T incoming = lab.input(n.incoming, c.result_shape());
  T result = [lab.graph() convolution2DWithSourceTensor:source
                                          weightsTensor:weights
                                             descriptor:descriptor.get()
                                                   name:@"result"];
  T of_weights = [lab.graph()
      convolution2DWeightsGradientWithIncomingGradientTensor:incoming
                                                sourceTensor:source
                                                 outputShape:
                                                     list(c.weights_shape())
                                forwardConvolutionDescriptor:descriptor.get()
                                                        name:@"of_weights"];
  std::vector<T> targets = {result, of_weights};
  if (with_source_gradient) {
    targets.push_back([lab.graph()
        convolution2DDataGradientWithIncomingGradientTensor:incoming
                                              weightsTensor:weights
                                                outputShape:
                                                    list(c.source_shape())
                               forwardConvolutionDescriptor:descriptor.get()
                                                       name:@"of_source"]);
  }
  const auto got = lab.run_all(targets);
  std::string wrong;
  if (!are_near(got[0], n.result)) wrong += " result";
  if (!are_near(got[1], n.weights_gradient, 0.5F)) wrong += " weights gradient";
  if (with_source_gradient && !are_near(got[2], n.source_gradient)) {
    wrong += " source gradient";
  }
  return wrong;
}

std::string right_or(const std::string& wrong) {
  return wrong.empty() ? "right" : "wrong:" + wrong;
}

std::string plain() { return right_or(wrong_parts({})); }
std::string grouped() {
  return right_or(wrong_parts({.channels = 6, .outputs = 4, .groups = 2}));
}
std::string grouped_in_fours() {
  return right_or(wrong_parts({.channels = 16, .outputs = 8, .groups = 2}));
}
std::string depthwise_groups() {
  return right_or(wrong_parts({.channels = 5, .outputs = 5, .groups = 5}));
}

/// Weights (1, C, K, K) for a channel multiplier of 1.
std::string depthwise_selectors() {
  const Convolution c{.channels = 5, .outputs = 5, .groups = 5};
  const ConvolutionNumbers n = compute(c);
  const Extents shape = {1, c.channels, c.kernel, c.kernel};
  MPSGraphDepthwiseConvolution2DOpDescriptor* descriptor =
      [MPSGraphDepthwiseConvolution2DOpDescriptor
          descriptorWithDataLayout:MPSGraphTensorNamedDataLayoutNCHW
                     weightsLayout:MPSGraphTensorNamedDataLayoutOIHW];
  [descriptor setStrideInX:1];
  [descriptor setStrideInY:1];
  [descriptor setDilationRateInX:1];
  [descriptor setDilationRateInY:1];
  [descriptor setPaddingStyle:MPSGraphPaddingStyleTF_VALID];
  Lab lab;
  T source = lab.input(n.source, c.source_shape());
  T weights = lab.input(n.weights, shape);
  T incoming = lab.input(n.incoming, c.result_shape());
  const auto got = lab.run_all({
      [lab.graph() depthwiseConvolution2DWithSourceTensor:source
                                            weightsTensor:weights
                                               descriptor:descriptor
                                                     name:@"result"],
      [lab.graph()
          depthwiseConvolution2DWeightsGradientWithIncomingGradientTensor:
              incoming
                                                             sourceTensor:source
                                                              outputShape:
                                                                  list(shape)
                                                               descriptor:
                                                                   descriptor
                                                                     name:@"w"],
      [lab.graph()
          depthwiseConvolution2DDataGradientWithIncomingGradientTensor:incoming
                                                         weightsTensor:weights
                                                           outputShape:
                                                               list(
                                                                   c.source_shape())
                                                            descriptor:
                                                                descriptor
                                                                  name:@"s"],
  });
  std::string wrong;
  if (!are_near(got[0], n.result)) wrong += " result";
  if (!are_near(got[1], n.weights_gradient)) wrong += " weights gradient";
  if (!are_near(got[2], n.source_gradient)) wrong += " source gradient";
  return right_or(wrong);
}

void add_size(std::string& answer, std::int64_t size,
              const std::string& wrong) {
  if (!answer.empty()) answer += ", ";
  answer += (wrong.empty() ? "right" : "wrong (" + wrong.substr(1) + ')') +
            " of " + std::to_string(size);
}

std::string by_images() {
  std::string answer;
  for (std::int64_t images :
       {kMostImages, kMostImages + 1, kMostImages + 5000}) {
    const Convolution c{.images = images,
                        .channels = 1,
                        .outputs = 1,
                        .height = 2,
                        .width = 3,
                        .kernel = 2};
    add_size(answer, images, wrong_parts(c));
  }
  return answer;
}

/// One image of one row.
std::string by_width() {
  std::string answer;
  for (std::int64_t width : {65536, 65537, 70000}) {
    const Convolution c{.images = 1,
                        .channels = 1,
                        .outputs = 1,
                        .height = 2,
                        .width = width + 1,
                        .kernel = 2};
    add_size(answer, width, wrong_parts(c));
  }
  return answer;
}

std::string by_channels() {
  std::string answer;
  for (std::int64_t channels : {65536, 65537, 70000}) {
    const Convolution c{.images = 1,
                        .channels = channels,
                        .outputs = 1,
                        .height = 1,
                        .width = 2,
                        .kernel = 1};
    add_size(answer, channels, wrong_parts(c));
  }
  return answer;
}

std::string by_kernel() {
  std::string answer;
  for (std::int64_t kernel : {255, 256, 300}) {
    const Convolution c{.images = 1,
                        .channels = 1,
                        .outputs = 1,
                        .height = kernel,
                        .width = kernel + 1,
                        .kernel = kernel};
    add_size(answer, kernel, wrong_parts(c));
  }
  return answer;
}

}  // namespace

std::vector<Probe> convolution_probes() {
  const Remedy by_group = {.text = "conv.mm has to compute groups one by one"};
  const auto on = [](const char* name, const char* question,
                     std::string (*answer)(), const Remedy& remedy) {
    return Probe{.name = name,
                 .question = question,
                 .answer = answer,
                 .weight = Weight::Reliance,
                 .expected = {"right"},
                 .remedy = remedy,
                 .may_abort = true};
  };
  return {
      on("convolution", "a convolution and its gradients are", plain,
         {.text = "conv.mm has to be written anew for this system"}),
      on("convolution_grouped",
         "a convolution of 2 groups of 3 and 2 channels and its gradients are",
         grouped, by_group),
      on("convolution_fours",
         "a convolution of 2 groups of 8 and 4 channels and its gradients are",
         grouped_in_fours, by_group),
      on("convolution_depthwise",
         "a depthwise convolution as groups and its gradients are",
         depthwise_groups, {.constant = "calls_depthwise", .value = "true"}),
      on("convolution_selectors",
         "a depthwise convolution by its own selectors and its gradients are",
         depthwise_selectors,
         {.constant = "calls_depthwise", .value = "false"}),
      {.name = "convolution_images",
       .question = "gradients of convolutions by number of images",
       .answer = by_images,
       .weight = Weight::Reliance,
       .expected = {"right of " + std::to_string(kMostImages)},
       .remedy = {.constant = "max_gradient_extent",
                  .value = "the last number that is right"},
       .may_abort = true},
      {.name = "convolution_width",
       .question = "convolutions by width of the result",
       .answer = by_width,
       .weight = Weight::Reliance,
       .expected = {"right of 65536"},
       .remedy = {.constant = "max_convolution_extent",
                  .value = "the last number that is right"},
       .may_abort = true},
      {.name = "convolution_channels",
       .question = "convolutions by number of channels",
       .answer = by_channels,
       .weight = Weight::Reliance,
       .expected = {"right of " +
                    std::to_string(kLimits.max_convolution_channels)},
       .remedy = {.constant = "max_convolution_channels",
                  .value = "the last number that is right"},
       .may_abort = true},
      {.name = "convolution_kernel",
       .question = "convolutions by size of the kernel",
       .answer = by_kernel,
       .weight = Weight::Reliance,
       .expected = {"right of " +
                    std::to_string(kLimits.max_convolution_kernel)},
       .remedy = {.constant = "max_convolution_kernel",
                  .value = "the last size that is right"},
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
