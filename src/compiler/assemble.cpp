// SPDX-License-Identifier: MIT
#include "compiler/assemble.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/merge.h"
#include "compiler/passes/remove_dead_nodes.h"
#include "graph/tensor_state.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

Assembled take(Merged&& merged) {
  Assembled result;
  result.program = std::move(merged.graph.program);
  result.records = std::move(merged.graph.records);
  result.value_of = std::move(merged.graph.value_of);
  result.depends_on_labels = std::move(merged.depends_on_labels);
  result.result = merged.result;
  return result;
}

/// Results that linked graphs may read: those that no node reads, and those
/// that take a gradient from outside.
void find_boundary(Assembled& a, const Declaration& declaration) {
  std::vector<bool> is_read(a.program.values().size(), false);
  for (const Node& node : a.program.nodes()) {
    for (ValueId v : node.inputs) {
      if (v != kNoValue) is_read[v] = true;
    }
  }
  for (const auto& [tensor, value] : a.value_of) {
    const bool is_result = a.program.value(value).role == Role::Result;
    const bool takes_gradient = std::ranges::any_of(
        declaration.user_gradients,
        [&](const auto& user) { return user.of.tensor_id() == tensor; });
    if (is_result && (!is_read[value] || takes_gradient)) {
      a.boundary.push_back(value);
    }
  }
  std::ranges::sort(a.boundary);
}

void find_losses(Assembled& a) {
  for (const LayerRecord& record : a.records) {
    if (!record.layer->is_loss() || record.results.empty()) continue;
    a.losses.push_back(a.find(record.results.front()));
    a.loss = a.losses.back();
  }
}

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
    want_debugged(request);
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

  template <class F>
  void for_each_debugged_result(F&& f) {
    if (!declaration_.debugs_layers) return;
    for (const LayerRecord& record : a_.records) {
      if (!record.layer->is_debugging_enabled) continue;
      for (const Tensor& tensor : record.results) f(tensor);
    }
  }

  void want_debugged(GradientRequest& request) {
    for_each_debugged_result(
        [&](const Tensor& tensor) { want(tensor, request); });
  }

  void collect_debugged() {
    for_each_debugged_result([&](const Tensor& tensor) {
      const ValueId value = a_.find(tensor);
      if (value == kNoValue) return;
      a_.debugged.push_back(value);
      const auto gradient = a_.gradient_of.find(value);
      if (gradient != a_.gradient_of.end()) {
        a_.debugged.push_back(gradient->second);
      }
    });
  }

  const Declaration& declaration_;
  Assembled& a_;
  std::unordered_set<ValueId> owned_;
};

/// Appends one update op per trained parameter, behind the norm clipping that
/// the optimizer asks for.
class UpdateAssembler {
 public:
  UpdateAssembler(const Declaration& declaration, Assembled& a)
      : declaration_(declaration),
        optimizer_(*declaration.optimizer),
        program_(a.program),
        a_(a) {}

  void run() {
    if (a_.trained.empty()) return;
    program_.position = {Phase::Update, -1, "optimizer"};
    rates_ = program_.add_value(Role::Input, declaration_.rates.descriptor(),
                                declaration_.rates.label(),
                                declaration_.rates.state());
    a_.value_of[declaration_.rates.tensor_id()] = rates_;
    const auto clipping = optimizer_.descriptor().gradient_clipping_type;
    ValueId scale = kNoValue;
    if (clipping == GradientClippingType::ByGlobalNorm) scale = global_scale();
    for (const Trained& trained : a_.trained) {
      if (clipping == GradientClippingType::ByNorm) {
        scale = append_scale({squared_norm(trained.gradient)}, 0);
      }
      append_update(trained, scale);
    }
  }

 private:
  ValueId squared_norm(ValueId gradient) {
    return program_.append_one(OpKind::SquaredNorm, NoAttrs{}, {gradient});
  }

  ValueId append_scale(std::vector<ValueId> norms, float custom_norm) {
    norms.insert(norms.begin(), rates_);
    const float maximum = optimizer_.descriptor().maximum_clipping_norm;
    return program_.append_one(OpKind::ClipScale,
                               ClipScaleAttrs{maximum, custom_norm},
                               std::move(norms));
  }

  ValueId global_scale() {
    std::vector<ValueId> norms;
    for (const Trained& trained : a_.trained) {
      norms.push_back(squared_norm(trained.gradient));
    }
    return append_scale(std::move(norms),
                        optimizer_.descriptor().custom_global_norm);
  }

  void append_update(const Trained& trained, ValueId scale) {
    const OpDef& op = op_def(optimizer_.op());
    const auto names = optimizer_.slots();
    const auto& slots = declaration_.slots.at(trained.tensor.tensor_id());
    std::vector<ValueId> inputs{trained.value, trained.gradient};
    for (std::size_t i = 2; i < op.inputs.size(); ++i) {
      const std::string_view input = op.inputs[i].name;
      if (input == "rates") inputs.push_back(rates_);
      if (input == "scale") inputs.push_back(scale);
      if (!op.inputs[i].is_mutated) continue;
      const auto slot = std::ranges::find(names, input);
      if (slot == names.end()) {
        inputs.push_back(kNoValue);
        continue;
      }
      const Tensor& tensor = slots[slot - names.begin()];
      inputs.push_back(program_.add_value(Role::Variable, tensor.descriptor(),
                                          tensor.label(), tensor.state()));
    }
    program_.position.name = trained.tensor.label();
    program_.position.layer = layer_of(trained.value);
    program_.append(op.kind, optimizer_.attributes(), std::move(inputs));
  }

  /// Layer of the first forward node that reads the parameter.
  int layer_of(ValueId parameter) const {
    for (const Node& node : program_.nodes()) {
      if (std::ranges::find(node.inputs, parameter) != node.inputs.end()) {
        return node.layer;
      }
    }
    return -1;
  }

  const Declaration& declaration_;
  const Optimizer& optimizer_;
  Program& program_;
  Assembled& a_;
  ValueId rates_ = kNoValue;
};

void find_updates(Assembled& a) {
  for (Trained& trained : a.trained) {
    for (NodeId id = 0; id < static_cast<NodeId>(a.program.nodes().size());
         ++id) {
      const Node& node = a.program.node(id);
      if (node.phase == Phase::Update && !node.outputs.size() &&
          node.inputs[0] == trained.value) {
        trained.update = id;
      }
    }
  }
}

}  // namespace

ValueId Assembled::find(const Tensor& tensor) const {
  const auto it = value_of.find(tensor.tensor_id());
  return it == value_of.end() ? kNoValue : it->second;
}

std::vector<ValueId> readable_values(const Declaration& declaration,
                                     const Assembled& a) {
  std::vector<ValueId> readable = a.debugged;
  for (const auto* list : {&a.boundary, &a.losses}) {
    readable.insert(readable.end(), list->begin(), list->end());
  }
  readable.push_back(a.result);
  for (const auto& [name, tensor] : declaration.outputs) {
    readable.push_back(a.find(tensor));
  }
  for (const auto& entry : a.input_gradients) readable.push_back(entry.second);
  std::erase(readable, kNoValue);
  return readable;
}

std::vector<Tensor> trainable_parameters(const Declaration& declaration) {
  if (declaration.trained) return *declaration.trained;
  std::vector<Tensor> trained;
  std::unordered_set<std::uint64_t> seen, frozen;
  const auto for_each_record = [&](auto&& f) {
    for (const auto& graph : declaration.graphs) {
      for (const LayerRecord& record : graph->records) f(record);
    }
  };
  // One node that must not be updated freezes the layer's parameters.
  for_each_record([&](const LayerRecord& record) {
    if (!record.disable_update) return;
    for (const TensorParameter& p : record.layer->parameters()) {
      frozen.insert(p.tensor().tensor_id());
    }
  });
  const auto add = [&](const TensorParameter& parameter) {
    const std::uint64_t id = parameter.tensor().tensor_id();
    if (!parameter.is_updatable() || frozen.contains(id)) return;
    if (seen.insert(id).second) trained.push_back(parameter.tensor());
  };
  for_each_record([&](const LayerRecord& record) {
    for (const TensorParameter& p : record.layer->parameters()) add(p);
  });
  for (const TensorParameter& p : declaration.trained_inputs) add(p);
  return trained;
}

Assembled assemble(const Declaration& declaration, Mode mode,
                   std::int64_t batch) {
  Merged merged;
  merge_graphs(declaration, mode, batch, merged);
  Assembled a = take(std::move(merged));
  find_losses(a);
  if (declaration.is_linkable) find_boundary(a, declaration);
  if (declaration.trains && mode == Mode::Training) {
    GradientAssembler(declaration, a).run();
    if (declaration.optimizer) UpdateAssembler(declaration, a).run();
  }
  for (const auto& [name, tensor] : declaration.outputs) {
    if (a.find(tensor) != kNoValue) continue;
    throw InvalidArgument(ErrorInfo{
        .op = "compile",
        .node = name,
        .what = "the output tensor belongs to no node of this graph"});
  }
  std::vector<ValueId> kept = readable_values(declaration, a);
  for (const Trained& trained : a.trained) kept.push_back(trained.gradient);
  remove_dead_nodes(a.program, kept);
  find_updates(a);
  a.depends_on_labels.resize(a.program.values().size(), false);
  return a;
}

}  // namespace traingraph
