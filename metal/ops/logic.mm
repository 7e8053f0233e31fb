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

/// What a cast makes of `value`.
double convert(double value, DataType type) {
  if (type == DataType::Float32) return value;
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
  if (to != DataType::Boolean) return b.set(b.cast(x, to));
  // 0.5 is true too.
  b.set([b.graph() notEqualWithPrimaryTensor:x
                             secondaryTensor:b.scalar(0, from)
                                        name:b.name()]);
}

void lower_fill(GraphBuilder& b) {
  const TensorDescriptor& desc = b.result_desc();
  const double value = convert(b.attrs<FillAttrs>().value, desc.data_type);
  b.set([b.graph() constantWithScalar:value
                                shape:ns_shape(desc.shape)
                             dataType:mps_data_type(desc.data_type)]);
}

}  // namespace traingraph::metal
