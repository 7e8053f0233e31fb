// SPDX-License-Identifier: MIT
#include <unordered_map>
#include <unordered_set>

#include "autodiff/node_gradient.h"
#include "nodes/filter_builder.h"

namespace traingraph::nodes {
namespace {

/// The wanted values and all that depends on them by the ops of the range.
std::unordered_set<ValueId> dependants(const Program& program, NodeId first,
                                       NodeId end,
                                       const std::vector<ValueId>& wanted) {
  std::unordered_set<ValueId> reached(wanted.begin(), wanted.end());
  for (NodeId id = first; id < end; ++id) {
    const Node& node = program.node(id);
    for (const ValueId input : node.inputs) {
      if (!reached.contains(input)) continue;
      reached.insert(node.outputs.begin(), node.outputs.end());
      break;
    }
  }
  return reached;
}

}  // namespace

std::vector<ValueId> differentiate_range(Program& program, NodeId first,
                                         NodeId end, ValueId result,
                                         ValueId gradient,
                                         const std::vector<ValueId>& wanted) {
  const auto reached = dependants(program, first, end, wanted);
  std::unordered_map<ValueId, ValueId> gradient_of{{result, gradient}};
  const auto find = [&](ValueId value) {
    const auto found = gradient_of.find(value);
    return found == gradient_of.end() ? kNoValue : found->second;
  };
  for (NodeId id = end - 1; id >= first; --id) {
    NodeGradientRequest request{
        .node = id, .result_gradients = {}, .wanted = {}};
    for (const ValueId output : program.node(id).outputs) {
      request.result_gradients.push_back(find(output));
    }
    const std::vector<ValueId> inputs = program.node(id).inputs;
    for (const ValueId input : inputs) {
      request.wanted.push_back(reached.contains(input));
    }
    differentiate_node(program, request, [&](int input, ValueId contribution) {
      ValueId& sum =
          gradient_of.try_emplace(inputs[input], kNoValue).first->second;
      sum = sum == kNoValue
                ? contribution
                : program.append_one(OpKind::Binary,
                                     ArithmeticAttrs{ArithmeticOperation::Add},
                                     {sum, contribution});
    });
  }
  std::vector<ValueId> gradients;
  for (const ValueId value : wanted) gradients.push_back(find(value));
  return gradients;
}

}  // namespace traingraph::nodes
