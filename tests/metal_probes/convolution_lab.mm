// SPDX-License-Identifier: MIT
#import "tests/metal_probes/convolution_lab.h"

namespace traingraph::metal::probes {

std::int64_t count_of(const Extents& shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) count *= extent;
  return count;
}

Numbers integers(const Extents& shape, int seed) {
  Numbers numbers(static_cast<std::size_t>(count_of(shape)));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto mixed = static_cast<int>((i * 7 + i / 5) % 11);
    numbers[i] = static_cast<float>((mixed * seed) % 5 - 2);
  }
  return numbers;
}

ConvolutionNumbers compute(const Convolution& c) {
  ConvolutionNumbers n;
  n.source = integers(c.source_shape(), 1);
  n.weights = integers(c.weights_shape(), 2);
  n.incoming = integers(c.result_shape(), 3);
  n.result.assign(n.incoming.size(), 0);
  n.source_gradient.assign(n.source.size(), 0);
  n.weights_gradient.assign(n.weights.size(), 0);
  const std::int64_t inputs = c.channels / c.groups;
  const std::int64_t outputs = c.outputs / c.groups;
  std::size_t r = 0;
  for (std::int64_t image = 0; image < c.images; ++image) {
    for (std::int64_t o = 0; o < c.outputs; ++o) {
      for (std::int64_t i = 0; i < c.result_height(); ++i) {
        for (std::int64_t j = 0; j < c.result_width(); ++j, ++r) {
          for (std::int64_t tap = 0; tap < inputs * c.kernel * c.kernel;
               ++tap) {
            const std::int64_t channel =
                o / outputs * inputs + tap / (c.kernel * c.kernel);
            const std::int64_t y = i + tap / c.kernel % c.kernel;
            const std::int64_t x = j + tap % c.kernel;
            const std::size_t s =
                ((image * c.channels + channel) * c.height + y) * c.width + x;
            const std::size_t w = o * inputs * c.kernel * c.kernel + tap;
            n.result[r] += n.weights[w] * n.source[s];
            n.source_gradient[s] += n.weights[w] * n.incoming[r];
            n.weights_gradient[w] += n.source[s] * n.incoming[r];
          }
        }
      }
    }
  }
  return n;
}

ObjcPtr<MPSGraphConvolution2DOpDescriptor*> descriptor_of(
    const Convolution& c, MPSGraphTensorNamedDataLayout layout,
    MPSGraphTensorNamedDataLayout weights) {
  return retain([MPSGraphConvolution2DOpDescriptor
      descriptorWithStrideInX:1
                    strideInY:1
              dilationRateInX:1
              dilationRateInY:1
                       groups:c.groups
                 paddingStyle:MPSGraphPaddingStyleTF_VALID
                   dataLayout:layout
                weightsLayout:weights]);
}

}  // namespace traingraph::metal::probes
