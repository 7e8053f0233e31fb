// SPDX-License-Identifier: MIT
#include "autodiff/gradient.h"

#include <algorithm>

#include "autodiff/node_gradient.h"

namespace traingraph {
namespace {

class ReverseWalk {
 public:
  ReverseWalk(Program& program, const GradientRequest& request)
      : program_(program), request_(request) {}

  GradientMap run() {
    mark_values_that_need_gradients();
    program_.position.phase = Phase::Gradient;  // for sums of seeds
    for (const auto& [value, gradient] : request_.seeds) {
      accumulate(value, gradient);
    }
    // Gradient nodes are appended behind the nodes that are walked.
    for (auto id = static_cast<NodeId>(program_.nodes().size()) - 1; id >= 0;
         --id) {
      visit(id);
    }
    return std::move(gradients_);
  }

  void accumulate(ValueId value, ValueId gradient) {
    auto [entry, is_first] = gradients_.try_emplace(value, gradient);
    if (is_first) return;
    entry->second = program_.append_one(
        OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Add},
        {entry->second, gradient});
  }

  bool needs(ValueId value) const {
    return value != kNoValue && value < static_cast<ValueId>(needs_.size()) &&
           needs_[value];
  }

 private:
  /// Forward reachability from the wanted values, not through stopped ones.
  void mark_values_that_need_gradients() {
    needs_.assign(program_.values().size(), false);
    for (ValueId wanted : request_.wanted) {
      needs_[wanted] = !request_.stopped.contains(wanted);
    }
    for (const Node& node : program_.nodes()) {
      const bool reaches =
          std::ranges::any_of(node.inputs, [&](ValueId v) { return needs(v); });
      if (!reaches) continue;
      if (node.op->no_gradient == NoGradient::Ends) continue;
      for (ValueId result : node.outputs) {
        if (!request_.stopped.contains(result)) needs_[result] = true;
      }
    }
  }

  void visit(NodeId id);

  Program& program_;
  const GradientRequest& request_;
  GradientMap gradients_;
  std::vector<bool> needs_;
};

void ReverseWalk::visit(NodeId id) {
  const Node& node = program_.node(id);
  NodeGradientRequest request{.node = id, .result_gradients = {}, .wanted = {}};
  bool arrives = false, is_wanted = false;
  for (ValueId v : node.inputs) {
    request.wanted.push_back(needs(v));
    is_wanted = is_wanted || request.wanted.back();
  }
  if (!is_wanted) return;
  for (ValueId v : node.outputs) {
    // A stopped result passes nothing on, even if its siblings do.
    const auto gradient = needs(v) ? gradients_.find(v) : gradients_.end();
    const bool has = gradient != gradients_.end();
    request.result_gradients.push_back(has ? gradient->second : kNoValue);
    arrives = arrives || has;
  }
  if (!arrives) return;
  // The inputs are copied since appending gradients moves the nodes.
  const std::vector<ValueId> inputs = node.inputs;
  differentiate_node(program_, request, [&](int input, ValueId gradient) {
    accumulate(inputs[input], gradient);
  });
}

}  // namespace

GradientMap differentiate(Program& program, const GradientRequest& request) {
  return ReverseWalk(program, request).run();
}

}  // namespace traingraph
