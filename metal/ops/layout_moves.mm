// SPDX-License-Identifier: MIT
#import "metal/ops/layout_moves.h"

namespace traingraph::metal {

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

T slice_axis(GraphBuilder& b, T x, int axis, std::int64_t start,
             std::int64_t length) {
  return [b.graph() sliceTensor:x
                      dimension:static_cast<NSUInteger>(axis)
                          start:start
                         length:length
                           name:b.name()];
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
