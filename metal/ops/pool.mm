// SPDX-License-Identifier: MIT
// Max and average pooling and their gradients, NCHW. The gradient of max
// pooling finds the winners again from x, so its forward op leaves no state.
#import "metal/assumptions.h"
#import "metal/graph_builder.h"
#include "metal/ops/pool_window.h"

namespace traingraph::metal {
namespace {

/// `image` is the shape that is pooled.
template <class Attrs>
Window2d window(const Attrs& attrs, const Shape& image) {
  return trim_window(
      {attrs.kernel_size, attrs.strides, attrs.dilation_rates, attrs.padding},
      image);
}

MPSGraphPooling2DOpDescriptor* descriptor(const Window2d& window) {
  const auto [top, bottom, left, right] = window.padding;
  return [MPSGraphPooling2DOpDescriptor
      descriptorWithKernelWidth:window.kernel_size[1]
                   kernelHeight:window.kernel_size[0]
                      strideInX:window.strides[1]
                      strideInY:window.strides[0]
                dilationRateInX:window.dilation_rates[1]
                dilationRateInY:window.dilation_rates[0]
                    paddingLeft:left
                   paddingRight:right
                     paddingTop:top
                  paddingBottom:bottom
                   paddingStyle:MPSGraphPaddingStyleExplicit
                     dataLayout:MPSGraphTensorNamedDataLayoutNCHW];
}

double num_taps(const Pair& kernel) { return double(kernel[0]) * kernel[1]; }

struct Averaging {
  MPSGraphPooling2DOpDescriptor* descriptor;
  double scale;  // of the results
};

/// Padding that is trimmed counts too.
template <class Attrs>
Averaging averaging(const Attrs& attrs, const Shape& image) {
  const Window2d trimmed = window(attrs, image);
  const bool counts_padding = attrs.count_includes_padding;
  const double scale =
      num_taps(trimmed.kernel_size) / num_taps(attrs.kernel_size);
  Averaging result{descriptor(trimmed), counts_padding ? scale : 1};
  [result.descriptor setIncludeZeroPadToAverage:counts_padding];
  return result;
}

T scaled(GraphBuilder& b, T x, double scale) {
  return scale == 1 ? x : b.mul(x, scale);
}

}  // namespace

void lower_max_pool_2d(GraphBuilder& b) {
  const auto& attrs = b.attrs<Pool2dAttrs>();
  b.set([b.graph()
      maxPooling2DWithSourceTensor:b.input(0)
                        descriptor:descriptor(window(attrs, b.input_shape(0)))
                              name:b.name()]);
}

void lower_max_pool_2d_gradient(GraphBuilder& b) {
  static_assert(kMaxPoolingPicksFirstOfTies);
  const auto& attrs = b.attrs<Pool2dAttrs>();
  b.set([b.graph()
      maxPooling2DGradientWithGradientTensor:b.input(0)
                                sourceTensor:b.input(1)
                                  descriptor:descriptor(window(
                                                 attrs, b.input_shape(1)))
                                        name:b.name()]);
}

void lower_average_pool_2d(GraphBuilder& b) {
  const auto [descriptor, scale] =
      averaging(b.attrs<AveragePool2dAttrs>(), b.input_shape(0));
  const T y = [b.graph() avgPooling2DWithSourceTensor:b.input(0)
                                           descriptor:descriptor
                                                 name:b.name()];
  b.set(scaled(b, y, scale));
}

void lower_average_pool_2d_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<AveragePool2dGradientAttrs>();
  const auto [descriptor, scale] = averaging(attrs, attrs.shape);
  // Only the shape of the source matters.
  const T source =
      [b.graph() constantWithScalar:0
                              shape:ns_shape(attrs.shape)
                           dataType:mps_data_type(b.compute_type())];
  const T dx = [b.graph() avgPooling2DGradientWithGradientTensor:b.input(0)
                                                    sourceTensor:source
                                                      descriptor:descriptor
                                                            name:b.name()];
  b.set(scaled(b, dx, scale));
}

}  // namespace traingraph::metal
