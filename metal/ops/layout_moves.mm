// SPDX-License-Identifier: MIT
#import "metal/ops/layout_moves.h"

namespace traingraph::metal {

namespace {

std::int64_t last_extent(T x) { return [[[x shape] lastObject] longLongValue]; }

}  // namespace

T moved_input(GraphBuilder& b, int input) {
  const T x = b.input(input);
  const bool is_boolean = b.input_desc(input).data_type == DataType::Boolean;
  return is_boolean ? b.cast(x, DataType::Int8) : x;
}

void set_moved(GraphBuilder& b, T x, int result) {
  const TensorDescriptor& desc = b.result_desc(result);
  x = b.reshape(x, desc.shape);
  if (desc.data_type == DataType::Boolean) x = b.cast(x, DataType::Boolean);
  b.set(x, result);
}

T with_near_rows(GraphBuilder& b, T slice, std::int64_t distance) {
  const bool is_near = distance <= b.limits().max_matmul_rows;
  return is_near ? slice : b.written(slice);
}

T slice_axis(GraphBuilder& b, T x, int axis, std::int64_t start,
             std::int64_t length) {
  T slice = [b.graph() sliceTensor:x
                         dimension:static_cast<NSUInteger>(axis)
                             start:start
                            length:length
                              name:b.name()];
  const bool is_of_columns = axis + 1 == static_cast<int>([[x shape] count]);
  return is_of_columns ? with_near_rows(b, slice, last_extent(x)) : slice;
}

T concatenate(GraphBuilder& b, NSArray<MPSGraphTensor*>* parts, int axis) {
  if ([parts count] == 1) return [parts objectAtIndex:0];
  return [b.graph() concatTensors:parts dimension:axis name:b.name()];
}

T pad_middle(GraphBuilder& b, T x, std::int64_t before, std::int64_t after,
             MPSGraphPaddingMode mode, double value) {
  if (before == 0 && after == 0) return x;
  return [b.graph() padTensor:x
              withPaddingMode:mode
                  leftPadding:ns_list({0, before, 0})
                 rightPadding:ns_list({0, after, 0})
                constantValue:value
                         name:b.name()];
}

}  // namespace traingraph::metal
