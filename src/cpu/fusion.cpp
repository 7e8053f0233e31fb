// SPDX-License-Identifier: MIT
// Which nodes may be fused.
#include "cpu/fusion.h"

#include <algorithm>

namespace traingraph::cpu {
namespace {

using enum ActivationType;

constexpr NodeId kNone = -1;

/// The only activation among the readers of `value`, if each other reader is
/// its gradient and can read the activation's result instead.
NodeId find_activation(const Program& program, ValueId value,
                       const std::vector<NodeId>& readers) {
  NodeId found = kNone;
  for (NodeId id : readers) {
    if (program.node(id).op->kind != OpKind::Activation) continue;
    if (found != kNone) return kNone;
    found = id;
  }
  if (found == kNone) return kNone;
  const Attributes& attrs = program.node(found).attrs;
  for (NodeId id : readers) {
    if (id == found) continue;
    const Node& reader = program.node(id);
    const bool is_gradient = reader.op->kind == OpKind::ActivationGradient &&
                             reader.attrs == attrs && reader.inputs[0] != value;
    if (!is_gradient) return kNone;
    if (!has_gradient_of_result(std::get<ActivationAttrs>(attrs))) {
      return kNone;
    }
  }
  return found;
}

/// The sum of the gradient that a convolution's weights gradient reads.
NodeId find_bias_gradient(const Program& program,
                          const std::vector<NodeId>& readers, NodeId after) {
  for (NodeId id : readers) {
    const Node& reader = program.node(id);
    if (id <= after || reader.op->kind != OpKind::Reduce) continue;
    const auto& attrs = std::get<ReduceAttrs>(reader.attrs);
    if (attrs.type == ReductionType::Sum && attrs.axes == Shape{0, 2, 3}) {
      return id;
    }
  }
  return kNone;
}

class FusionSearch {
 public:
  FusionSearch(const Program& program, const Readers& readers,
               const std::vector<bool>& is_kept)
      : program_(program),
        readers_(readers),
        is_kept_(is_kept),
        fusions_(program.nodes().size(), kNone),
        is_taken_(program.nodes().size()) {}

  std::vector<NodeId> run() {
    for (NodeId id = 0; id < static_cast<NodeId>(fusions_.size()); ++id) {
      switch (program_.node(id).op->kind) {
        case OpKind::BatchNorm:
        case OpKind::BatchNormApply:
          join_followers(id);
          break;
        case OpKind::BatchNormGradient:
        case OpKind::BatchNormGradientSums:
          join_predecessors(id);
          break;
        case OpKind::Convolution2dWeightsGradient:
          join_sums(id);
          break;
        case OpKind::Reduce:
          if (is_sum(id)) join_cast_of_sum(id);
          break;
        case OpKind::Convolution2d:
        case OpKind::MatMul:
          if (!join(id, find_next_activation(id))) join(id, find_cast(id));
          break;
        default:
          break;
      }
    }
    return std::move(fusions_);
  }

 private:
  const Node& node(NodeId id) const { return program_.node(id); }

  bool join(NodeId id, NodeId other) {
    if (other == kNone || is_taken_[other]) return false;
    if (node(other).phase != node(id).phase) return false;
    is_taken_[other] = true;
    fusions_[id] = other;
    return true;
  }

  /// The only node that needs `value`.
  NodeId only_reader(ValueId value) const {
    if (is_kept_[value] || readers_[value].size() != 1) return kNone;
    return readers_[value][0];
  }
  /// The node that computes `value`, if nothing fuses with it yet.
  NodeId free_producer(ValueId value) const {
    const NodeId id = program_.value(value).producer;
    return id < 0 || is_taken_[id] || fusions_[id] != kNone ? kNone : id;
  }
  bool is_relu(NodeId id, OpKind kind) const {
    const auto* attrs = std::get_if<ActivationAttrs>(&node(id).attrs);
    return node(id).op->kind == kind && attrs && attrs->type == ReLU;
  }
  bool is_sum(NodeId id) const {
    return std::get<ReduceAttrs>(node(id).attrs).type == ReductionType::Sum;
  }
  bool is_sum_of_equals(NodeId id) const {
    if (node(id).op->kind != OpKind::Binary) return false;
    const auto& attrs = std::get<ArithmeticAttrs>(node(id).attrs);
    const auto& in = node(id).inputs;
    return attrs.operation == ArithmeticOperation::Add &&
           program_.shape(in[0]) == program_.shape(in[1]);
  }
  /// Is all that node `id` reads, but `value`, computed before node `at`?
  bool can_run_at(NodeId at, NodeId id, ValueId value) const {
    return std::ranges::all_of(node(id).inputs, [&](ValueId input) {
      return input == kNoValue || input == value ||
             program_.value(input).producer < at;
    });
  }

  NodeId find_next_activation(NodeId product) const {
    const ValueId result = node(product).outputs[0];
    if (is_kept_[result]) return kNone;
    return find_activation(program_, result, readers_[result]);
  }

  /// What makes float32 of the only result of node `id`.
  NodeId find_cast(NodeId id) const {
    const ValueId result = node(id).outputs[0];
    const NodeId reader = only_reader(result);
    if (reader == kNone || node(reader).op->kind != OpKind::Cast) return kNone;
    const auto is_float32 = [&](ValueId value) {
      return program_.desc(value).data_type == DataType::Float32;
    };
    const bool upcasts =
        !is_float32(result) && is_float32(node(reader).outputs[0]);
    return upcasts ? reader : kNone;
  }

  /// A weights gradient, the cast of it, and the gradient of the bias with its
  /// reshape and cast.
  void join_sums(NodeId weights) {
    NodeId last = weights;
    const auto join_last = [&](NodeId next) {
      if (!join(last, next)) return false;
      last = next;
      return true;
    };
    join_last(find_cast(weights));
    const ValueId gradient = node(weights).inputs[0];
    if (!join_last(find_bias_gradient(program_, readers_[gradient], weights))) {
      return;
    }
    join_cast_of_sum(last);
  }

  /// The cast behind a sum, and the reshape before it.
  void join_cast_of_sum(NodeId sum) {
    if (join(sum, find_cast(sum))) return;
    const NodeId next = only_reader(node(sum).outputs[0]);
    if (next == kNone || node(next).op->kind != OpKind::Reshape) return;
    const NodeId cast = find_cast(next);
    if (cast != kNone && join(sum, next)) join(next, cast);
  }

  void join_followers(NodeId norm) {
    ValueId result = node(norm).outputs[0];
    NodeId last = norm, next = only_reader(result);
    if (next != kNone && is_sum_of_equals(next) &&
        can_run_at(norm, next, result) && join(norm, next)) {
      result = node(next).outputs[0];
      last = next;
      next = only_reader(result);
    }
    if (next != kNone && is_relu(next, OpKind::Activation)) join(last, next);
  }

  void join_predecessors(NodeId norm) {
    const ValueId incoming = node(norm).inputs[0];
    const NodeId relu = free_producer(incoming);
    if (relu == kNone || !is_relu(relu, OpKind::ActivationGradient)) return;
    if (!can_run_at(relu, norm, incoming) || !join(relu, norm)) return;
    const bool is_needed = is_kept_[incoming] || readers_[incoming].size() > 1;
    const ValueId total = node(relu).inputs[0];
    const NodeId sum = free_producer(total);
    if (!is_needed || sum == kNone || !is_sum_of_equals(sum)) return;
    if (only_reader(total) != relu) return;
    if (can_run_at(sum, relu, total) && can_run_at(sum, norm, incoming)) {
      join(sum, relu);
    }
  }

  const Program& program_;
  const Readers& readers_;
  const std::vector<bool>& is_kept_;
  std::vector<NodeId> fusions_;
  std::vector<bool> is_taken_;
};

}  // namespace

Readers find_readers(const Program& program) {
  Readers readers(program.values().size());
  for (NodeId id = 0; id < static_cast<NodeId>(program.nodes().size()); ++id) {
    for (ValueId input : program.node(id).inputs) {
      if (input != kNoValue) readers[input].push_back(id);
    }
  }
  return readers;
}

std::vector<NodeId> find_fusions(const Program& program, const Readers& readers,
                                 const std::vector<bool>& is_kept) {
  return FusionSearch(program, readers, is_kept).run();
}

bool has_gradient_of_result(const ActivationAttrs& attrs) {
  return attrs.type == Sigmoid ||
         (attrs.type == Tanh && attrs.a == 1 && attrs.b == 1);
}

}  // namespace traingraph::cpu
