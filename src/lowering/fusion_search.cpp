// SPDX-License-Identifier: MIT
#include "lowering/fusion_search.h"

#include <algorithm>
#include <numeric>

#include "graph/op_def.h"

namespace traingraph {
namespace {

using enum ActivationType;

constexpr NodeId kNoFusion = -1;

bool sums_all_but_channels(const Node& node) {
  const auto* attrs = std::get_if<ReduceAttrs>(&node.attrs);
  return attrs && attrs->type == ReductionType::Sum &&
         attrs->axes == Shape{0, 2, 3};
}

}  // namespace

FusionSearch::FusionSearch(const Program& program, const Readers& readers,
                           const std::vector<bool>& is_kept,
                           bool separates_updates)
    : program_(program),
      readers_(readers),
      is_kept_(is_kept),
      separates_updates_(separates_updates),
      is_taken_(program.nodes().size()) {
  fusions_.next.assign(program.nodes().size(), kNoFusion);
  fusions_.reader.assign(program.nodes().size(), kNoFusion);
  fusions_.leader.resize(program.nodes().size());
  std::iota(fusions_.leader.begin(), fusions_.leader.end(), 0);
}

bool FusionSearch::join(NodeId id, NodeId other) {
  if (other == kNoFusion || is_taken_[other]) return false;
  if (node(other).phase != node(id).phase) return false;
  is_taken_[other] = true;
  fusions_.next[id] = other;
  return true;
}

/// The only node that needs `value`.
NodeId FusionSearch::only_reader(ValueId value) const {
  if (is_kept_[value] || readers_[value].size() != 1) return kNoFusion;
  return readers_[value][0];
}

/// The node that computes `value`, if nothing fuses with it yet.
NodeId FusionSearch::free_producer(ValueId value) const {
  const NodeId id = program_.value(value).producer;
  return id >= 0 && is_free(id) ? id : kNoFusion;
}

/// Is all that node `id` reads, but `value`, computed before node `at`?
bool FusionSearch::can_run_at(NodeId at, NodeId id, ValueId value) const {
  return std::ranges::all_of(node(id).inputs, [&](ValueId input) {
    return input == kNoValue || input == value ||
           program_.value(input).producer < at;
  });
}

bool FusionSearch::is_relu(NodeId id, OpKind kind) const {
  const auto* attrs = std::get_if<ActivationAttrs>(&node(id).attrs);
  return node(id).op->kind == kind && attrs && attrs->type == ReLU;
}

bool FusionSearch::is_sum_of_equals(NodeId id) const {
  if (node(id).op->kind != OpKind::Binary) return false;
  const auto& attrs = std::get<ArithmeticAttrs>(node(id).attrs);
  const auto& in = node(id).inputs;
  return attrs.operation == ArithmeticOperation::Add &&
         program_.shape(in[0]) == program_.shape(in[1]);
}

/// The only activation among the readers of `value`, if each other reader is
/// its gradient and can read the activation's result instead.
NodeId FusionSearch::find_activation(ValueId value) const {
  NodeId found = kNoFusion;
  for (NodeId id : readers_[value]) {
    if (node(id).op->kind != OpKind::Activation) continue;
    if (found != kNoFusion) return kNoFusion;
    found = id;
  }
  if (found == kNoFusion) return kNoFusion;
  const Attributes& attrs = node(found).attrs;
  const auto can_read_result = [&](NodeId id) {
    const Node& reader = node(id);
    return reader.op->kind == OpKind::ActivationGradient &&
           reader.attrs == attrs && reader.inputs[0] != value &&
           has_gradient_of_result(std::get<ActivationAttrs>(attrs));
  };
  const bool is_legal = std::ranges::all_of(readers_[value], [&](NodeId id) {
    return id == found || can_read_result(id);
  });
  return is_legal ? found : kNoFusion;
}

bool FusionSearch::join_activation(NodeId product) {
  const ValueId result = node(product).outputs[0];
  return !is_kept_[result] && join(product, find_activation(result));
}

/// What makes float32 of the only result of node `id`.
NodeId FusionSearch::find_cast(NodeId id) const {
  const ValueId result = node(id).outputs[0];
  const NodeId reader = only_reader(result);
  if (reader == kNoFusion || node(reader).op->kind != OpKind::Cast) {
    return kNoFusion;
  }
  const auto is_float32 = [&](ValueId value) {
    return program_.desc(value).data_type == DataType::Float32;
  };
  const bool upcasts =
      !is_float32(result) && is_float32(node(reader).outputs[0]);
  return upcasts ? reader : kNoFusion;
}

bool FusionSearch::join_cast(NodeId id) { return join(id, find_cast(id)); }

void FusionSearch::join_cast_of_sum(NodeId sum) {
  if (join_cast(sum)) return;
  const NodeId next = only_reader(node(sum).outputs[0]);
  if (next == kNoFusion || node(next).op->kind != OpKind::Reshape) return;
  const NodeId cast = find_cast(next);
  if (cast != kNoFusion && join(sum, next)) join(next, cast);
}

void FusionSearch::join_bias_gradient(NodeId weights) {
  const NodeId last = join_cast(weights) ? fusions_.next[weights] : weights;
  const auto& readers = readers_[node(weights).inputs[0]];
  const auto sum = std::ranges::find_if(readers, [&](NodeId id) {
    return id > weights && node(id).op->kind == OpKind::Reduce &&
           sums_all_but_channels(node(id));
  });
  if (sum != readers.end() && join(last, *sum)) join_cast_of_sum(*sum);
}

void FusionSearch::join_followers(NodeId norm) {
  ValueId result = node(norm).outputs[0];
  NodeId last = norm, next = only_reader(result);
  if (next != kNoFusion && is_sum_of_equals(next) &&
      can_run_at(norm, next, result) && join(norm, next)) {
    result = node(next).outputs[0];
    last = next;
    next = only_reader(result);
  }
  if (next != kNoFusion && is_relu(next, OpKind::Activation)) join(last, next);
}

void FusionSearch::join_predecessors(NodeId norm) {
  const ValueId incoming = node(norm).inputs[0];
  const NodeId relu = free_producer(incoming);
  if (relu == kNoFusion || !is_relu(relu, OpKind::ActivationGradient)) return;
  if (!can_run_at(relu, norm, incoming) || !join(relu, norm)) return;
  fusions_.leader[relu] = norm;
  const bool is_needed = is_kept_[incoming] || readers_[incoming].size() > 1;
  const ValueId total = node(relu).inputs[0];
  const NodeId sum = free_producer(total);
  if (!is_needed || sum == kNoFusion || !is_sum_of_equals(sum)) return;
  if (only_reader(total) != relu) return;
  const bool is_legal =
      can_run_at(sum, relu, total) && can_run_at(sum, norm, incoming);
  if (is_legal && join(sum, relu)) fusions_.leader[sum] = norm;
}

/// The only gradient of an activation, which reads what that reads, or its
/// result.
NodeId FusionSearch::find_gradient(NodeId activation) const {
  NodeId found = kNoFusion;
  for (ValueId value :
       {node(activation).inputs[0], node(activation).outputs[0]}) {
    for (NodeId id : readers_[value]) {
      const Node& reader = node(id);
      const bool is_one = reader.op->kind == OpKind::ActivationGradient &&
                          reader.inputs[1] == value &&
                          reader.attrs == node(activation).attrs;
      if (!is_one) continue;
      if (found != kNoFusion) return kNoFusion;
      found = id;
    }
  }
  return found;
}

/// Is it the gradient of `norm` for `incoming`, and has all that `norm` read?
bool FusionSearch::computes_again(NodeId norm_gradient, NodeId norm,
                                  ValueId incoming) const {
  if (norm_gradient == kNoFusion) return false;
  const Node &gradient = node(norm_gradient), &forward = node(norm);
  const OpKind kind = gradient.op->kind;
  return (kind == OpKind::BatchNormGradient ||
          kind == OpKind::SampleNormGradient) &&
         gradient.inputs[0] == incoming &&
         gradient.inputs[1] == forward.inputs[0] &&
         gradient.inputs[2] == forward.inputs[1] &&
         gradient.inputs[3] == forward.outputs[1];
}

void FusionSearch::join_activation_again(
    NodeId norm, const std::function<bool(const ActivationAttrs&)>& accepts) {
  const ValueId result = node(norm).outputs[0];
  if (!is_free(norm) || is_kept_[result]) return;
  const auto is_activation = [&](NodeId id) {
    return node(id).op->kind == OpKind::Activation;
  };
  const auto& readers = readers_[result];
  const auto activation = std::ranges::find_if(readers, is_activation);
  if (activation == readers.end() || !is_free(*activation) ||
      node(*activation).phase != node(norm).phase ||
      !accepts(std::get<ActivationAttrs>(node(*activation).attrs))) {
    return;
  }
  const NodeId gradient = find_gradient(*activation);
  const bool is_legal = std::ranges::all_of(readers, [&](NodeId id) {
    return id == *activation ||
           (id == gradient && node(id).inputs[0] != result);
  });
  if (!is_legal) return;
  NodeId next = kNoFusion;
  if (gradient != kNoFusion && is_free(gradient)) {
    const ValueId incoming = node(gradient).outputs[0];
    const NodeId reader = only_reader(incoming);
    const bool joins = computes_again(reader, norm, incoming) &&
                       is_free(reader) &&
                       can_run_at(gradient, reader, incoming);
    if (joins && join(gradient, reader)) next = reader;
  }
  if (next != kNoFusion) fusions_.leader[gradient] = next;
  if (next != kNoFusion || readers.size() == 1) join(norm, *activation);
}

bool FusionSearch::outlives(ValueId value, NodeId id) const {
  return is_kept_[value] || program_.value(value).role != Role::Result ||
         std::ranges::any_of(readers_[value],
                             [&](NodeId reader) { return reader > id; });
}

bool FusionSearch::changes_between(ValueId value, NodeId first,
                                   NodeId last) const {
  return std::ranges::any_of(readers_[value], [&](NodeId id) {
    if (id <= first || id >= last) return false;
    const auto& inputs = node(id).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_it = inputs[i] == value;
      if (is_it && mutates(node(id), static_cast<int>(i))) return true;
    }
    return false;
  });
}

void FusionSearch::join_all(std::vector<NodeId> nodes) {
  std::ranges::sort(nodes);
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    join(nodes[i], nodes[i + 1]);
    fusions_.leader[nodes[i]] = nodes.back();
  }
}

bool FusionSearch::join_producer(ValueId value, NodeId reader) {
  const NodeId id = program_.value(value).producer;
  const bool is_legal = id >= 0 && is_free(id) &&
                        only_reader(value) == reader &&
                        node(id).phase == node(reader).phase;
  if (is_legal) fusions_.reader[id] = reader;
  return is_legal;
}

Readers find_readers(const Program& program) {
  Readers readers(program.values().size());
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    for (ValueId input : program.node(id).inputs) {
      if (input != kNoValue) readers[input].push_back(id);
    }
  }
  return readers;
}

bool has_gradient_of_result(const ActivationAttrs& attrs) {
  return attrs.type == Sigmoid ||
         (attrs.type == Tanh && attrs.a == 1 && attrs.b == 1);
}

}  // namespace traingraph
