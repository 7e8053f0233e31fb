// SPDX-License-Identifier: MIT
// Reductions, mean, variance and normalization.
#include "../arithmetic/reduction.h"

#include <cmath>

#include "../arithmetic/elementwise.h"
#include "checks.h"

using namespace emulator;

namespace {

Type reduced(Type type, const Dims& axes) {
  for (std::int64_t axis : axes) type.shape[axis] = 1;
  return type;
}

MPSGraphTensor* add_reduction(MPSGraph* graph, const char* op, NSString* name,
                              MPSGraphTensor* tensor, NSArray* axes,
                              Elements elements, Reduction reduction) {
  const Type type = operand(graph, op, tensor, elements);
  const Dims reduced_axes = axes_of(op, axes, type.shape.size());
  return add_operation(graph, op, name, inputs_of(op, {tensor}),
                       reduced(type, reduced_axes),
                       reduce(reduction, reduced_axes));
}

MPSGraphTensor* add_arg_reduction(MPSGraph* graph, const char* op,
                                  NSString* name, MPSGraphTensor* tensor,
                                  NSInteger axis, bool is_maximum) {
  const Type type = operand(graph, op, tensor, Elements::kNumber);
  const std::size_t along = axis_of(op, axis, type.shape.size());
  Type result = reduced(type, {static_cast<std::int64_t>(along)});
  result.data_type = MPSDataTypeInt32;
  return add_operation(graph, op, name, inputs_of(op, {tensor}), result,
                       arg_reduce(is_maximum, along));
}

MPSGraphTensor* add_variance(MPSGraph* graph, NSString* name,
                             NSArray<MPSGraphTensor*>* inputs, NSArray* axes) {
  const char* op = "variance";
  const auto types = operands(graph, op, inputs, Elements::kFloat);
  require_shape(op, @"the mean broadcast", types[0].shape,
                broadcast_shape(op, types));
  const Dims reduced_axes = axes_of(op, axes, types[0].shape.size());
  return add_operation(graph, op, name, inputs, reduced(types[0], reduced_axes),
                       variance(reduced_axes));
}

}  // namespace

#define REDUCTION(Op, elements)                                              \
  -(MPSGraphTensor*)reduction##Op##WithTensor : (MPSGraphTensor*)tensor axis \
      : (NSInteger)axis name : (NSString*)name {                             \
    return [self reduction##Op##WithTensor:tensor                            \
                                      axes:@[ @(axis) ]                      \
                                      name:name];                            \
  }                                                                          \
  -(MPSGraphTensor*)reduction##Op##WithTensor : (MPSGraphTensor*)tensor axes \
      : (NSArray<NSNumber*>*)axes name : (NSString*)name {                   \
    return add_reduction(self, "reduction" #Op, name, tensor, axes,          \
                         Elements::elements, Reduction::k##Op);              \
  }

@implementation MPSGraph (MPSGraphReductionOps)

// clang-format off
REDUCTION(Sum, kNumber)
REDUCTION(Maximum, kNumber)
REDUCTION(Minimum, kNumber)
REDUCTION(MaximumPropagateNaN, kNumber)
REDUCTION(MinimumPropagateNaN, kNumber)
REDUCTION(Product, kNumber)
REDUCTION(And, kBool)
REDUCTION(Or, kBool)
// clang-format on

- (MPSGraphTensor*)reductionArgMaximumWithTensor:(MPSGraphTensor*)tensor
                                            axis:(NSInteger)axis
                                            name:(NSString*)name {
  return add_arg_reduction(self, "reductionArgMaximum", name, tensor, axis,
                           true);
}

- (MPSGraphTensor*)reductionArgMinimumWithTensor:(MPSGraphTensor*)tensor
                                            axis:(NSInteger)axis
                                            name:(NSString*)name {
  return add_arg_reduction(self, "reductionArgMinimum", name, tensor, axis,
                           false);
}

@end

@implementation MPSGraph (MPSGraphNormalizationOps)

- (MPSGraphTensor*)meanOfTensor:(MPSGraphTensor*)tensor
                           axes:(NSArray<NSNumber*>*)axes
                           name:(NSString*)name {
  if (axes == nil) refuse("mean", @"axes is nil");
  return add_reduction(self, "mean", name, tensor, axes, Elements::kFloat,
                       Reduction::kMean);
}

- (MPSGraphTensor*)varianceOfTensor:(MPSGraphTensor*)tensor
                         meanTensor:(MPSGraphTensor*)mean
                               axes:(NSArray<NSNumber*>*)axes
                               name:(NSString*)name {
  if (axes == nil) refuse("variance", @"axes is nil");
  return add_variance(self, name, inputs_of("variance", {tensor, mean}), axes);
}

- (MPSGraphTensor*)varianceOfTensor:(MPSGraphTensor*)tensor
                               axes:(NSArray<NSNumber*>*)axes
                               name:(NSString*)name {
  if (axes == nil) refuse("variance", @"axes is nil");
  return add_variance(self, name, inputs_of("variance", {tensor}), axes);
}

- (MPSGraphTensor*)normalizationWithTensor:(MPSGraphTensor*)tensor
                                meanTensor:(MPSGraphTensor*)mean
                            varianceTensor:(MPSGraphTensor*)variance
                               gammaTensor:(MPSGraphTensor*)gamma
                                betaTensor:(MPSGraphTensor*)beta
                                   epsilon:(float)epsilon
                                      name:(NSString*)name {
  const char* op = "normalization";
  NSArray* inputs = inputs_of(op, {tensor, mean, variance});
  if (gamma != nil) inputs = [inputs arrayByAddingObject:gamma];
  if (beta != nil) inputs = [inputs arrayByAddingObject:beta];
  const auto types = operands(self, op, inputs, Elements::kFloat);
  require_shape(op, @"the result", types[0].shape, broadcast_shape(op, types));
  const int gamma_at = gamma != nil ? 3 : 0;
  const int beta_at = beta != nil ? 3 + (gamma != nil) : 0;
  return add_operation(
      self, op, name, inputs, types[0], elementwise([=](const double* x) {
        const double scale = gamma_at != 0 ? x[gamma_at] : 1;
        const double shift = beta_at != 0 ? x[beta_at] : 0;
        return scale * (x[0] - x[1]) / std::sqrt(x[2] + epsilon) + shift;
      }));
}

@end
