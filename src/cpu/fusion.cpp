// SPDX-License-Identifier: MIT
// Which nodes may be fused, and the post-ops that compute activations.
#include "cpu/fusion.h"

#include <limits>

namespace traingraph::cpu {
namespace {

using enum ActivationType;
using dnnl::algorithm;

constexpr NodeId kNone = -1;

bool has_post_ops(const Node& node) {
  return node.op->kind == OpKind::Convolution2d ||
         node.op->kind == OpKind::MatMul;
}

/// The one activation among the readers of `value`, if every other reader is
/// its gradient and can do with its result.
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
    if (!find_eltwise_of_result(std::get<ActivationAttrs>(attrs))) return kNone;
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

NodeId find_companion(const Program& program, NodeId id,
                      const std::vector<std::vector<NodeId>>& readers,
                      const std::vector<bool>& is_kept) {
  const Node& node = program.node(id);
  if (node.op->kind == OpKind::Convolution2dWeightsGradient) {
    return find_bias_gradient(program, readers[node.inputs[0]], id);
  }
  if (!has_post_ops(node)) return kNone;
  const ValueId result = node.outputs[0];
  if (is_kept[result]) return kNone;
  return find_activation(program, result, readers[result]);
}

}  // namespace

std::vector<NodeId> find_fusions(const Program& program,
                                 const std::vector<bool>& is_kept) {
  const auto num_nodes = static_cast<NodeId>(program.nodes().size());
  std::vector<std::vector<NodeId>> readers(program.values().size());
  for (NodeId id = 0; id < num_nodes; ++id) {
    for (ValueId input : program.node(id).inputs) {
      if (input != kNoValue) readers[input].push_back(id);
    }
  }
  std::vector<NodeId> fusions(num_nodes, kNone);
  std::vector<bool> is_taken(num_nodes);
  for (NodeId id = 0; id < num_nodes; ++id) {
    const NodeId other = find_companion(program, id, readers, is_kept);
    if (other == kNone || is_taken[other]) continue;
    if (program.node(other).phase != program.node(id).phase) continue;
    is_taken[other] = true;
    fusions[id] = other;
  }
  return fusions;
}

std::optional<Eltwise> find_post_op(const ActivationAttrs& attrs) {
  // oneDNN's max(x, 0) turns NaN into 0, and a network that diverged would go
  // on as if nothing had happened. Its hard swish, x min(max(alpha x, 0), 1),
  // is the same function when alpha is huge, and keeps NaN. The price is a NaN
  // for -infinity, as GELU's post-ops give one for either infinity.
  if (attrs.type == ReLU && attrs.a == 0) {
    return Eltwise{algorithm::eltwise_hardswish,
                   std::numeric_limits<float>::max()};
  }
  if (attrs.type == ReLU) return Eltwise{algorithm::eltwise_relu, attrs.a};
  return find_eltwise(attrs);
}

std::optional<Eltwise> find_eltwise_of_result(const ActivationAttrs& attrs) {
  const auto f = find_eltwise(attrs);
  if (!f) return {};
  switch (f->algorithm) {
    case algorithm::eltwise_tanh:
      return Eltwise{algorithm::eltwise_tanh_use_dst_for_bwd};
    case algorithm::eltwise_logistic:
      return Eltwise{algorithm::eltwise_logistic_use_dst_for_bwd};
    default:
      return {};
  }
}

}  // namespace traingraph::cpu
