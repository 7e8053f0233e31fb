// SPDX-License-Identifier: MIT
#import "metal/graph_builder.h"

#include <algorithm>
#include <limits>

#import "metal/fold.h"
#import "metal/guard.h"
#include "metal/kernel_table.h"

namespace traingraph::metal {
namespace {

/// macOS 14 introduced it; not every SDK that this compiles with names it. The
/// target refuses it before.
constexpr auto kBFloat16 = static_cast<MPSDataType>(
    MPSDataTypeAlternateEncodingBit | MPSDataTypeFloat16);

bool is_float_tensor(T x) { return ([x dataType] & MPSDataTypeFloatBit) != 0; }

bool has_axes_of_1(const Shape& shape) {
  return std::ranges::count(shape, 1) > 1;
}

}  // namespace

MPSDataType mps_data_type(DataType type) {
  switch (type) {
    case DataType::Float32:
      return MPSDataTypeFloat32;
    case DataType::Float16:
      return MPSDataTypeFloat16;
    case DataType::Boolean:
      return MPSDataTypeBool;
    case DataType::Int64:
      return MPSDataTypeInt64;
    case DataType::Int32:
      return MPSDataTypeInt32;
    case DataType::Int8:
      return MPSDataTypeInt8;
    case DataType::UInt8:
      return MPSDataTypeUInt8;
    case DataType::BFloat16:
      return kBFloat16;
  }
  return MPSDataTypeInvalid;
}

NSArray<NSNumber*>* ns_list(std::span<const std::int64_t> numbers) {
  NSMutableArray* list = [NSMutableArray arrayWithCapacity:numbers.size()];
  for (std::int64_t number : numbers) {
    [list addObject:[NSNumber numberWithLongLong:number]];
  }
  return list;
}

NSArray<NSNumber*>* ns_list(std::initializer_list<std::int64_t> numbers) {
  return ns_list(std::span(numbers.begin(), numbers.size()));
}

NSArray<NSNumber*>* ns_shape(const Shape& shape) {
  if (shape.empty()) return ns_list({1});
  return ns_list(std::span(shape.begin(), shape.end()));
}

Shape shape_of(T x) {
  Shape shape;
  for (NSNumber* size in [x shape]) shape.push_back([size longLongValue]);
  return shape;
}

T GraphBuilder::feed(ValueId id) {
  const TensorDescriptor& desc = program_.desc(id);
  T tensor = [graph_ placeholderWithShape:ns_shape(desc.shape)
                                 dataType:mps_data_type(desc.data_type)
                                     name:to_ns(program_.value(id).name)];
  tensors_[id] = tensor;
  return tensor;
}

T GraphBuilder::feed_mask(const TensorDescriptor& desc,
                          std::span<const NodeId> nodes) {
  T mask = [graph_ placeholderWithShape:ns_shape(desc.shape)
                               dataType:mps_data_type(desc.data_type)
                                   name:@"dropout mask"];
  for (NodeId node : nodes) masks_[node] = mask;
  return mask;
}

void GraphBuilder::begin(NodeId id) {
  node_ = id;
  upcasts_ = !computes_in_half(program_, node());
}

T GraphBuilder::read(ValueId id) {
  T x = tensors_.at(id);
  const bool is_wide =
      !is_float_tensor(x) || [x dataType] == MPSDataTypeFloat32;
  if (is_wide || !upcasts_) return x;
  T& wide = wide_[x];
  if (!wide) wide = cast(x, DataType::Float32);
  return wide;
}

T GraphBuilder::entry(int input, int index) {
  return [graph_ sliceTensor:this->input(input)
                   dimension:0
                       start:index
                      length:1
                        name:name()];
}

DataType GraphBuilder::compute_type() const {
  const DataType type = result_desc().data_type;
  return upcasts_ && is_float(type) ? DataType::Float32 : type;
}

T GraphBuilder::rounded(T x, ValueId id) {
  const DataType type = program_.desc(id).data_type;
  const bool is_it = [x dataType] == mps_data_type(type);
  return is_it || !is_float_tensor(x) || !is_float(type) ? x : cast(x, type);
}

NSString* GraphBuilder::name() const { return to_ns(node().name); }

bool GraphBuilder::has(int input) const {
  return input < num_inputs() && node().inputs[input] != kNoValue;
}

const TensorDescriptor& GraphBuilder::input_desc(int i) const {
  return program_.desc(node().inputs[i]);
}

const TensorDescriptor& GraphBuilder::result_desc(int r) const {
  return program_.desc(node().outputs[r]);
}

void GraphBuilder::set(T tensor, int result) {
  const ValueId value = node().outputs[result];
  tensors_[value] = rounded(tensor, value);
}

void GraphBuilder::update(int input, T tensor) {
  const ValueId value = node().inputs[input];
  tensors_[value] = rounded(tensor, value);
}

T GraphBuilder::scalar(double value, DataType type) {
  return [graph_ constantWithScalar:value
                              shape:ns_list({1})
                           dataType:mps_data_type(type)];
}

T GraphBuilder::scalar_like(T x, double value) {
  return [graph_ constantWithScalar:value
                              shape:ns_list({1})
                           dataType:[x dataType]];
}

#define TRAINGRAPH_BINARY(verb, selector)               \
  T GraphBuilder::verb(T x, T y) {                      \
    return [graph_ selector##WithPrimaryTensor:x        \
                               secondaryTensor:y        \
                                          name:name()]; \
  }
TRAINGRAPH_BINARY(add, addition)
TRAINGRAPH_BINARY(sub, subtraction)
TRAINGRAPH_BINARY(mul, multiplication)
TRAINGRAPH_BINARY(div, division)
TRAINGRAPH_BINARY(pow, power)
TRAINGRAPH_BINARY(min, minimumWithNaNPropagation)
TRAINGRAPH_BINARY(max, maximumWithNaNPropagation)
TRAINGRAPH_BINARY(equal, equal)
TRAINGRAPH_BINARY(less, lessThan)
TRAINGRAPH_BINARY(greater, greaterThan)
TRAINGRAPH_BINARY(both, logicalAND)
#undef TRAINGRAPH_BINARY

#define TRAINGRAPH_UNARY(verb, selector)                \
  T GraphBuilder::verb(T x) {                           \
    return [graph_ selector##WithTensor:x name:name()]; \
  }
TRAINGRAPH_UNARY(negate, not)
TRAINGRAPH_UNARY(is_nan, isNaN)
TRAINGRAPH_UNARY(neg, negative)
TRAINGRAPH_UNARY(abs, absolute)
TRAINGRAPH_UNARY(sign, sign)
TRAINGRAPH_UNARY(square, square)
TRAINGRAPH_UNARY(sqrt, squareRoot)
TRAINGRAPH_UNARY(exp, exponent)
TRAINGRAPH_UNARY(log, logarithm)
TRAINGRAPH_UNARY(tanh, tanh)
TRAINGRAPH_UNARY(sigmoid, sigmoid)
TRAINGRAPH_UNARY(erf, erf)
#undef TRAINGRAPH_UNARY

T GraphBuilder::at_least(T x, double y) {
  return [graph_ greaterThanOrEqualToWithPrimaryTensor:x
                                       secondaryTensor:scalar_like(x, y)
                                                  name:name()];
}

T GraphBuilder::select(T predicate, T x, T y) {
  return [graph_ selectWithPredicateTensor:predicate
                       truePredicateTensor:x
                      falsePredicateTensor:y
                                      name:name()];
}

T GraphBuilder::select(T predicate, T x, double y) {
  return select(predicate, x, scalar_like(x, y));
}

T GraphBuilder::select(T predicate, double x, T y) {
  return select(predicate, scalar_like(y, x), y);
}

T GraphBuilder::select(T predicate, double x, double y, DataType type) {
  return select(predicate, scalar(x, type), scalar(y, type));
}

T GraphBuilder::softplus(T x) {
  return add(max(x, 0.0), log(add(exp(neg(abs(x))), 1.0)));
}

T GraphBuilder::cast(T x, DataType type) {
  return [graph_ castTensor:x toType:mps_data_type(type) name:name()];
}

T GraphBuilder::reshape(T x, const Shape& shape) {
  T y = [graph_ reshapeTensor:x withShape:ns_shape(shape) name:name()];
  if (turned_.contains(x)) turned_.insert(y);
  const bool is_folded =
      folded_.contains(x) || has_axes_of_1(shape_of(x)) || has_axes_of_1(shape);
  if (is_folded) folded_.insert(y);
  return y;
}

T GraphBuilder::broadcast(T x, const Shape& shape) {
  T y = [graph_ broadcastTensor:x toShape:ns_shape(shape) name:name()];
  return limits_.writes_broadcasts ? written(y) : y;
}

T GraphBuilder::written(T x) {
  if (!is_float_tensor(x)) return x;
  // Leaves every number, NaN and sign as it is, and is no identity that a
  // compiler knows.
  return max(x, -std::numeric_limits<double>::infinity());
}

T GraphBuilder::as_operand(T x) {
  const bool is_misread = (limits_.writes_reshapes && folded_.contains(x)) ||
                          (limits_.writes_turned_bfloat16 &&
                           turned_.contains(x) && [x dataType] == kBFloat16);
  return is_misread ? written(x) : x;
}

T GraphBuilder::weights(int i) {
  const bool is_computed = program_.value(node().inputs[i]).producer >= 0;
  return is_computed && limits_.writes_weights ? written(input(i)) : input(i);
}

T GraphBuilder::turned(T x, T source) {
  turned_.insert(x);
  if (folded_.contains(source)) folded_.insert(x);
  return x;
}

T GraphBuilder::transpose(T x, const Shape& permutation) {
  return turned([graph_ transposeTensor:x
                            permutation:ns_shape(permutation)
                                   name:name()],
                x);
}

T GraphBuilder::transpose_matrix(T x) {
  const NSUInteger rank = [[x shape] count];
  return turned([graph_ transposeTensor:x
                              dimension:rank - 2
                          withDimension:rank - 1
                                   name:name()],
                x);
}

T GraphBuilder::reduce(Reduction kind, T x, const Shape& shape,
                       const Shape& axes) {
  if (axes.empty()) return x;
  for (const FoldedReduction& step :
       fold_reduction(shape, axes, limits_.reliable_rank)) {
    if (step.shape != shape) x = reshape(x, step.shape);
    NSArray<NSNumber*>* list = ns_shape(step.axes);
    switch (kind) {
      case Reduction::Sum:
        x = [graph_ reductionSumWithTensor:x axes:list name:name()];
        break;
      case Reduction::Maximum:
        if (!is_float_tensor(x)) {
          x = [graph_ reductionMaximumWithTensor:x axes:list name:name()];
          break;
        }
        x = [graph_ reductionMaximumPropagateNaNWithTensor:x
                                                      axes:list
                                                      name:name()];
        break;
      case Reduction::Minimum:
        if (!is_float_tensor(x)) {
          x = [graph_ reductionMinimumWithTensor:x axes:list name:name()];
          break;
        }
        x = [graph_ reductionMinimumPropagateNaNWithTensor:x
                                                      axes:list
                                                      name:name()];
        break;
    }
  }
  Shape reduced = shape;
  for (std::int64_t axis : axes) reduced[static_cast<int>(axis)] = 1;
  return reshape(x, reduced);
}

T GraphBuilder::sum(T x, const Shape& shape, const Shape& axes) {
  return reduce(Reduction::Sum, x, shape, axes);
}

T GraphBuilder::mean(T x, const Shape& shape, const Shape& axes) {
  double count = 1;
  for (std::int64_t axis : axes) count *= double(shape[static_cast<int>(axis)]);
  return div(sum(x, shape, axes), count);
}

T GraphBuilder::maximum(T x, const Shape& shape, const Shape& axes) {
  return reduce(Reduction::Maximum, x, shape, axes);
}

T GraphBuilder::minimum(T x, const Shape& shape, const Shape& axes) {
  return reduce(Reduction::Minimum, x, shape, axes);
}

T GraphBuilder::sum_to(T x, const Shape& from, const Shape& to) {
  Shape axes;
  const int missing = from.rank() - to.rank();
  for (int axis = 0; axis < from.rank(); ++axis) {
    const std::int64_t size = axis < missing ? 1 : to[axis - missing];
    if (size != from[axis]) axes.push_back(axis);
  }
  return reshape(sum(x, from, axes), to);
}

}  // namespace traingraph::metal
