// SPDX-License-Identifier: MIT
// Comparisons, logical not, casts and fills.
#include <cmath>

#import "metal/graph_builder.h"

namespace traingraph::metal {
namespace {

using enum ComparisonOperation;

T compare(GraphBuilder& b, T x, T y) {
#define TRAINGRAPH_CASE(operation, selector)        \
  case operation:                                   \
    return [b.graph() selector##WithPrimaryTensor:x \
                                  secondaryTensor:y \
                                             name:b.name()];
  switch (b.attrs<CompareAttrs>().operation) {
    TRAINGRAPH_CASE(Equal, equal)
    TRAINGRAPH_CASE(NotEqual, notEqual)
    TRAINGRAPH_CASE(Less, lessThan)
    TRAINGRAPH_CASE(Greater, greaterThan)
    TRAINGRAPH_CASE(LessOrEqual, lessThanOrEqualTo)
    TRAINGRAPH_CASE(GreaterOrEqual, greaterThanOrEqualTo)
    TRAINGRAPH_CASE(LogicalAND, logicalAND)
    TRAINGRAPH_CASE(LogicalOR, logicalOR)
    TRAINGRAPH_CASE(LogicalNAND, logicalNAND)
    TRAINGRAPH_CASE(LogicalNOR, logicalNOR)
    TRAINGRAPH_CASE(LogicalXOR, logicalXOR)
    case LogicalNOT:
      break;  // the shape rule has refused it
  }
#undef TRAINGRAPH_CASE
  return nil;
}

/// 0.5 is true too.
T is_not_zero(GraphBuilder& b, T x) {
  return [b.graph() notEqualWithPrimaryTensor:x
                              secondaryTensor:b.scalar_like(x, 0)
                                         name:b.name()];
}

/// Converts a float. Out of range saturates and NaN becomes 0; what MPSGraph's
/// cast makes of either is not documented.
T to_integer(GraphBuilder& b, T x, DataType type) {
  const bool is_signed = type != DataType::UInt8;
  const int num_bits = static_cast<int>(8 * size_of(type));
  const double range = std::ldexp(1, num_bits);
  const double lowest = is_signed ? -range / 2 : 0, beyond = lowest + range;
  // Two's complement: no double holds the largest Int64.
  T largest =
      b.sub(b.scalar(is_signed ? -1 : 255, type), b.scalar(lowest, type));
  T is_inside = b.both(b.less(x, beyond), b.at_least(x, lowest));
  T inside = b.cast(b.select(is_inside, x, 0.0), type);
  T outside =
      b.select(b.is_nan(x), b.scalar(0, type),
               b.select(b.less(x, 0.0), b.scalar(lowest, type), largest));
  return b.select(is_inside, inside, outside);
}

/// What a cast makes of `value`.
double convert(double value, DataType type) {
  if (is_float(type)) return value;
  if (type == DataType::Boolean) return value != 0;
  return std::trunc(value);
}

}  // namespace

void lower_compare(GraphBuilder& b) {
  T x = b.input(0), y = b.input(1);
  const bool is_ordered_logic =
      b.input_desc(0).data_type == DataType::Boolean &&
      b.attrs<CompareAttrs>().operation < LogicalAND;
  // Which of true and false is less is documented for numbers only.
  if (is_ordered_logic) {
    x = b.cast(x, DataType::Int32);
    y = b.cast(y, DataType::Int32);
  }
  b.set(compare(b, x, y));
}

void lower_logical_not(GraphBuilder& b) { b.set(b.negate(b.input(0))); }

void lower_cast(GraphBuilder& b) {
  const DataType from = b.input_desc(0).data_type;
  const DataType to = b.result_desc().data_type;
  T x = b.input(0);
  if (from == to) return b.set(x);
  if (to == DataType::Boolean) return b.set(is_not_zero(b, x));
  const bool drops_fractions = is_float(from) && !is_float(to);
  b.set(drops_fractions ? to_integer(b, x, to) : b.cast(x, to));
}

void lower_fill(GraphBuilder& b) {
  const TensorDescriptor& desc = b.result_desc();
  const double value = convert(b.attrs<FillAttrs>().value, desc.data_type);
  b.set([b.graph() constantWithScalar:value
                                shape:ns_shape(desc.shape)
                             dataType:mps_data_type(desc.data_type)]);
}

}  // namespace traingraph::metal
