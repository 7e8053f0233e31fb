// SPDX-License-Identifier: MIT
#include "checks.h"

#include <algorithm>

#include "../arithmetic/index.h"
#include "../element_types.h"
#import "../graph_objects.h"

namespace emulator {
namespace {

bool is_accepted(Elements elements, std::uint32_t data_type) {
  switch (elements) {
    case Elements::kNumber:
      return data_type != MPSDataTypeBool;
    case Elements::kFloat:
      return is_float(data_type);
    case Elements::kBool:
      return data_type == MPSDataTypeBool;
    case Elements::kIndex:
      return data_type == MPSDataTypeInt32 || data_type == MPSDataTypeInt64;
    case Elements::kAny:
      return true;
  }
  return true;
}

NSString* name_of(Elements elements) {
  switch (elements) {
    case Elements::kNumber:
      return @"numbers";
    case Elements::kFloat:
      return @"floating-point numbers";
    case Elements::kBool:
      return @"Bool";
    case Elements::kIndex:
      return @"Int32 or Int64";
    case Elements::kAny:
      return @"any type";
  }
  return @"";
}

}  // namespace

bool is_float(std::uint32_t data_type) {
  return (data_type & MPSDataTypeFloatBit) != 0;
}

NSString* describe(const Dims& dims) {
  return [NSString stringWithUTF8String:to_string(dims).c_str()];
}

Type operand(MPSGraph* graph, const char* op, MPSGraphTensor* tensor,
             Elements elements) {
  require_tensor(graph, op, tensor);
  if ([tensor shape] == nil) refuse(op, @"the rank of an operand is unknown");
  const Type type = type_of(tensor);
  if (std::ranges::any_of(type.shape, [](auto length) { return length < 1; })) {
    refuse(op, @"the shape %@ of an operand is not known or empty",
           describe(type.shape));
  }
  if (!is_accepted(elements, type.data_type)) {
    refuse(op, @"expected %@, got %@", name_of(elements), describe(type));
  }
  return type;
}

std::vector<Type> operands(MPSGraph* graph, const char* op,
                           NSArray<MPSGraphTensor*>* tensors,
                           Elements elements) {
  if ([tensors count] == 0) refuse(op, @"expected tensors, got none");
  std::vector<Type> types;
  for (MPSGraphTensor* tensor in tensors) {
    types.push_back(operand(graph, op, tensor, elements));
    if (types.back().data_type != types.front().data_type) {
      refuse(op, @"element types differ: %@ and %@", describe(types.front()),
             describe(types.back()));
    }
  }
  return types;
}

NSArray<MPSGraphTensor*>* inputs_of(
    const char* op, std::initializer_list<MPSGraphTensor*> tensors) {
  NSMutableArray* inputs = [NSMutableArray array];
  for (MPSGraphTensor* tensor : tensors) {
    if (tensor == nil) refuse(op, @"a tensor is nil");
    [inputs addObject:tensor];
  }
  return inputs;
}

Dims constant_numbers(MPSGraph* graph, const char* op, NSString* what,
                      MPSGraphTensor* tensor) {
  const Type type = operand(graph, op, tensor, Elements::kIndex);
  const GraphState& state = *[graph state];
  const std::size_t node = state.producers[[tensor valueIndex]];
  const Array* constant = state.nodes[node].constant.get();
  if (constant == nullptr || type.shape.size() != 1) {
    refuse(op, @"%@ is not a constant vector", what);
  }
  return Dims(constant->data.begin(), constant->data.end());
}

Dims broadcast_shape(const char* op, const std::vector<Type>& types) {
  Dims dims = types[0].shape;
  for (const Type& type : types) {
    const std::optional<Dims> common = broadcast(dims, type.shape);
    if (!common) {
      refuse(op, @"shapes %@ and %@ do not broadcast", describe(dims),
             describe(type.shape));
    }
    dims = *common;
  }
  return dims;
}

std::size_t axis_of(const char* op, NSInteger axis, std::size_t rank) {
  const auto count = static_cast<NSInteger>(rank);
  if (axis < -count || axis >= count) {
    refuse(op, @"axis %ld is out of range for rank %ld", (long)axis,
           (long)count);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

Dims axes_of(const char* op, NSArray<NSNumber*>* axes, std::size_t rank) {
  Dims result;
  for (NSNumber* axis in axes) {
    result.push_back(
        static_cast<std::int64_t>(axis_of(op, [axis integerValue], rank)));
  }
  if (axes == nil) {
    for (std::size_t axis = 0; axis < rank; ++axis) {
      result.push_back(static_cast<std::int64_t>(axis));
    }
  }
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end()) {
    refuse(op, @"an axis is named twice: %@", describe(result));
  }
  return result;
}

Dims numbers_of(const char* op, NSString* what, NSArray<NSNumber*>* numbers,
                std::size_t count, std::int64_t least) {
  if (numbers == nil) refuse(op, @"%@ is nil", what);
  const Dims dims = dims_of(numbers);
  if (dims.size() != count) {
    refuse(op, @"%@ has %ld numbers, expected %ld", what, (long)dims.size(),
           (long)count);
  }
  if (std::ranges::any_of(dims, [=](auto n) { return n < least; })) {
    refuse(op, @"%@ %@ has a number below %lld", what, describe(dims),
           (long long)least);
  }
  return dims;
}

Dims result_shape(const char* op, NSArray<NSNumber*>* shape) {
  return numbers_of(op, @"shape", shape, [shape count], 1);
}

void require_shape(const char* op, NSString* what, const Dims& expected,
                   const Dims& got) {
  if (expected == got) return;
  refuse(op, @"%@ is %@, expected %@", what, describe(got), describe(expected));
}

}  // namespace emulator
