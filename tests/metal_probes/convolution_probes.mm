// SPDX-License-Identifier: MIT
// Convolutions and their gradients: groups, depthwise, many images, wide ones.
#include <string_view>

#import "tests/metal_probes/convolution_lab.h"
#include "tests/metal_probes/probe.h"
#include "tests/metal_probes/sizes.h"

namespace traingraph::metal::probes {
namespace {

enum class Part { All, Result, Gradients };

/// What of a convolution is wrong: empty, or names.
std::string wrong_parts(const Convolution& c, Part part = Part::All) {
  const ConvolutionNumbers n = compute(c);
  const auto descriptor = descriptor_of(c);
  Lab lab;
  T source = lab.input(n.source, c.source_shape());
  T weights = lab.input(n.weights, c.weights_shape());
  std::string wrong;
  if (part != Part::Gradients) {
    T result = [lab.graph() convolution2DWithSourceTensor:source
                                            weightsTensor:weights
                                               descriptor:descriptor.get()
                                                     name:@"result"];
    if (!are_near(lab.run(result), n.result)) wrong += " result";
  }
  if (part == Part::Result) return wrong;
  T incoming = lab.input(n.incoming, c.result_shape());
  T of_weights = [lab.graph()
      convolution2DWeightsGradientWithIncomingGradientTensor:incoming
                                                sourceTensor:source
                                                 outputShape:
                                                     list(c.weights_shape())
                                forwardConvolutionDescriptor:descriptor.get()
                                                        name:@"of_weights"];
  T of_source = [lab.graph()
      convolution2DDataGradientWithIncomingGradientTensor:incoming
                                            weightsTensor:weights
                                              outputShape:list(c.source_shape())
                             forwardConvolutionDescriptor:descriptor.get()
                                                     name:@"of_source"];
  const auto got = lab.run_all({of_weights, of_source});
  if (!are_near(got[0], n.weights_gradient, 0.5F)) wrong += " weights gradient";
  if (!are_near(got[1], n.source_gradient)) wrong += " source gradient";
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

/// The numbers as some channels of a tensor whose matrices are transposed.
T view_of(Lab& lab, const Numbers& values, const Extents& shape) {
  const std::int64_t matrix = shape[2] * shape[3];
  Numbers padded;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t c = -1; c <= shape[1]; ++c) {
      for (std::int64_t at = 0; at < matrix; ++at) {
        const std::int64_t row = at % shape[2], column = at / shape[2];
        const bool is_there = c >= 0 && c < shape[1];
        const std::int64_t from =
            ((i * shape[1] + c) * shape[2] + row) * shape[3] + column;
        padded.push_back(is_there ? values[from] : 9);
      }
    }
  }
  T all = lab.input(padded, {shape[0], shape[1] + 2, shape[3], shape[2]});
  T turned = [lab.graph() transposeTensor:all
                                dimension:2
                            withDimension:3
                                     name:@"turned"];
  return [lab.graph() sliceTensor:turned
                        dimension:1
                            start:1
                           length:shape[1]
                             name:@"view"];
}

/// MPSGraph may pass slices and transpositions on as views; those of other
/// memory than one row after the other were misread as weights
/// (pytorch#192212).
std::string of_views() {
  const Convolution c;
  const ConvolutionNumbers n = compute(c);
  const auto descriptor = descriptor_of(c);
  std::string wrong;
  for (const bool is_of_weights : {true, false}) {
    Lab lab;
    T source = is_of_weights ? lab.input(n.source, c.source_shape())
                             : view_of(lab, n.source, c.source_shape());
    T weights = is_of_weights ? view_of(lab, n.weights, c.weights_shape())
                              : lab.input(n.weights, c.weights_shape());
    T result = [lab.graph() convolution2DWithSourceTensor:source
                                            weightsTensor:weights
                                               descriptor:descriptor.get()
                                                     name:@"result"];
    if (are_near(lab.run(result), n.result)) continue;
    wrong += is_of_weights ? " weights" : " images";
  }
  return right_or(wrong);
}

/// As metal/ops/conv_call.mm calls them: weights (1, C, K, K), the images as
/// the depth of one image of three dimensions.
std::string depthwise_selectors() {
  const Convolution c{.channels = 5, .outputs = 5, .groups = 5};
  const ConvolutionNumbers n = compute(c);
  const Extents shape = {1, c.channels, c.kernel, c.kernel};
  MPSGraphDepthwiseConvolution3DOpDescriptor* descriptor =
      [MPSGraphDepthwiseConvolution3DOpDescriptor
          descriptorWithStrides:list({1, 1, 1})
                  dilationRates:list({1, 1, 1})
                  paddingValues:list({0, 0, 0, 0, 0, 0})
                   paddingStyle:MPSGraphPaddingStyleExplicit];
  [descriptor setChannelDimensionIndex:-3];
  Lab lab;
  T source = lab.input(n.source, c.source_shape());
  T weights = lab.input(n.weights, shape);
  T incoming = lab.input(n.incoming, c.result_shape());
  const auto got = lab.run_all({
      [lab.graph() depthwiseConvolution3DWithSourceTensor:source
                                            weightsTensor:weights
                                               descriptor:descriptor
                                                     name:@"result"],
      [lab.graph()
          depthwiseConvolution3DWeightsGradientWithIncomingGradientTensor:
              incoming
                                                             sourceTensor:source
                                                              outputShape:
                                                                  list(shape)
                                                               descriptor:
                                                                   descriptor
                                                                     name:@"w"],
      [lab.graph()
          depthwiseConvolution3DDataGradientWithIncomingGradientTensor:incoming
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

// Around those from which convolutions were seen to be wrong.
const Sizes kExtents = {65535, 65536, 65537, 70000};
const Sizes kKernels = {255, 256, 300};

/// Of the convolution that `of` makes of a size.
std::string by_size_of(const Sizes& sizes, std::int64_t most, Part part,
                       Convolution (*of)(std::int64_t size)) {
  return by_size(sizes, most, [=](std::int64_t size) -> std::string {
    const std::string wrong = wrong_parts(of(size), part);
    return wrong.empty() ? "" : "wrong (" + wrong.substr(1) + ')';
  });
}

Convolution of_images(std::int64_t images) {
  return {.images = images,
          .channels = 1,
          .outputs = 1,
          .height = 2,
          .width = 3,
          .kernel = 2};
}

/// One image of one row.
Convolution of_width(std::int64_t width) {
  return {.images = 1,
          .channels = 1,
          .outputs = 1,
          .height = 2,
          .width = width + 1,
          .kernel = 2};
}

std::string by_images() {
  return by_size_of(kExtents, limits_here().max_convolution_extent,
                    Part::Result, of_images);
}
std::string by_width() {
  return by_size_of(kExtents, limits_here().max_convolution_extent,
                    Part::Result, of_width);
}
std::string gradients_by_images() {
  return by_size_of(kExtents, limits_here().max_gradient_extent,
                    Part::Gradients, of_images);
}
std::string gradients_by_width() {
  // The image is wider than the result.
  return by_size_of(kExtents, limits_here().max_gradient_extent,
                    Part::Gradients,
                    [](std::int64_t width) { return of_width(width - 1); });
}

std::string by_channels() {
  return by_size_of(kExtents, limits_here().max_convolution_channels, Part::All,
                    [](std::int64_t channels) {
                      return Convolution{.images = 1,
                                         .channels = channels,
                                         .outputs = 1,
                                         .height = 1,
                                         .width = 2,
                                         .kernel = 1};
                    });
}

std::string by_kernel() {
  return by_size_of(kKernels, limits_here().max_convolution_kernel, Part::All,
                    [](std::int64_t kernel) {
                      return Convolution{.images = 1,
                                         .channels = 1,
                                         .outputs = 1,
                                         .height = kernel,
                                         .width = kernel + 1,
                                         .kernel = kernel};
                    });
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
  const GpuLimits& limits = limits_here();
  const auto sizes = [](const char* name, const char* question,
                        std::string (*answer)(), const Sizes& asked,
                        std::int64_t most, const char* constant) {
    return Probe{.name = name,
                 .question = question,
                 .answer = answer,
                 .weight = Weight::Reliance,
                 .expected = right_up_to(asked, most),
                 .remedy = {.constant = constant,
                            .value = "the last number that is right",
                            .text = "by limits_of(), for this system"},
                 .may_abort = true};
  };
  std::vector<Probe> probes = {
      on("convolution", "a convolution and its gradients are", plain,
         {.text = "conv.mm has to be written anew for this system"}),
      on("convolution_views",
         "a convolution by weights, and of images, that were sliced and "
         "transposed in the graph is",
         of_views,
         {.text = "conv.mm has to write such operands first "
                  "(GraphBuilder::written)"}),
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
      sizes("convolution_images", "convolutions by number of images", by_images,
            kExtents, limits.max_convolution_extent, "max_convolution_extent"),
      sizes("convolution_width", "convolutions by width of the result",
            by_width, kExtents, limits.max_convolution_extent,
            "max_convolution_extent"),
      sizes("convolution_gradient_images",
            "gradients of convolutions by number of images",
            gradients_by_images, kExtents, limits.max_gradient_extent,
            "max_gradient_extent"),
      sizes("convolution_gradient_width",
            "gradients of convolutions by width of the image",
            gradients_by_width, kExtents, limits.max_gradient_extent,
            "max_gradient_extent"),
      sizes("convolution_channels", "convolutions by number of channels",
            by_channels, kExtents, limits.max_convolution_channels,
            "max_convolution_channels"),
      sizes("convolution_kernel", "convolutions by size of the kernel",
            by_kernel, kKernels, limits.max_convolution_kernel,
            "max_convolution_kernel"),
  };
  // Whatever comes of the selectors that are not called.
  const char* not_called = limits.calls_depthwise ? "convolution_depthwise"
                                                  : "convolution_selectors";
  for (Probe& probe : probes) {
    if (std::string_view(probe.name) != not_called) continue;
    probe.expected = {"right", "wrong", "raised", "aborted"};
  }
  return probes;
}

}  // namespace traingraph::metal::probes
