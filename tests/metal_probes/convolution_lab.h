// SPDX-License-Identifier: MIT
// A convolution, its gradients, and the same by plain loops: valid windows of
// stride 1 over (N, C, H, W), weights (O, C / groups, K, K).
#pragma once

#import "tests/metal_probes/lab.h"

namespace traingraph::metal::probes {

struct Convolution {
  std::int64_t images = 2, channels = 4, outputs = 4, groups = 1;
  std::int64_t height = 5, width = 6, kernel = 3;

  std::int64_t result_height() const { return height - kernel + 1; }
  std::int64_t result_width() const { return width - kernel + 1; }
  Extents source_shape() const { return {images, channels, height, width}; }
  Extents weights_shape() const {
    return {outputs, channels / groups, kernel, kernel};
  }
  Extents result_shape() const {
    return {images, outputs, result_height(), result_width()};
  }
};

/// Small integers, whose sums are exact; `seed` makes other ones.
Numbers integers(const Extents& shape, int seed);
std::int64_t count_of(const Extents& shape);

struct ConvolutionNumbers {
  Numbers source, weights, incoming;
  Numbers result, source_gradient, weights_gradient;
};
ConvolutionNumbers compute(const Convolution& c);

ObjcPtr<MPSGraphConvolution2DOpDescriptor*> descriptor_of(
    const Convolution& c,
    MPSGraphTensorNamedDataLayout layout = MPSGraphTensorNamedDataLayoutNCHW,
    MPSGraphTensorNamedDataLayout weights = MPSGraphTensorNamedDataLayoutOIHW);

}  // namespace traingraph::metal::probes
