// SPDX-License-Identifier: MIT
// Reshapes and transposes that cancel, or move no element.
#include <utility>
#include <vector>

#include "base/axes.h"
#include "compiler/rewrites/rules.h"
#include "ops/batch_rules.h"

namespace traingraph::rewrites {
namespace {

/// The axes that all of the node's inputs are transposed by, for it alone;
/// empty: there are none.
Shape transposed_alike(const Rewriter& rewriter, const Node& node) {
  Shape axes;
  for (ValueId input : node.inputs) {
    const Node* before = rewriter.inner(input, OpKind::Transpose);
    if (!before) return {};
    const Shape& own = attrs_of<TransposeAttrs>(*before).axes;
    if (!axes.empty() && own != axes) return {};
    axes = own;
  }
  return axes;
}

}  // namespace

ValueId join_reshapes(Rewriter& rewriter, NodeId root) {
  const ValueId x = rewriter.node(root).inputs[0];
  const Shape shape = rewriter.shape(rewriter.node(root).outputs[0]);
  if (rewriter.shape(x) == shape) return x;
  const Node* before = rewriter.maker(x, OpKind::Reshape);
  return before ? rewriter.reshape(before->inputs[0], shape) : kNoValue;
}

ValueId join_transposes(Rewriter& rewriter, NodeId root) {
  const ValueId x = rewriter.node(root).inputs[0];
  Shape axes = attrs_of<TransposeAttrs>(rewriter.node(root)).axes;
  if (axes == batch::axes_in_order(axes.rank())) return x;
  const Node* before = rewriter.maker(x, OpKind::Transpose);
  if (!before) return kNoValue;
  const Shape& inner = attrs_of<TransposeAttrs>(*before).axes;
  for (int i = 0; i < axes.rank(); ++i) {
    axes[i] = inner[static_cast<int>(axes[i])];
  }
  return rewriter.transpose(before->inputs[0], axes);
}

ValueId reshape_for_transpose(Rewriter& rewriter, NodeId root) {
  const ValueId x = rewriter.node(root).inputs[0];
  const auto& attrs = attrs_of<TransposeAttrs>(rewriter.node(root));
  if (!keeps_order(rewriter.shape(x), attrs.axes)) return kNoValue;
  const Shape shape = rewriter.shape(rewriter.node(root).outputs[0]);
  return rewriter.reshape(x, shape);
}

ValueId transpose_unmerged(Rewriter& rewriter, NodeId root) {
  const Node* swap =
      rewriter.maker(rewriter.node(root).inputs[0], OpKind::Transpose);
  if (!swap || swap->inputs.empty()) return kNoValue;
  const Node* merge = rewriter.maker(swap->inputs[0], OpKind::Reshape);
  if (!merge) return kNoValue;
  const Shape& axes = attrs_of<TransposeAttrs>(*swap).axes;
  const ValueId x = merge->inputs[0];
  const Shape &from = rewriter.shape(x),
              &merged = rewriter.shape(swap->inputs[0]),
              &to = rewriter.shape(rewriter.node(root).outputs[0]);
  const int rank = from.rank(), inner = merged.rank();
  const bool swaps_two =
      inner >= 2 && axes == with_last_exchanged(batch::axes_in_order(inner)) &&
      rank >= 2 && to.rank() == rank;
  if (!swaps_two) return kNoValue;
  Shape expected = from;
  std::swap(expected[rank - 2], expected[rank - 1]);
  const bool keeps_matrices = from[rank - 2] == merged[inner - 2] &&
                              from[rank - 1] == merged[inner - 1];
  if (!keeps_matrices || to != expected) return kNoValue;
  return rewriter.transpose(x, with_last_exchanged(batch::axes_in_order(rank)));
}

ValueId transpose_behind(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  const auto* activation = std::get_if<ActivationAttrs>(&node.attrs);
  if (activation && activation->type == ActivationType::Linear) return kNoValue;
  const Shape axes = transposed_alike(rewriter, node);
  if (axes.empty()) return kNoValue;
  const OpKind op = node.op->kind;
  Attributes attrs = node.attrs;
  if (auto* joined = std::get_if<AxisAttrs>(&attrs)) {
    joined->axis = axes[static_cast<int>(joined->axis)];
  }
  std::vector<ValueId> inputs = node.inputs;
  for (ValueId& input : inputs) {
    input = rewriter.maker(input, OpKind::Transpose)->inputs[0];
  }
  return rewriter.transpose(
      rewriter.append(op, std::move(attrs), std::move(inputs)), axes);
}

ValueId line_behind(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  const Line line = line_of(rewriter, node.inputs[0]);
  if (line.of == node.inputs[0]) return kNoValue;
  const OpKind op = node.op->kind;
  const ValueId moved = rewriter.append(op, Attributes(node.attrs), {line.of});
  return rewriter.append(
      OpKind::Activation,
      ActivationAttrs{.type = ActivationType::Linear, .a = line.a, .b = line.b},
      {moved});
}

}  // namespace traingraph::rewrites
