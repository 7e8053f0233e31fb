// SPDX-License-Identifier: MIT
#include "compiler/append_gradients.h"

#include <unordered_map>
#include <unordered_set>

#include "compiler/loss_scale.h"
#include "formulas/run_time_scalars.h"

namespace traingraph {
namespace {

class GradientAssembler {
 public:
  GradientAssembler(const MergedGraph& graph, bool accumulates, Assembled& a)
      : graph_(graph),
        a_(a),
        accumulator_of_(graph.tensors.size(), kNoTensor),
        scale_(graph, a) {
    if (!accumulates) return;
    for (const auto& [of, into] : graph.accumulators) {
      accumulator_of_[of] = into;
    }
  }

  void run() {
    GradientRequest request;
    request.seeds = seeds();
    if (!request.seeds.empty()) differentiate_program(std::move(request));
    for (const auto& [of, gradient] : graph_.given_gradients) {
      a_.program.position = {Phase::Gradient, -1, graph_.tensors[of].name};
      a_.gradient_of[a_.find(of)] =
          weighted(in_float32(a_.find(gradient)), graph_.gradient_weight);
    }
    own_what_the_host_reads();
    collect();
    collect_debugged();
  }

 private:
  void differentiate_program(GradientRequest request) {
    for (TensorIndex tensor : graph_.trainable) want(tensor, request);
    for (const auto& given : graph_.given_gradients) {
      std::erase(request.wanted, a_.find(given.of));
    }
    if (computes_input_gradients()) {
      for (const auto& [name, tensor] : graph_.inputs) {
        const TensorDescriptor& desc = graph_.tensors[tensor].desc;
        if (is_float(desc.data_type)) want(tensor, request);
      }
    }
    for (TensorIndex tensor : debugged_results(graph_)) want(tensor, request);
    for (TensorIndex tensor : graph_.stopped) {
      request.stopped.insert(a_.find(tensor));
    }
    a_.gradient_of = differentiate(a_.program, request);
    for (ValueId value : request.wanted) show(value);
  }

  /// Gradients that somebody sees have no loss scale, and those of parameters
  /// are float32.
  void show(ValueId value) {
    const auto found = a_.gradient_of.find(value);
    if (found == a_.gradient_of.end() || !is_shown_.insert(value).second)
      return;
    Program& program = a_.program;
    program.position = {Phase::Gradient, -1, program.value(value).name};
    found->second = scale_.removed(in_float32(found->second));
  }

  ValueId in_float32(ValueId gradient) {
    Program& program = a_.program;
    if (program.desc(gradient).data_type == DataType::Float32) return gradient;
    return program.append_one(OpKind::Cast, CastAttrs{DataType::Float32},
                              {gradient});
  }

  bool computes_input_gradients() const {
    return graph_.computes_all_gradients || graph_.is_linkable;
  }

  std::vector<std::pair<ValueId, ValueId>> seeds() {
    Program& program = a_.program;
    std::vector<std::pair<ValueId, ValueId>> seeds;
    for (ValueId loss : a_.losses) {
      const TensorDescriptor& desc = program.desc(loss);
      program.position = behind(loss);
      const FillAttrs ones{desc.shape, 1.0f, desc.data_type};
      const ValueId seed = program.append_one(OpKind::Fill, ones, {});
      seeds.emplace_back(
          loss, scale_.applied(weighted(seed, graph_.gradient_weight)));
      a_.loss_seeds.push_back(seed);
    }
    for (std::size_t i = 0; i < graph_.user_gradients.size(); ++i) {
      const auto& user = graph_.user_gradients[i];
      const ValueId value = a_.find(user.of);
      if (value == kNoValue) continue;
      program.position = behind(value);
      const ValueId given =
          add_value(Role::Input, program.desc(value), user.gradient);
      const ValueId part = weighted(given, graph_.user_weights[i]);
      seeds.emplace_back(value, scale_.applied(part));
    }
    return seeds;
  }

  /// What a gradient begins with belongs to what computed the value.
  Program::Position behind(ValueId value) const {
    const NodeId producer = a_.program.value(value).producer;
    if (producer < 0) return {Phase::Gradient, -1, "seed"};
    const Node& node = a_.program.node(producer);
    return {Phase::Gradient, node.layer, node.name};
  }

  /// Times this process's part of the batch of all, so that gradients of all
  /// processes sum up to that of a mean.
  ValueId weighted(ValueId gradient, TensorIndex weight) {
    if (weight == kNoTensor) return gradient;
    if (a_.find(weight) == kNoValue) {
      add_value(Role::Input, graph_.tensors[weight].desc, weight);
    }
    return scaled(a_.program, gradient, a_.find(weight));
  }

  ValueId add_value(Role role, TensorDescriptor desc, TensorIndex tensor) {
    ValueId& value = a_.value_of[tensor];
    value =
        a_.program.add_value(role, desc, graph_.tensors[tensor].name, tensor);
    return value;
  }

  void want(TensorIndex tensor, GradientRequest& request) {
    const ValueId value = a_.find(tensor);
    if (value != kNoValue) request.wanted.push_back(value);
  }

  /// The gradient as the update and the host see it: an accumulator, which
  /// linked graphs may share, or a value of its own.
  ValueId finish(TensorIndex tensor, ValueId gradient, int index) {
    Program& program = a_.program;
    program.position = {Phase::Gradient, -1, graph_.tensors[tensor].name};
    const TensorIndex accumulator = accumulator_of_[tensor];
    if (accumulator == kNoTensor) return own(gradient);
    const ValueId into =
        add_value(Role::Variable, program.desc(gradient), accumulator);
    ValueId factors = a_.find(graph_.accumulation);
    if (factors == kNoValue) {
      const TensorIndex hidden = graph_.accumulation;
      factors = add_value(Role::Input, graph_.tensors[hidden].desc, hidden);
    }
    constexpr int kFactors =
        formulas::num_entries<formulas::AccumulationFactors>();
    const ValueId own =
        program.append_one(OpKind::Slice,
                           SliceAttrs{.start = {kFactors * index},
                                      .end = {kFactors * (index + 1)},
                                      .stride = {1}},
                           {factors});
    program.append(OpKind::AccumulateGradient, NoAttrs{},
                   {into, gradient, own});
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

  /// Follows views; each value of a chain is passed once.
  ValueId source_of_bytes(ValueId value) {
    std::vector<ValueId> views;
    ValueId source = value;
    for (ValueId next; (next = viewed(source)) != kNoValue; source = next) {
      views.push_back(source);
    }
    for (ValueId view : views) source_of_bytes_[view] = source;
    return source;
  }

  /// Returns what `value` may be a view of, or a farther value of that chain.
  ValueId viewed(ValueId value) const {
    const auto known = source_of_bytes_.find(value);
    if (known != source_of_bytes_.end()) return known->second;
    const Program& program = a_.program;
    if (program.value(value).producer < 0) return kNoValue;
    const Node& node = program.node(program.value(value).producer);
    const bool has_all =
        node.op->may_alias && program.shape(node.inputs[0]).num_elements() ==
                                  program.shape(value).num_elements();
    return has_all ? node.inputs[0] : kNoValue;
  }

  /// The host's sums are made in place, as edits are: what the user reads
  /// beside a parameter's gradient has bytes of its own.
  void own_what_the_host_reads() {
    for (const auto& [name, tensor] : graph_.outputs) {
      const ValueId value = a_.find(tensor);
      if (value != kNoValue) owned_.insert(source_of_bytes(value));
    }
    for (TensorIndex tensor : debugged_results(graph_)) {
      const auto gradient = a_.gradient_of.find(a_.find(tensor));
      if (gradient == a_.gradient_of.end()) continue;
      owned_.insert(source_of_bytes(gradient->second));
    }
  }

  void collect() {
    int index = 0;
    for (TensorIndex tensor : graph_.trainable) {
      const ValueId value = a_.find(tensor);
      const auto gradient = a_.gradient_of.find(value);
      const int position = index++;
      if (gradient == a_.gradient_of.end()) continue;
      a_.trained_at[tensor] = static_cast<int>(a_.trained.size());
      a_.trained.push_back(
          {tensor, value, finish(tensor, gradient->second, position)});
    }
    if (!computes_input_gradients()) return;
    for (const auto& [name, tensor] : graph_.inputs) {
      const auto gradient = a_.gradient_of.find(a_.find(tensor));
      const int position = index++;
      if (gradient == a_.gradient_of.end()) continue;
      if (a_.program.value(gradient->first).role != Role::Input) continue;
      gradient->second = finish(tensor, gradient->second, position);
      a_.input_gradients.emplace_back(tensor, gradient->second);
    }
  }

  void collect_debugged() {
    for (TensorIndex tensor : debugged_results(graph_)) {
      const ValueId value = a_.find(tensor);
      if (value == kNoValue) continue;
      a_.debugged.push_back(value);
      const auto gradient = a_.gradient_of.find(value);
      if (gradient != a_.gradient_of.end()) {
        a_.debugged.push_back(gradient->second);
      }
    }
  }

  const MergedGraph& graph_;
  Assembled& a_;
  std::vector<TensorIndex> accumulator_of_;
  LossScale scale_;
  std::unordered_set<ValueId> is_shown_;
  std::unordered_set<ValueId> owned_;
  std::unordered_map<ValueId, ValueId> source_of_bytes_;  // of views
};

}  // namespace

void append_gradients(const MergedGraph& graph, bool accumulates,
                      Assembled& assembled) {
  GradientAssembler(graph, accumulates, assembled).run();
}

}  // namespace traingraph
