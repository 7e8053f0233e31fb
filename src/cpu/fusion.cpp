// SPDX-License-Identifier: MIT
// What kernels of the CPU compute together. Products do with what follows, in
// post-ops; our own loops of batch normalization with both of its neighbours;
// what is left element by element in one pass.
#include "cpu/cpu_policy.h"
#include "cpu/ops/elementwise_rows.h"
#include "graph/op_def.h"
#include "lowering/fusion_search.h"

namespace traingraph::cpu {

Fusions CpuPolicy::find_fusions(FusionSearch search) const {
  const auto& nodes = search.program().nodes();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes.size()); ++id) {
    const Node& node = nodes[id];
    switch (node.op->kind) {
      case OpKind::BatchNorm:
      case OpKind::BatchNormApply:
        search.join_followers(id);
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
  join_expressions(search);
  return std::move(search).take();
}

}  // namespace traingraph::cpu
