// SPDX-License-Identifier: MIT
// Pooling and resizing: ties, borders and divisors.
#include <algorithm>
#include <cmath>

#include "metal/assumptions.h"
#import "tests/metal_probes/lab.h"
#include "tests/metal_probes/probe.h"

namespace traingraph::metal::probes {
namespace {

ObjcPtr<MPSGraphPooling2DOpDescriptor*> window(NSUInteger width,
                                               NSUInteger height,
                                               NSUInteger stride) {
  return retain([MPSGraphPooling2DOpDescriptor
      descriptorWithKernelWidth:width
                   kernelHeight:height
                      strideInX:stride
                      strideInY:stride
                   paddingStyle:MPSGraphPaddingStyleExplicit
                     dataLayout:MPSGraphTensorNamedDataLayoutNCHW]);
}

std::string max_pooling_tie() {
  Lab lab;
  T gradient = [lab.graph()
      maxPooling2DGradientWithGradientTensor:lab.input({1}, {1, 1, 1, 1})
                                sourceTensor:lab.input({2, 7, 7, 7, 7, 1},
                                                       {1, 1, 2, 3})
                                  descriptor:window(3, 2, 1).get()
                                        name:@"gradient"];
  return explain(lab.run(gradient),
                 {{"first", {0, 1, 0, 0, 0, 0}},
                  {"last", {0, 0, 0, 0, 1, 0}},
                  {"all", {0, 1, 1, 1, 1, 0}},
                  {"first in column-major order", {0, 0, 0, 1, 0, 0}}});
}

std::string l2_pooling_of_zeros() {
  MPSGraphPooling4DOpDescriptor* descriptor = [MPSGraphPooling4DOpDescriptor
      descriptorWithKernelSizes:list({1, 1, 2, 2})
                   paddingStyle:MPSGraphPaddingStyleExplicit];
  Lab lab;
  T gradient = [lab.graph()
      L2NormPooling4DGradientWithGradientTensor:lab.input({1}, {1, 1, 1, 1})
                                   sourceTensor:lab.input({0, 0, 0, 0},
                                                          {1, 1, 2, 2})
                                     descriptor:descriptor
                                           name:@"gradient"];
  const float nan = std::nanf("");
  return explain(lab.run(gradient),
                 {{"0", {0, 0, 0, 0}}, {"NaN", {nan, nan, nan, nan}}});
}

/// Ones (3, 3) under windows (2, 2): the last windows stick out.
std::string average_with_ceil_mode(BOOL counts_padding) {
  const auto descriptor = window(2, 2, 2);
  [descriptor.get() setCeilMode:YES];
  [descriptor.get() setIncludeZeroPadToAverage:counts_padding];
  Lab lab;
  T result = [lab.graph()
      avgPooling2DWithSourceTensor:lab.input(Numbers(9, 1), {1, 1, 3, 3})
                        descriptor:descriptor.get()
                              name:@"average"];
  return explain(lab.run(result), {{"the samples inside", {1, 1, 1, 1}},
                                   {"the whole window", {1, 0.5F, 0.5F, 0.25F}},
                                   {"(no such windows)", {1}}});
}

std::string average_of_inside() { return average_with_ceil_mode(NO); }
std::string average_of_all() { return average_with_ceil_mode(YES); }

const Numbers kRow = {2, 3, 5, 9};
constexpr int kLength = 4, kResized = 8;

/// Half-pixel centres; beyond the border the border's value.
Numbers bilinear_weights() {
  Numbers weights(kResized * kLength, 0);
  for (int i = 0; i < kResized; ++i) {
    const float position = std::clamp((i + 0.5F) * kLength / kResized - 0.5F,
                                      0.0F, kLength - 1.0F);
    const int left = std::min(static_cast<int>(position), kLength - 2);
    weights[i * kLength + left] = 1 - (position - left);
    weights[i * kLength + left + 1] = position - left;
  }
  return weights;
}

std::string bilinear_borders() {
  Lab lab;
  T result = [lab.graph() resizeTensor:lab.input(kRow, {1, 1, 1, kLength})
                                  size:list({1, kResized})
                                  mode:MPSGraphResizeBilinear
                          centerResult:YES
                          alignCorners:NO
                                layout:MPSGraphTensorNamedDataLayoutNCHW
                                  name:@"resize"];
  const Numbers weights = bilinear_weights();
  Numbers clamped(kResized, 0);
  for (int i = 0; i < kResized * kLength; ++i) {
    clamped[i / kLength] += weights[i] * kRow[i % kLength];
  }
  Numbers zeros = clamped, extrapolated = clamped;
  zeros.front() = 0.75F * kRow.front();
  zeros.back() = 0.75F * kRow.back();
  extrapolated.front() = kRow[0] - 0.25F * (kRow[1] - kRow[0]);
  extrapolated.back() = kRow[3] + 0.25F * (kRow[3] - kRow[2]);
  return explain(lab.run(result), {{"repeats the border", clamped},
                                   {"reads zeros", zeros},
                                   {"extrapolates", extrapolated}});
}

std::string bilinear_gradient() {
  const Numbers incoming = {1, 2, 4, 8, 16, 32, 64, 128};
  Lab lab;
  T gradient = [lab.graph()
      resizeWithGradientTensor:lab.input(incoming, {1, 1, 1, kResized})
                         input:lab.input(kRow, {1, 1, 1, kLength})
                          mode:MPSGraphResizeBilinear
                  centerResult:YES
                  alignCorners:NO
                        layout:MPSGraphTensorNamedDataLayoutNCHW
                          name:@"gradient"];
  const Numbers weights = bilinear_weights();
  Numbers transposed(kLength, 0);
  for (int i = 0; i < kResized * kLength; ++i) {
    transposed[i % kLength] += weights[i] * incoming[i / kLength];
  }
  return explain(lab.run(gradient), {{"yes", transposed}});
}

std::string nearest(BOOL center) {
  Lab lab;
  T result = [lab.graph() resizeTensor:lab.input({1, 2, 3}, {1, 1, 1, 3})
                                  size:list({1, 6})
                                  mode:MPSGraphResizeNearest
                          centerResult:center
                          alignCorners:NO
                                layout:MPSGraphTensorNamedDataLayoutNCHW
                                  name:@"resize"];
  return explain(lab.run(result), {{"repeats each", {1, 1, 2, 2, 3, 3}},
                                   {"is shifted", {1, 2, 2, 3, 3, 3}}});
}

std::string nearest_not_centered() { return nearest(NO); }
std::string nearest_centered() { return nearest(YES); }

}  // namespace

std::vector<Probe> window_probes() {
  return {
      {.name = "max_pooling_tie",
       .question = "max pooling's gradient goes to which of equal samples",
       .answer = max_pooling_tie,
       .weight = Weight::Reliance,
       .expected = when(kMaxPoolingPicksFirstOfTies, {"first"}),
       .remedy = {.constant = "kMaxPoolingPicksFirstOfTies",
                  .value = "false",
                  .text = "and pool.mm has to compose the gradient"}},
      {.name = "l2_pooling",
       .question = "L2 pooling's gradient where the window is zero",
       .answer = l2_pooling_of_zeros,
       .expected = {"0"}},
      {.name = "average_inside",
       .question = "average pooling with ceilMode divides by",
       .answer = average_of_inside,
       .expected = {"the samples inside"},
       .may_abort = true},
      {.name = "average_all",
       .question = "average pooling with ceilMode and "
                   "includeZeroPadToAverage divides by",
       .answer = average_of_all,
       .expected = {"the whole window"},
       .may_abort = true},
      {.name = "bilinear_borders",
       .question = "bilinear resize with centerResult at borders",
       .answer = bilinear_borders,
       .expected = {"repeats the border"}},
      {.name = "bilinear_gradient",
       .question = "bilinear resize's gradient is the transposed map",
       .answer = bilinear_gradient,
       .expected = {"yes"}},
      {.name = "nearest",
       .question = "nearest resize by 2",
       .answer = nearest_not_centered,
       .expected = {"is shifted"}},
      {.name = "nearest_centered",
       .question = "nearest resize by 2 with centerResult",
       .answer = nearest_centered,
       .expected = {"repeats each"}},
  };
}

}  // namespace traingraph::metal::probes
