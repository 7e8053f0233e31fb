// SPDX-License-Identifier: MIT
// Operations that rename positions, move elements or change their type.
#include <algorithm>

#include "../arithmetic/index.h"
#include "../arithmetic/linear.h"
#include "../arithmetic/move.h"
#include "../element_types.h"
#include "checks.h"

using namespace emulator;

namespace {

/// Views the elements under another shape.
MPSGraphTensor* add_view(MPSGraph* graph, const char* op, NSString* name,
                         MPSGraphTensor* tensor, const Dims& dims) {
  const Type type = operand(graph, op, tensor);
  if (count_of(dims) != type.num_elements()) {
    refuse(op, @"%@ cannot take the shape %@", describe(type), describe(dims));
  }
  return add_operation(graph, op, name, inputs_of(op, {tensor}),
                       Type{type.data_type, dims}, copy());
}

/// The lengths, with one -1 replaced by what is left for it.
Dims completed(const char* op, const Type& type, NSArray<NSNumber*>* shape) {
  Dims dims = numbers_of(op, @"shape", shape, [shape count], -1);
  const auto unknown = std::ranges::find(dims, -1);
  if (unknown == dims.end()) return dims;
  *unknown = 1;
  const std::int64_t known = count_of(dims);
  if (std::ranges::find(dims, -1) != dims.end() || known == 0 ||
      type.num_elements() % known != 0) {
    refuse(op, @"%@ cannot take the shape %@", describe(type),
           describe(dims_of(shape)));
  }
  *unknown = type.num_elements() / known;
  return dims;
}

MPSGraphTensor* add_transpose(MPSGraph* graph, NSString* name,
                              MPSGraphTensor* tensor,
                              const std::vector<std::size_t>& permutation) {
  const Type type = operand(graph, "transpose", tensor);
  Type result{type.data_type, {}};
  for (std::size_t axis : permutation) {
    result.shape.push_back(type.shape[axis]);
  }
  return add_operation(graph, "transpose", name,
                       inputs_of("transpose", {tensor}), result,
                       transpose(permutation));
}

NSArray<MPSGraphTensor*>* add_split(MPSGraph* graph, NSString* name,
                                    MPSGraphTensor* tensor, const Dims& sizes,
                                    std::size_t axis) {
  const Type type = operand(graph, "split", tensor);
  std::int64_t total = 0;
  for (std::int64_t size : sizes) total += size;
  if (total != type.shape[axis]) {
    refuse("split", @"sizes %@ do not make up axis %ld of %@", describe(sizes),
           (long)axis, describe(type));
  }
  std::vector<Type> results(sizes.size(), type);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    results[i].shape[axis] = sizes[i];
  }
  return add_operation(graph, "split", name, inputs_of("split", {tensor}),
                       results, split(axis));
}

MPSGraphTensor* add_squeeze(MPSGraph* graph, NSString* name,
                            MPSGraphTensor* tensor, const Dims& axes) {
  Type type = operand(graph, "squeeze", tensor);
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (type.shape[axes[i]] != 1) {
      refuse("squeeze", @"axis %lld of %@ is not 1", (long long)axes[i],
             describe(type));
    }
    type.shape.erase(type.shape.begin() + axes[i]);
  }
  return add_view(graph, "squeeze", name, tensor, type.shape);
}

}  // namespace

@implementation MPSGraph (MPSGraphTensorShapeOps)

- (MPSGraphTensor*)reshapeTensor:(MPSGraphTensor*)tensor
                       withShape:(MPSShape*)shape
                            name:(NSString*)name {
  const Type type = operand(self, "reshape", tensor);
  return add_view(self, "reshape", name, tensor,
                  completed("reshape", type, shape));
}

- (MPSGraphTensor*)flatten2DTensor:(MPSGraphTensor*)tensor
                              axis:(NSInteger)axis
                              name:(NSString*)name {
  const Type type = operand(self, "flatten2D", tensor);
  const std::size_t at = axis_of("flatten2D", axis, type.shape.size());
  const Dims rows(type.shape.begin(), type.shape.begin() + at);
  return add_view(self, "flatten2D", name, tensor,
                  {count_of(rows), type.num_elements() / count_of(rows)});
}

- (MPSGraphTensor*)squeezeTensor:(MPSGraphTensor*)tensor name:(NSString*)name {
  const Dims dims = operand(self, "squeeze", tensor).shape;
  Dims axes;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) axes.push_back(static_cast<std::int64_t>(axis));
  }
  return add_squeeze(self, name, tensor, axes);
}

- (MPSGraphTensor*)squeezeTensor:(MPSGraphTensor*)tensor
                            axis:(NSInteger)axis
                            name:(NSString*)name {
  return [self squeezeTensor:tensor axes:@[ @(axis) ] name:name];
}

- (MPSGraphTensor*)squeezeTensor:(MPSGraphTensor*)tensor
                            axes:(NSArray<NSNumber*>*)axes
                            name:(NSString*)name {
  if (axes == nil) refuse("squeeze", @"axes is nil");
  const Type type = operand(self, "squeeze", tensor);
  return add_squeeze(self, name, tensor,
                     axes_of("squeeze", axes, type.shape.size()));
}

- (MPSGraphTensor*)expandDimsOfTensor:(MPSGraphTensor*)tensor
                                 axis:(NSInteger)axis
                                 name:(NSString*)name {
  return [self expandDimsOfTensor:tensor axes:@[ @(axis) ] name:name];
}

- (MPSGraphTensor*)expandDimsOfTensor:(MPSGraphTensor*)tensor
                                 axes:(NSArray<NSNumber*>*)axes
                                 name:(NSString*)name {
  if (axes == nil) refuse("expandDims", @"axes is nil");
  Dims dims = operand(self, "expandDims", tensor).shape;
  const std::size_t rank = dims.size() + [axes count];
  for (std::int64_t axis : axes_of("expandDims", axes, rank)) {
    dims.insert(dims.begin() + axis, 1);
  }
  return add_view(self, "expandDims", name, tensor, dims);
}

- (MPSGraphTensor*)transposeTensor:(MPSGraphTensor*)tensor
                         dimension:(NSUInteger)dimensionIndex
                     withDimension:(NSUInteger)dimensionIndex2
                              name:(NSString*)name {
  const char* op = "transpose";
  const std::size_t rank = operand(self, op, tensor).shape.size();
  std::vector<std::size_t> permutation(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) permutation[axis] = axis;
  std::swap(permutation[axis_of(op, NSInteger(dimensionIndex), rank)],
            permutation[axis_of(op, NSInteger(dimensionIndex2), rank)]);
  return add_transpose(self, name, tensor, permutation);
}

- (MPSGraphTensor*)transposeTensor:(MPSGraphTensor*)tensor
                       permutation:(NSArray<NSNumber*>*)permutation
                              name:(NSString*)name {
  const char* op = "transpose";
  const std::size_t rank = operand(self, op, tensor).shape.size();
  const Dims axes = numbers_of(op, @"permutation", permutation, rank, 0);
  axes_of(op, permutation, rank);
  return add_transpose(self, name, tensor, {axes.begin(), axes.end()});
}

- (MPSGraphTensor*)concatTensor:(MPSGraphTensor*)tensor
                     withTensor:(MPSGraphTensor*)tensor2
                      dimension:(NSInteger)dimensionIndex
                           name:(NSString*)name {
  return [self concatTensors:inputs_of("concat", {tensor, tensor2})
                   dimension:dimensionIndex
                        name:name];
}

- (MPSGraphTensor*)concatTensors:(NSArray<MPSGraphTensor*>*)tensors
                       dimension:(NSInteger)dimensionIndex
                            name:(NSString*)name {
  const char* op = "concat";
  const auto types = operands(self, op, tensors);
  const std::size_t axis = axis_of(op, dimensionIndex, types[0].shape.size());
  Type result = types[0];
  for (std::size_t i = 1; i < types.size(); ++i) {
    Dims expected = types[0].shape;
    if (axis < types[i].shape.size()) expected[axis] = types[i].shape[axis];
    require_shape(op, @"an operand's shape", expected, types[i].shape);
    result.shape[axis] += types[i].shape[axis];
  }
  return add_operation(self, op, name, tensors, result, concatenate(axis));
}

- (MPSGraphTensor*)stackTensors:(NSArray<MPSGraphTensor*>*)inputTensors
                           axis:(NSInteger)axis
                           name:(NSString*)name {
  const char* op = "stack";
  const auto types = operands(self, op, inputTensors);
  const std::size_t rank = types[0].shape.size() + 1;
  NSNumber* at = @((NSInteger)axis_of(op, axis, rank));
  NSMutableArray* expanded = [NSMutableArray array];
  for (std::size_t i = 0; i < types.size(); ++i) {
    require_shape(op, @"an operand's shape", types[0].shape, types[i].shape);
    MPSGraphTensor* tensor = [inputTensors objectAtIndex:i];
    [expanded addObject:[self expandDimsOfTensor:tensor axes:@[ at ] name:nil]];
  }
  return [self concatTensors:expanded dimension:[at integerValue] name:name];
}

- (NSArray<MPSGraphTensor*>*)splitTensor:(MPSGraphTensor*)tensor
                              splitSizes:(NSArray<NSNumber*>*)splitSizes
                                    axis:(NSInteger)axis
                                    name:(NSString*)name {
  const char* op = "split";
  const Type type = operand(self, op, tensor);
  return add_split(
      self, name, tensor,
      numbers_of(op, @"splitSizes", splitSizes, [splitSizes count], 1),
      axis_of(op, axis, type.shape.size()));
}

- (NSArray<MPSGraphTensor*>*)splitTensor:(MPSGraphTensor*)tensor
                               numSplits:(NSUInteger)numSplits
                                    axis:(NSInteger)axis
                                    name:(NSString*)name {
  const char* op = "split";
  const Type type = operand(self, op, tensor);
  const std::size_t at = axis_of(op, axis, type.shape.size());
  const auto count = static_cast<std::int64_t>(numSplits);
  if (count < 1 || type.shape[at] % count != 0) {
    refuse(op, @"axis %ld of %@ cannot be split into %ld", (long)at,
           describe(type), (long)count);
  }
  return add_split(self, name, tensor, Dims(count, type.shape[at] / count), at);
}

- (MPSGraphTensor*)broadcastTensor:(MPSGraphTensor*)tensor
                           toShape:(MPSShape*)shape
                              name:(NSString*)name {
  const char* op = "broadcast";
  const Type type = operand(self, op, tensor);
  const Dims dims = result_shape(op, shape);
  const std::optional<Dims> common = broadcast(type.shape, dims);
  if (common != dims) {
    refuse(op, @"%@ does not broadcast to %@", describe(type), describe(dims));
  }
  Dims padded(dims.size() - type.shape.size(), 1);
  padded.insert(padded.end(), type.shape.begin(), type.shape.end());
  MPSGraphTensor* source = add_view(self, op, nil, tensor, padded);
  std::vector<AxisTaps> axes;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    axes.push_back(broadcast_axis(padded[axis], dims[axis]));
  }
  return add_operation(self, op, name, inputs_of(op, {source}),
                       Type{type.data_type, dims}, linear(axes));
}

- (MPSGraphTensor*)shapeOfTensor:(MPSGraphTensor*)tensor name:(NSString*)name {
  const Dims dims = operand(self, "shapeOf", tensor).shape;
  const Type type{MPSDataTypeInt32, {std::ssize(dims)}};
  return add_operation(self, "shapeOf", name, inputs_of("shapeOf", {tensor}),
                       type, [dims](const auto&, auto& results) {
                         results[0].data.assign(dims.begin(), dims.end());
                       });
}

- (MPSGraphTensor*)castTensor:(MPSGraphTensor*)tensor
                       toType:(MPSDataType)type
                         name:(NSString*)name {
  const Type source = operand(self, "cast", tensor);
  if (element_size(type) == 0) {
    refuse("cast", @"%@ cannot become type 0x%08x", describe(source), type);
  }
  return add_operation(self, "cast", name, inputs_of("cast", {tensor}),
                       Type{type, source.shape}, copy());
}

- (MPSGraphTensor*)coordinateAlongAxis:(NSInteger)axis
                             withShape:(MPSShape*)shape
                                  name:(NSString*)name {
  const char* op = "coordinateAlongAxis";
  const Dims dims = result_shape(op, shape);
  return add_operation(
      self, op, name, @ [], Type { MPSDataTypeInt32, dims },
      coordinate(axis_of(op, axis, dims.size())));
}

@end
