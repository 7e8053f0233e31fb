// SPDX-License-Identifier: MIT
// Slices, padding, tiles and reversals: linear maps of every axis, and their
// gradients.
#include <algorithm>

#include "../arithmetic/linear.h"
#include "checks.h"

using namespace emulator;

namespace {

using Axes = std::vector<AxisTaps>;

Dims lengths_of(const Axes& axes) {
  Dims dims;
  for (const AxisTaps& axis : axes) dims.push_back(std::ssize(axis));
  return dims;
}

MPSGraphTensor* add_linear(MPSGraph* graph, const char* op, NSString* name,
                           MPSGraphTensor* tensor, const Axes& axes,
                           double otherwise = 0) {
  const Type type = operand(graph, op, tensor);
  const Type result{type.data_type,
                    result_shape(op, shape_of(lengths_of(axes)))};
  return add_operation(graph, op, name, inputs_of(op, {tensor}), result,
                       linear(axes, otherwise));
}

MPSGraphTensor* add_linear_gradient(MPSGraph* graph, const char* op,
                                    NSString* name,
                                    NSArray<MPSGraphTensor*>* inputs,
                                    const Axes& axes, const Dims& result) {
  const Type incoming =
      operand(graph, op, [inputs objectAtIndex:0], Elements::kFloat);
  require_shape(op, @"the incoming gradient's shape", lengths_of(axes),
                incoming.shape);
  return add_operation(graph, op, name, inputs,
                       Type{incoming.data_type, result}, linear_gradient(axes));
}

/// TensorFlow's strided slice: bounds are clamped, negative ones count from
/// the end.
AxisTaps strided_slice(const char* op, std::int64_t length, std::int64_t start,
                       std::int64_t end, std::int64_t stride) {
  if (stride == 0) refuse(op, @"a stride is 0");
  const std::int64_t first = stride > 0 ? 0 : -1;
  const auto bound = [&](std::int64_t at) {
    return std::clamp(at < 0 ? at + length : at, first, first + length);
  };
  const std::int64_t distance = bound(end) - bound(start);
  const std::int64_t rounding = stride > 0 ? stride - 1 : stride + 1;
  const std::int64_t count = (distance + rounding) / stride;
  return slice_axis(bound(start), stride, std::max<std::int64_t>(count, 0));
}

Axes strided_slices(const char* op, const Dims& dims, NSArray* starts,
                    NSArray* ends, NSArray* strides) {
  const std::size_t rank = dims.size();
  const Dims from = numbers_of(op, @"starts", starts, rank, INT64_MIN);
  const Dims to = numbers_of(op, @"ends", ends, rank, INT64_MIN);
  const Dims by = numbers_of(op, @"strides", strides, rank, INT64_MIN);
  Axes axes;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    axes.push_back(
        strided_slice(op, dims[axis], from[axis], to[axis], by[axis]));
    if (axes.back().empty()) {
      refuse(op, @"nothing is left of axis %ld of %@", (long)axis,
             describe(dims));
    }
  }
  return axes;
}

Padding padding_of(const char* op, MPSGraphPaddingMode mode) {
  switch (mode) {
    case MPSGraphPaddingModeConstant:
    case MPSGraphPaddingModeZero:
      return Padding::kNone;
    case MPSGraphPaddingModeReflect:
      return Padding::kReflect;
    case MPSGraphPaddingModeSymmetric:
      return Padding::kSymmetric;
    case MPSGraphPaddingModeClampToEdge:
      return Padding::kClampToEdge;
    case MPSGraphPaddingModePeriodic:
      return Padding::kPeriodic;
    case MPSGraphPaddingModeAntiPeriodic:
      return Padding::kAntiPeriodic;
  }
  refuse(op, @"unknown padding mode %ld", (long)mode);
}

Axes padded_axes(const char* op, const Dims& dims, MPSGraphPaddingMode mode,
                 MPSShape* left, MPSShape* right) {
  const Padding padding = padding_of(op, mode);
  const Dims before = numbers_of(op, @"leftPadding", left, dims.size(), 0);
  const Dims after = numbers_of(op, @"rightPadding", right, dims.size(), 0);
  Axes axes;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const std::int64_t largest = std::max(before[axis], after[axis]);
    const std::int64_t length = dims[axis];
    if ((padding == Padding::kReflect && largest >= length) ||
        (padding == Padding::kSymmetric && largest > length)) {
      refuse(op, @"%lld elements cannot be mirrored on axis %ld of %@",
             (long long)largest, (long)axis, describe(dims));
    }
    axes.push_back(padded_axis(padding, length, before[axis], after[axis]));
  }
  return axes;
}

Axes tiled_axes(const char* op, const Dims& dims, MPSShape* multiplier) {
  const Dims times = numbers_of(op, @"multiplier", multiplier, dims.size(), 1);
  Axes axes;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    axes.push_back(tiled_axis(dims[axis], times[axis]));
  }
  return axes;
}

}  // namespace

@implementation MPSGraph (MPSGraphTensorSliceOps)

- (MPSGraphTensor*)sliceTensor:(MPSGraphTensor*)tensor
                     dimension:(NSUInteger)dimensionIndex
                         start:(NSInteger)start
                        length:(NSInteger)length
                          name:(NSString*)name {
  const char* op = "slice";
  const Type type = operand(self, op, tensor);
  const std::size_t at =
      axis_of(op, NSInteger(dimensionIndex), type.shape.size());
  const std::int64_t first = start < 0 ? start + type.shape[at] : start;
  if (first < 0 || length < 1 || first + length > type.shape[at]) {
    refuse(op, @"%ld elements from %ld are not in axis %ld of %@", (long)length,
           (long)start, (long)at, describe(type));
  }
  Axes axes;
  for (std::int64_t whole : type.shape) axes.push_back(same_axis(whole));
  axes[at] = slice_axis(first, 1, length);
  return add_linear(self, op, name, tensor, axes);
}

- (MPSGraphTensor*)sliceTensor:(MPSGraphTensor*)tensor
                        starts:(NSArray<NSNumber*>*)starts
                          ends:(NSArray<NSNumber*>*)ends
                       strides:(NSArray<NSNumber*>*)strides
                          name:(NSString*)name {
  const char* op = "slice";
  const Dims dims = operand(self, op, tensor).shape;
  return add_linear(self, op, name, tensor,
                    strided_slices(op, dims, starts, ends, strides));
}

- (MPSGraphTensor*)sliceGradientTensor:(MPSGraphTensor*)gradient
                      fwdInShapeTensor:(MPSGraphTensor*)shape
                                starts:(NSArray<NSNumber*>*)starts
                                  ends:(NSArray<NSNumber*>*)ends
                               strides:(NSArray<NSNumber*>*)strides
                                  name:(NSString*)name {
  const char* op = "sliceGradient";
  const Dims dims = constant_numbers(self, op, @"fwdInShapeTensor", shape);
  return add_linear_gradient(self, op, name, inputs_of(op, {gradient, shape}),
                             strided_slices(op, dims, starts, ends, strides),
                             dims);
}

- (MPSGraphTensor*)padTensor:(MPSGraphTensor*)tensor
             withPaddingMode:(MPSGraphPaddingMode)paddingMode
                 leftPadding:(MPSShape*)leftPadding
                rightPadding:(MPSShape*)rightPadding
               constantValue:(double)constantValue
                        name:(NSString*)name {
  const char* op = "pad";
  const Dims dims = operand(self, op, tensor).shape;
  const bool is_constant = paddingMode == MPSGraphPaddingModeConstant;
  return add_linear(
      self, op, name, tensor,
      padded_axes(op, dims, paddingMode, leftPadding, rightPadding),
      is_constant ? constantValue : 0);
}

- (MPSGraphTensor*)
    padGradientWithIncomingGradientTensor:(MPSGraphTensor*)gradient
                             sourceTensor:(MPSGraphTensor*)source
                              paddingMode:(MPSGraphPaddingMode)paddingMode
                              leftPadding:(MPSShape*)leftPadding
                             rightPadding:(MPSShape*)rightPadding
                                     name:(NSString*)name {
  const char* op = "padGradient";
  NSArray* inputs = inputs_of(op, {gradient, source});
  const Dims dims = operands(self, op, inputs)[1].shape;
  return add_linear_gradient(
      self, op, name, inputs,
      padded_axes(op, dims, paddingMode, leftPadding, rightPadding), dims);
}

- (MPSGraphTensor*)tileTensor:(MPSGraphTensor*)tensor
               withMultiplier:(MPSShape*)multiplier
                         name:(NSString*)name {
  const char* op = "tile";
  const Dims dims = operand(self, op, tensor).shape;
  return add_linear(self, op, name, tensor, tiled_axes(op, dims, multiplier));
}

- (MPSGraphTensor*)
    tileGradientWithIncomingGradientTensor:(MPSGraphTensor*)gradient
                              sourceTensor:(MPSGraphTensor*)source
                            withMultiplier:(MPSShape*)multiplier
                                      name:(NSString*)name {
  const char* op = "tileGradient";
  NSArray* inputs = inputs_of(op, {gradient, source});
  const Dims dims = operands(self, op, inputs)[1].shape;
  return add_linear_gradient(self, op, name, inputs,
                             tiled_axes(op, dims, multiplier), dims);
}

- (MPSGraphTensor*)reverseTensor:(MPSGraphTensor*)tensor
                            axes:(NSArray<NSNumber*>*)reversed
                            name:(NSString*)name {
  const char* op = "reverse";
  const Dims dims = operand(self, op, tensor).shape;
  if (reversed == nil) refuse(op, @"axes is nil");
  Axes axes;
  for (std::int64_t length : dims) axes.push_back(same_axis(length));
  for (std::int64_t axis : axes_of(op, reversed, dims.size())) {
    axes[axis] = reversed_axis(dims[axis]);
  }
  return add_linear(self, op, name, tensor, axes);
}

- (MPSGraphTensor*)reverseTensor:(MPSGraphTensor*)tensor name:(NSString*)name {
  const Dims dims = operand(self, "reverse", tensor).shape;
  NSMutableArray* axes = [NSMutableArray array];
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    [axes addObject:@((NSInteger)axis)];
  }
  return [self reverseTensor:tensor axes:axes name:name];
}

@end
