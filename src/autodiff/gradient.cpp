// SPDX-License-Identifier: MIT
#include "autodiff/gradient.h"

#include <algorithm>

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
  class Context;

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

class ReverseWalk::Context : public GradContext {
 public:
  Context(ReverseWalk& walk, const Node& node) : walk_(walk), node_(node) {}

  const Node& node() const override { return node_; }
  Program& program() override { return walk_.program_; }
  bool wants(int input) const override {
    return walk_.needs(node_.inputs[input]);
  }
  ValueId result_gradient(int result) const override {
    // A stopped result passes nothing on, even if its siblings do.
    if (!walk_.needs(node_.outputs[result])) return kNoValue;
    const auto it = walk_.gradients_.find(node_.outputs[result]);
    return it == walk_.gradients_.end() ? kNoValue : it->second;
  }
  void set(int input, ValueId gradient) override {
    if (wants(input)) walk_.accumulate(node_.inputs[input], gradient);
  }

 private:
  ReverseWalk& walk_;
  const Node& node_;
};

void ReverseWalk::visit(NodeId id) {
  // A copy: appending gradient nodes moves the originals.
  const Node node = program_.node(id);
  if (node.op->gradient_rule == nullptr) return;
  const bool has_gradient = std::ranges::any_of(node.outputs, [&](ValueId v) {
    return needs(v) && gradients_.contains(v);
  });
  const bool is_wanted =
      std::ranges::any_of(node.inputs, [&](ValueId v) { return needs(v); });
  if (!has_gradient || !is_wanted) return;
  program_.position = {Phase::Gradient, node.layer, node.name};
  Context context(*this, node);
  node.op->gradient_rule(context);
}

}  // namespace

GradientMap differentiate(Program& program, const GradientRequest& request) {
  return ReverseWalk(program, request).run();
}

}  // namespace traingraph
