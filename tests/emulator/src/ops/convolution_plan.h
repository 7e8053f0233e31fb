// SPDX-License-Identifier: MIT
// From shapes and a descriptor to the numbers of a convolution, and the three
// operations that every kind of convolution has.
#pragma once

#include "../arithmetic/convolution.h"
#include "checks.h"

namespace emulator {

struct ConvolutionPlan {
  Convolution convolution;
  Dims source, weights, result;  // shapes
};

ConvolutionPlan plan_convolution(const char* op, const Dims& source,
                                 const Dims& weights,
                                 MPSGraphConvolution2DOpDescriptor* descriptor);
ConvolutionPlan plan_convolution(
    const char* op, const Dims& source, const Dims& weights,
    MPSGraphDepthwiseConvolution2DOpDescriptor* descriptor);
ConvolutionPlan plan_convolution(
    const char* op, const Dims& source, const Dims& weights,
    MPSGraphDepthwiseConvolution3DOpDescriptor* descriptor);

template <class Descriptor>
MPSGraphTensor* add_convolution(MPSGraph* graph, const char* op, NSString* name,
                                MPSGraphTensor* source, MPSGraphTensor* weights,
                                Descriptor* descriptor) {
  NSArray* inputs = inputs_of(op, {source, weights});
  const auto types = operands(graph, op, inputs, Elements::kFloat);
  const auto plan =
      plan_convolution(op, types[0].shape, types[1].shape, descriptor);
  return add_operation(graph, op, name, inputs,
                       Type{types[0].data_type, plan.result},
                       convolve(plan.convolution));
}

/// `shape` is the source's shape of the convolution.
template <class Descriptor>
MPSGraphTensor* add_data_gradient(MPSGraph* graph, const char* op,
                                  NSString* name, MPSGraphTensor* gradient,
                                  MPSGraphTensor* weights,
                                  NSArray<NSNumber*>* shape,
                                  Descriptor* descriptor) {
  NSArray* inputs = inputs_of(op, {gradient, weights});
  const auto types = operands(graph, op, inputs, Elements::kFloat);
  const auto plan =
      plan_convolution(op, result_shape(op, shape), types[1].shape, descriptor);
  require_shape(op, @"the incoming gradient's shape", plan.result,
                types[0].shape);
  return add_operation(graph, op, name, inputs,
                       Type{types[0].data_type, plan.source},
                       convolve_data_gradient(plan.convolution));
}

/// `shape` is the weights' shape.
template <class Descriptor>
MPSGraphTensor* add_weights_gradient(MPSGraph* graph, const char* op,
                                     NSString* name, MPSGraphTensor* gradient,
                                     MPSGraphTensor* source,
                                     NSArray<NSNumber*>* shape,
                                     Descriptor* descriptor) {
  NSArray* inputs = inputs_of(op, {gradient, source});
  const auto types = operands(graph, op, inputs, Elements::kFloat);
  const auto plan =
      plan_convolution(op, types[1].shape, result_shape(op, shape), descriptor);
  require_shape(op, @"the incoming gradient's shape", plan.result,
                types[0].shape);
  return add_operation(graph, op, name, inputs,
                       Type{types[0].data_type, plan.weights},
                       convolve_weights_gradient(plan.convolution));
}

}  // namespace emulator
