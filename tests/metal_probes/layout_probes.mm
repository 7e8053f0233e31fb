// SPDX-License-Identifier: MIT
// Two ways to the same numbers: channels first or last, normalization composed
// or by MPSGraph's selectors. Both have to agree; which is faster is the second
// half of the answer.
#include <algorithm>
#include <cmath>

#import "tests/metal_probes/convolution_lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

/// The first is the one that the code uses.
std::string compare_times(double used, double other, const char* of_other) {
  const auto ratio = static_cast<float>(used / other);
  const char* verdict = ratio > 1.15F ? "slower than " : "as fast as ";
  return std::string(verdict) + of_other + " (" + text(ratio) + " of its time)";
}

Numbers channels_last(const Numbers& x, const Extents& shape) {
  Numbers moved(x.size());
  const std::int64_t pixels = shape[2] * shape[3];
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    const std::int64_t image = i / (shape[1] * pixels);
    const std::int64_t channel = i / pixels % shape[1], pixel = i % pixels;
    moved[(image * pixels + pixel) * shape[1] + channel] = x[i];
  }
  return moved;
}

T convolve(Lab& lab, const Convolution& c, const ConvolutionNumbers& n,
           bool is_last) {
  const auto descriptor =
      descriptor_of(c, is_last ? MPSGraphTensorNamedDataLayoutNHWC
                               : MPSGraphTensorNamedDataLayoutNCHW);
  const Extents last = {c.images, c.height, c.width, c.channels};
  T source = is_last
                 ? lab.input(channels_last(n.source, c.source_shape()), last)
                 : lab.input(n.source, c.source_shape());
  return [lab.graph()
      convolution2DWithSourceTensor:source
                      weightsTensor:lab.input(n.weights, c.weights_shape())
                         descriptor:descriptor.get()
                               name:@"result"];
}

std::string channels_first_or_last() {
  const Convolution small;
  const ConvolutionNumbers n = compute(small);
  Lab first, last;
  const Numbers x = first.run(convolve(first, small, n, false));
  const Numbers y = last.run(convolve(last, small, n, true));
  if (!are_near(x, n.result)) return "NCHW is wrong";
  if (!are_near(y, channels_last(n.result, small.result_shape()))) {
    return "NHWC is wrong";
  }
#ifdef __APPLE__
  const Convolution large{
      .images = 32, .channels = 64, .outputs = 64, .height = 58, .width = 58};
#else
  const Convolution large{.height = 20, .width = 20};
#endif
  ConvolutionNumbers values;
  values.source = integers(large.source_shape(), 1);
  values.weights = integers(large.weights_shape(), 2);
  Lab a, b;
  const double used = a.best_seconds(convolve(a, large, values, false), 10);
  const double other = b.best_seconds(convolve(b, large, values, true), 10);
  return "the same, NCHW " + compare_times(used, other, "NHWC");
}

// --- normalization of (N, C, H, W) by channels ---

constexpr float kEpsilon = 1e-5F;

T by_selectors(Lab& lab, T x) {
  NSArray<NSNumber*>* axes = list({0, 2, 3});
  T mean = [lab.graph() meanOfTensor:x axes:axes name:@"mean"];
  T variance = [lab.graph() varianceOfTensor:x
                                  meanTensor:mean
                                        axes:axes
                                        name:@"variance"];
  return [lab.graph() normalizationWithTensor:x
                                   meanTensor:mean
                               varianceTensor:variance
                                  gammaTensor:nil
                                   betaTensor:nil
                                      epsilon:kEpsilon
                                         name:@"normalized"];
}

T composed(Lab& lab, T x, double count) {
  NSArray<NSNumber*>* axes = list({0, 2, 3});
  MPSGraph* graph = lab.graph();
  const auto mean = [&](T tensor) {
    T sum = [graph reductionSumWithTensor:tensor axes:axes name:@"sum"];
    return [graph divisionWithPrimaryTensor:sum
                            secondaryTensor:lab.constant(count)
                                       name:@"mean"];
  };
  T centered = [graph subtractionWithPrimaryTensor:x
                                   secondaryTensor:mean(x)
                                              name:@"centered"];
  T variance = mean([graph squareWithTensor:centered name:@"square"]);
  T shifted = [graph additionWithPrimaryTensor:variance
                               secondaryTensor:lab.constant(kEpsilon)
                                          name:@"shifted"];
  return [graph divisionWithPrimaryTensor:centered
                          secondaryTensor:[graph squareRootWithTensor:shifted
                                                                 name:@"root"]
                                     name:@"normalized"];
}

/// Far from zero, so that a variance by E[x^2] - E[x]^2 shows.
Numbers far_samples(const Extents& shape) {
  Numbers x = integers(shape, 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = 100 + x[i] * 0.25F + static_cast<float>(i % 97) * 0.01F;
  }
  return x;
}

Numbers normalized(const Numbers& x, const Extents& shape) {
  const std::int64_t pixels = shape[2] * shape[3];
  Numbers y(x.size());
  for (std::int64_t channel = 0; channel < shape[1]; ++channel) {
    double sum = 0, squares = 0, count = 0;
    const auto each = [&](auto body) {
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
        if (i / pixels % shape[1] == channel) body(i);
      }
    };
    each([&](std::int64_t i) { sum += x[i], ++count; });
    const double mean = sum / count;
    each([&](std::int64_t i) { squares += (x[i] - mean) * (x[i] - mean); });
    const double scale = 1 / std::sqrt(squares / count + kEpsilon);
    each([&](std::int64_t i) {
      y[i] = static_cast<float>((x[i] - mean) * scale);
    });
  }
  return y;
}

float error_of(const Numbers& got, const Numbers& expected) {
  float error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error = std::max(error, std::abs(got[i] - expected[i]));
  }
  return error;
}

std::string composed_normalization() {
  const Extents shape = {4, 3, 16, 16};
  const Numbers x = far_samples(shape);
  Lab lab;
  const float error =
      error_of(lab.run(composed(lab, lab.input(x, shape), 4 * 16 * 16)),
               normalized(x, shape));
  // Rounding of the mean, 100, against deviations of about 0.5.
  return (error < 3e-4F ? "accurate: " : "inaccurate: ") + text(error);
}

std::string normalization() {
  const Extents shape = {4, 3, 16, 16};
  const double count = 4 * 16 * 16;
  const Numbers x = far_samples(shape), expected = normalized(x, shape);
  Lab a, b;
  const float ours =
      error_of(a.run(composed(a, a.input(x, shape), count)), expected);
  const float theirs =
      error_of(b.run(by_selectors(b, b.input(x, shape))), expected);
  const std::string errors =
      " (errors " + text(ours) + " composed, " + text(theirs) + " selectors)";
  if (theirs > 4 * ours + 1e-6F) return "the selectors are inaccurate" + errors;
#ifdef __APPLE__
  const Extents large = {64, 64, 56, 56};
#else
  const Extents large = {4, 4, 8, 8};
#endif
  const auto samples = static_cast<double>(large[0] * large[2] * large[3]);
  const Numbers values = integers(large, 1);
  Lab c, d;
  const double used =
      c.best_seconds(composed(c, c.input(values, large), samples), 10);
  const double other =
      d.best_seconds(by_selectors(d, d.input(values, large)), 10);
  return "the same, the composition " +
         compare_times(used, other, "the selectors") + errors;
}

}  // namespace

std::vector<Probe> layout_probes() {
  return {
      {.name = "channels_last",
       .question = "convolutions of NCHW against NHWC",
       .answer = channels_first_or_last,
       .weight = Weight::Chance,
       .expected = {"the same, NCHW as fast", "NHWC is wrong"},
       .remedy = {.text = "conv.mm would be faster with channels last between "
                          "transpositions at the ends of a unit"},
       .emulated = {"the same"},
       .may_abort = true},
      {.name = "normalization_composed",
       .question = "normalization, composed, of samples far from 0 is",
       .answer = composed_normalization,
       .weight = Weight::Reliance,
       .expected = {"accurate"},
       .remedy = {.text =
                      "norm.mm has to subtract a first mean before it takes "
                      "another"}},
      {.name = "normalization",
       .question = "normalization composed against MPSGraph's selectors",
       .answer = normalization,
       .weight = Weight::Chance,
       .expected = {"the same, the composition as fast",
                    "the selectors are inaccurate"},
       .remedy = {.text = "norm.mm would be faster with meanOfTensor, "
                          "varianceOfTensor and normalizationWithTensor"},
       .emulated = {"the same"},
       .may_abort = true},
  };
}

}  // namespace traingraph::metal::probes
