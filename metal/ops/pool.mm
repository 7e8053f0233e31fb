// SPDX-License-Identifier: MIT
// Max and average pooling and their gradients, NCHW. The gradient of max
// pooling finds the winners again from x, so its forward op leaves no state.
#import "metal/assumptions.h"
#import "metal/graph_builder.h"

namespace traingraph::metal {
namespace {

template <class Attrs>
MPSGraphPooling2DOpDescriptor* window(const Attrs& attrs) {
  const auto [top, bottom, left, right] = attrs.padding;
  return [MPSGraphPooling2DOpDescriptor
      descriptorWithKernelWidth:attrs.kernel_sizes[1]
                   kernelHeight:attrs.kernel_sizes[0]
                      strideInX:attrs.strides[1]
                      strideInY:attrs.strides[0]
                dilationRateInX:attrs.dilation_rates[1]
                dilationRateInY:attrs.dilation_rates[0]
                    paddingLeft:left
                   paddingRight:right
                     paddingTop:top
                  paddingBottom:bottom
                   paddingStyle:MPSGraphPaddingStyleExplicit
                     dataLayout:MPSGraphTensorNamedDataLayoutNCHW];
}

template <class Attrs>
MPSGraphPooling2DOpDescriptor* average_window(const Attrs& attrs) {
  MPSGraphPooling2DOpDescriptor* descriptor = window(attrs);
  [descriptor setIncludeZeroPadToAverage:attrs.count_includes_padding];
  return descriptor;
}

}  // namespace

void lower_max_pool_2d(GraphBuilder& b) {
  b.set([b.graph() maxPooling2DWithSourceTensor:b.input(0)
                                     descriptor:window(b.attrs<Pool2dAttrs>())
                                           name:b.name()]);
}

void lower_max_pool_2d_gradient(GraphBuilder& b) {
  static_assert(kMaxPoolingPicksFirstOfTies);
  b.set([b.graph()
      maxPooling2DGradientWithGradientTensor:b.input(0)
                                sourceTensor:b.input(1)
                                  descriptor:window(b.attrs<Pool2dAttrs>())
                                        name:b.name()]);
}

void lower_average_pool_2d(GraphBuilder& b) {
  const auto& attrs = b.attrs<AveragePool2dAttrs>();
  b.set([b.graph() avgPooling2DWithSourceTensor:b.input(0)
                                     descriptor:average_window(attrs)
                                           name:b.name()]);
}

void lower_average_pool_2d_gradient(GraphBuilder& b) {
  const auto& attrs = b.attrs<AveragePool2dGradientAttrs>();
  // Only the shape of the source matters.
  const T source = [b.graph() constantWithScalar:0
                                           shape:ns_shape(attrs.shape)
                                        dataType:MPSDataTypeFloat32];
  b.set([b.graph() avgPooling2DGradientWithGradientTensor:b.input(0)
                                             sourceTensor:source
                                               descriptor:average_window(attrs)
                                                     name:b.name()]);
}

}  // namespace traingraph::metal
