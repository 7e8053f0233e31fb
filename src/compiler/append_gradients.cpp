// SPDX-License-Identifier: MIT
#include "compiler/append_gradients.h"

#include <unordered_set>

#include "graph/tensor_state.h"

namespace traingraph {
namespace {

class GradientAssembler {
 public:
  GradientAssembler(const Declaration& declaration, Assembled& a)
      : declaration_(declaration), a_(a) {}

  void run() {
    GradientRequest request;
    request.seeds = seeds();
    if (request.seeds.empty()) return;
    const std::vector<Tensor> parameters = trainable_parameters(declaration_);
    for (const Tensor& tensor : parameters) want(tensor, request);
    if (computes_input_gradients()) {
      for (const auto& [name, tensor] : declaration_.inputs) {
        if (tensor.data_type() == DataType::Float32) want(tensor, request);
      }
    }
    for (const Tensor& tensor : debugged_results(declaration_, a_)) {
      want(tensor, request);
    }
    for (const Tensor& tensor : declaration_.stopped) {
      request.stopped.insert(a_.find(tensor));
    }
    a_.gradient_of = differentiate(a_.program, request);
    collect(parameters);
    collect_debugged();
  }

 private:
  bool computes_input_gradients() const {
    return declaration_.computes_all_gradients || declaration_.is_linkable;
  }

  std::vector<std::pair<ValueId, ValueId>> seeds() {
    Program& program = a_.program;
    program.position = {Phase::Gradient, -1, "seed"};
    std::vector<std::pair<ValueId, ValueId>> seeds;
    for (ValueId loss : a_.losses) {
      seeds.emplace_back(
          loss, program.append_one(OpKind::Fill,
                                   FillAttrs{program.shape(loss), 1.0f}, {}));
      a_.loss_seeds.push_back(seeds.back().second);
    }
    for (const auto& user : declaration_.user_gradients) {
      const ValueId value = a_.find(user.of);
      const Tensor& gradient = user.gradient;
      if (value == kNoValue) continue;
      const ValueId input = program.add_value(
          Role::Input, program.desc(value), gradient.label(), gradient.state());
      a_.value_of[gradient.tensor_id()] = input;
      seeds.emplace_back(value, input);
    }
    return seeds;
  }

  void want(const Tensor& tensor, GradientRequest& request) {
    const ValueId value = a_.find(tensor);
    if (value != kNoValue) request.wanted.push_back(value);
  }

  /// The gradient as the update and the host see it: an accumulator that
  /// linked graphs share, or a value of its own.
  ValueId finish(const Tensor& tensor, ValueId gradient, int index) {
    Program& program = a_.program;
    program.position = {Phase::Gradient, -1, tensor.label()};
    const auto accumulator = declaration_.accumulators.find(tensor.tensor_id());
    if (accumulator == declaration_.accumulators.end()) return own(gradient);
    const ValueId into = program.add_value(
        Role::Variable, program.desc(gradient), accumulator->second.label(),
        accumulator->second.state());
    const Tensor& factors = declaration_.accumulation;
    auto [it, is_new] = a_.value_of.try_emplace(factors.tensor_id(), kNoValue);
    if (is_new) {
      it->second = program.add_value(Role::Input, factors.descriptor(),
                                     factors.label(), factors.state());
    }
    const ValueId factor = program.append_one(
        OpKind::Slice,
        SliceAttrs{.start = {index}, .end = {index + 1}, .stride = {1}},
        {it->second});
    program.append(OpKind::AccumulateGradient, NoAttrs{},
                   {into, gradient, factor});
    return into;
  }

  /// Gradients can be edited one by one, so no two may be the same bytes, and
  /// none those of a user gradient.
  ///   y = a + b:   da = dy, db = dy   ->   da = dy, db = slice(dy)
  ValueId own(ValueId gradient) {
    Program& program = a_.program;
    const ValueId bytes = source_of_bytes(gradient);
    const bool is_free = program.value(bytes).role == Role::Result &&
                         owned_.insert(bytes).second;
    if (is_free) return gradient;
    const Shape& shape = program.shape(gradient);
    const SliceAttrs all{
        .start = Shape::filled(shape.rank(), 0), .end = shape, .stride = {}};
    return program.append_one(OpKind::Slice, all, {gradient});
  }

  /// A target may implement these ops as views of what they read.
  ValueId source_of_bytes(ValueId value) const {
    const Program& program = a_.program;
    while (program.value(value).producer >= 0) {
      const Node& node = program.node(program.value(value).producer);
      const bool may_be_view = node.op->kind == OpKind::Reshape ||
                               node.op->kind == OpKind::Transpose ||
                               node.op->kind == OpKind::Reduce ||
                               node.op->kind == OpKind::Cast;
      if (!may_be_view || program.shape(node.inputs[0]).num_elements() !=
                              program.shape(value).num_elements()) {
        break;
      }
      value = node.inputs[0];
    }
    return value;
  }

  void collect(const std::vector<Tensor>& parameters) {
    int index = 0;
    for (const Tensor& tensor : parameters) {
      const ValueId value = a_.find(tensor);
      const auto gradient = a_.gradient_of.find(value);
      const int position = index++;
      if (gradient == a_.gradient_of.end()) continue;
      a_.trained.push_back(
          {tensor, value, finish(tensor, gradient->second, position)});
    }
    if (!computes_input_gradients()) return;
    for (const auto& [name, tensor] : declaration_.inputs) {
      const auto gradient = a_.gradient_of.find(a_.find(tensor));
      const int position = index++;
      if (gradient == a_.gradient_of.end()) continue;
      if (a_.program.value(gradient->first).role != Role::Input) continue;
      gradient->second = finish(tensor, gradient->second, position);
      a_.input_gradients.emplace_back(tensor, gradient->second);
    }
  }

  void collect_debugged() {
    for (const Tensor& tensor : debugged_results(declaration_, a_)) {
      const ValueId value = a_.find(tensor);
      if (value == kNoValue) continue;
      a_.debugged.push_back(value);
      const auto gradient = a_.gradient_of.find(value);
      if (gradient != a_.gradient_of.end()) {
        a_.debugged.push_back(gradient->second);
      }
    }
  }

  const Declaration& declaration_;
  Assembled& a_;
  std::unordered_set<ValueId> owned_;
};

}  // namespace

void append_gradients(const Declaration& declaration, Assembled& assembled) {
  GradientAssembler(declaration, assembled).run();
}

}  // namespace traingraph
