// SPDX-License-Identifier: MIT
#include "compiler/passes/recognize_layers.h"

#include <algorithm>
#include <array>

#include "compiler/rewrites/join_slices.h"
#include "compiler/rewrites/rules.h"

namespace traingraph {
namespace {

using namespace rewrites;

/// In the order in which they are tried.
constexpr std::array kRewrites{
    RewriteRule{"joined reshapes", OpKind::Reshape, join_reshapes},
    RewriteRule{"transpose of matrices", OpKind::Reshape, transpose_unmerged},
    RewriteRule{"group normalization", OpKind::Reshape, group_norm},
    RewriteRule{"moved arithmetic", OpKind::Reshape, line_behind},
    RewriteRule{"moved arithmetic", OpKind::Transpose, line_behind},
    RewriteRule{"joined transposes", OpKind::Transpose, join_transposes},
    RewriteRule{"transpose of unit axes", OpKind::Transpose,
                reshape_for_transpose},
    RewriteRule{"arithmetic with a number", OpKind::Binary,
                arithmetic_with_number},
    RewriteRule{"gelu", OpKind::Binary, gelu},
    RewriteRule{"activation", OpKind::Binary, gated_by_itself},
    RewriteRule{"layer normalization", OpKind::Binary, layer_norm},
    RewriteRule{"scale of a normalization", OpKind::Binary, scaled_norm},
    RewriteRule{"shift of a normalization", OpKind::Binary, shifted_norm},
    RewriteRule{"bias", OpKind::Binary, bias_of_product},
    RewriteRule{"moved transpose", OpKind::Unary, transpose_behind},
    RewriteRule{"moved transpose", OpKind::Binary, transpose_behind},
    RewriteRule{"moved transpose", OpKind::Concatenate, transpose_behind},
    RewriteRule{"moved transpose", OpKind::Activation, transpose_behind},
    RewriteRule{"arithmetic with numbers", OpKind::Activation, join_lines},
    RewriteRule{"gelu", OpKind::Activation, gelu},
    RewriteRule{"mean", OpKind::Activation, mean_of_sum},
    RewriteRule{"scale of a product", OpKind::Activation, scaled_product},
    RewriteRule{"transposed operand", OpKind::MatMul, transposed_operand},
    RewriteRule{"scale of a product", OpKind::MatMul, scaled_operand},
    RewriteRule{"attention", OpKind::MatMul, attention},
    RewriteRule{"scale of an attention", OpKind::Attention, scaled_attention},
    RewriteRule{"softmax cross-entropy", OpKind::Loss, softmax_cross_entropy},
};

bool is_hint(const Rewrite& rewrite) { return !rewrite.hint.empty(); }

std::vector<bool> layers_with_types(const MergedGraph& graph) {
  std::vector<bool> result;
  for (const LayerInfo& layer : graph.layers) {
    result.push_back(layer.compute_type.has_value());
  }
  return result;
}

/// Returns whether anything was rewritten.
bool walk(const std::vector<bool>& kept, std::span<const ValueId> named,
          Assembled& a) {
  Rewriter rewriter(a.program, kRewrites, named, kept);
  std::vector<Rewrite> found = rewriter.run();
  const auto follow = [&](ValueId& value) {
    if (value != kNoValue) value = rewriter.same()[value];
  };
  for (ValueId& value : a.value_of) follow(value);
  for (ValueId& value : a.losses) follow(value);
  follow(a.result);
  a.depends_on_labels.resize(a.program.values().size(), false);
  std::erase_if(a.rewrites, is_hint);
  a.rewrites.insert(a.rewrites.end(), found.begin(), found.end());
  return !std::ranges::all_of(found, is_hint);
}

}  // namespace

void recognize_layers(const MergedGraph& graph, std::span<const ValueId> named,
                      Assembled& a) {
  const std::vector<bool> kept = layers_with_types(graph);
  a.rewrites = join_slices(a.program, [&](const Node& node) {
    return may_be_rewritten(node, kept);
  });
  // One can make room for another that comes before it.
  while (walk(kept, named, a)) {
  }
}

}  // namespace traingraph
