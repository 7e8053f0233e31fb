// SPDX-License-Identifier: MIT
// What kernels of the CPU compute together. Products do with what follows, in
// post-ops; our own loops of normalizations with the activation behind them,
// and of batch normalization with a sum, too; what is left element by element
// in one pass.
#include "cpu/cpu_policy.h"
#include "cpu/engine/activation.h"
#include "cpu/ops/elementwise_rows.h"
#include "graph/op_def.h"
#include "lowering/fusion_search.h"
#include "lowering/gate.h"

namespace traingraph::cpu {
namespace {

/// What an engine has code for is faster by itself.
bool has_own_activation(const ActivationAttrs& attrs) {
  return !has_engine_activation(attrs);
}
/// ReLU follows a batch normalization by the rule for sums.
bool has_other_activation(const ActivationAttrs& attrs) {
  return attrs.type != ActivationType::ReLU && has_own_activation(attrs);
}

}  // namespace

Fusions CpuPolicy::find_fusions(FusionSearch search) const {
  const auto& nodes = search.program().nodes();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes.size()); ++id) {
    const Node& node = nodes[id];
    switch (node.op->kind) {
      case OpKind::BatchNorm:
        search.join_followers(id);
        search.join_activation_again(id, has_other_activation);
        break;
      case OpKind::BatchNormApply:
        search.join_followers(id);
        break;
      case OpKind::SampleNorm:
        search.join_activation_again(id, has_own_activation);
        break;
      case OpKind::BatchNormGradient:
      case OpKind::BatchNormGradientSums:
        search.join_predecessors(id);
        break;
      case OpKind::Convolution2dWeightsGradient:
        search.join_bias_gradient(id);
        break;
      case OpKind::Reduce:
        if (std::get<ReduceAttrs>(node.attrs).type == ReductionType::Sum) {
          search.join_cast_of_sum(id);
        }
        break;
      case OpKind::Convolution2d:
      case OpKind::MatMul:
        if (!search.join_activation(id)) search.join_cast(id);
        break;
      default:
        break;
    }
  }
  join_gates(search, has_gate_row);
  join_expressions(search);
  return std::move(search).take();
}

}  // namespace traingraph::cpu
