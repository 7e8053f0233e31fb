// SPDX-License-Identifier: MIT
#include "compiler/check_norms.h"

#include "graph/op_def.h"
#include "traingraph/error.h"

namespace traingraph {
namespace {

[[noreturn]] void refuse(const Node& node, const char* what,
                         const char* expected) {
  throw UnsupportedError(ErrorInfo{.op = node.op->name,
                                   .node = node.name,
                                   .what = what,
                                   .expected = expected,
                                   .hint = "Compile without "
                                           "synchronize_batch_norm."});
}

bool trains(const Node& node, OpKind kind) {
  return node.op->kind == kind && std::get<BatchNormAttrs>(node.attrs).training;
}

}  // namespace

void require_norms_to_share(const MergedGraph& graph,
                            const Assembled& assembled, const Target& target) {
  // Their incoming gradients have no weight of this process.
  for (const Node& node : graph.program.nodes()) {
    if (!trains(node, OpKind::BatchNormGradient)) continue;
    refuse(node,
           "this gradient was declared, and would not be that of all "
           "processes",
           "gradients that compile() derives");
  }
  const Program& program = assembled.program;
  std::vector<bool> is_statistics(program.values().size(), false);
  for (const Node& node : program.nodes()) {
    if (trains(node, OpKind::BatchNorm)) {
      is_statistics[node.outputs[1]] = is_statistics[node.outputs[2]] = true;
      if (!target.shares_statistics()) {
        refuse(node, "this device has no statistics of several processes",
               "Device \"cpu\"");
      }
    }
    if (node.op->kind == OpKind::BatchNormGradient) continue;
    for (ValueId input : node.inputs) {
      if (input == kNoValue || !is_statistics[input]) continue;
      refuse(node,
             "a node reads statistics of a batch, whose gradients stay "
             "with one process",
             "statistics that only their normalization reads");
    }
  }
}

}  // namespace traingraph
