// SPDX-License-Identifier: MIT
#include "ops/cost.h"

#include "graph/op_def.h"
#include "ops/flops.h"

namespace traingraph {

NodeCost estimate_cost(const Program& program, const Node& node) {
  const OpDef& op = *node.op;
  NodeCost cost;
  const bool is_identity = op.is_identity && op.is_identity(node.attrs);
  if (!is_identity) cost.flops = op.flops(program, node);
  const auto count = [&](ValueId value) {
    if (value == kNoValue || program.value(value).is_opaque) return;
    const TensorDescriptor& desc = program.desc(value);
    cost.bytes += flops::elements(desc.shape) *
                  static_cast<double>(size_of(desc.data_type));
  };
  for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
    const bool is_picked = input_def(op, i).is_picked;
    count(is_picked ? node.outputs[0] : node.inputs[i]);
  }
  for (ValueId value : node.outputs) count(value);
  return cost;
}

}  // namespace traingraph
