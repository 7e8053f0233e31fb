// SPDX-License-Identifier: MIT
#include "autodiff/node_gradient.h"

#include <algorithm>
#include <string>

#include "traingraph/error.h"

namespace traingraph {
namespace {

class NodeContext : public GradContext {
 public:
  NodeContext(Program& program, const Node& node,
              const NodeGradientRequest& request, const AddGradient& add)
      : program_(program), node_(node), request_(request), add_(add) {}

  const Node& node() const override { return node_; }
  Program& program() override { return program_; }
  bool wants(int input) const override {
    return input < static_cast<int>(request_.wanted.size()) &&
           request_.wanted[input];
  }
  ValueId result_gradient(int result) const override {
    return request_.result_gradients[result];
  }
  void set(int input, ValueId gradient) override {
    if (wants(input)) add_(input, gradient);
  }

 private:
  Program& program_;
  const Node& node_;
  const NodeGradientRequest& request_;
  const AddGradient& add_;
};

[[noreturn]] void fail_count(const Node& node, const char* what,
                             std::size_t expected, std::size_t got) {
  throw InvalidArgument(ErrorInfo{.op = node.op->name,
                                  .node = node.name,
                                  .what = what,
                                  .expected = std::to_string(expected),
                                  .got = std::to_string(got)});
}

void require_fit(const Program& program, const Node& node,
                 const NodeGradientRequest& request) {
  const auto& gradients = request.result_gradients;
  const auto& wanted = request.wanted;
  if (gradients.size() != node.outputs.size()) {
    fail_count(node, "wrong number of result gradients", node.outputs.size(),
               gradients.size());
  }
  if (wanted.size() > node.inputs.size()) {
    fail_count(node, "wrong number of inputs", node.inputs.size(),
               wanted.size());
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ValueId gradient = gradients[i];
    if (gradient == kNoValue) continue;
    const Value& result = program.value(node.outputs[i]);
    if (!result.is_opaque && result.desc == program.desc(gradient)) continue;
    throw ShapeError(ErrorInfo{
        .op = node.op->name,
        .node = node.name,
        .what = "the gradient does not fit result " + std::to_string(i),
        .expected = result.is_opaque ? "none: the result is opaque"
                                     : result.desc.to_string(),
        .got = program.desc(gradient).to_string()});
  }
}

/// Puts the program's position back.
class Positioned {
 public:
  Positioned(Program& program, Program::Position position)
      : program_(program), before_(std::move(program.position)) {
    program.position = std::move(position);
  }
  ~Positioned() { program_.position = std::move(before_); }
  Positioned(const Positioned&) = delete;
  Positioned& operator=(const Positioned&) = delete;

 private:
  Program& program_;
  Program::Position before_;
};

}  // namespace

void differentiate_node(Program& program, const NodeGradientRequest& request,
                        const AddGradient& add) {
  // A copy: appending gradient nodes moves the originals.
  const Node node = program.node(request.node);
  require_fit(program, node, request);
  const bool arrives = std::ranges::any_of(
      request.result_gradients, [](ValueId v) { return v != kNoValue; });
  const bool is_wanted =
      std::ranges::find(request.wanted, true) != request.wanted.end();
  if (!arrives || !is_wanted) return;
  if (node.op->no_gradient == NoGradient::Ends) return;
  if (node.op->gradient_rule == nullptr) {
    throw UnsupportedError(
        ErrorInfo{.op = node.op->name,
                  .node = node.name,
                  .what = "the op cannot be differentiated",
                  .expected = "an op with a gradient rule on the path from a "
                              "loss to what is trained",
                  .got = std::string(node.op->name) + ", which has none",
                  .hint = "Stop the gradient at one of its results, or compute "
                          "it from other ops."});
  }
  const Positioned positioned(
      program, {request.phase, node.layer, node.name, program.position.filter});
  NodeContext context(program, node, request, add);
  node.op->gradient_rule(context);
}

std::vector<ValueId> differentiate_node(Program& program,
                                        const NodeGradientRequest& request) {
  std::vector<ValueId> gradients(request.wanted.size(), kNoValue);
  differentiate_node(program, request, [&](int input, ValueId gradient) {
    ValueId& sum = gradients[input];
    sum = sum == kNoValue
              ? gradient
              : program.append_one(OpKind::Binary,
                                   ArithmeticAttrs{ArithmeticOperation::Add},
                                   {sum, gradient});
  });
  return gradients;
}

}  // namespace traingraph
