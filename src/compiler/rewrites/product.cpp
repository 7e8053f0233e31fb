// SPDX-License-Identifier: MIT
// What products take as an argument: transposes, a number, a bias.
#include <cmath>
#include <utility>
#include <vector>

#include "base/axes.h"
#include "compiler/rewrites/rules.h"
#include "ops/batch_rules.h"

namespace traingraph::rewrites {
namespace {

/// Is a transpose by `axes` dearer than one with the last two exchanged? That
/// one moves nothing, or whole rows.
bool gains_by_swap(const Shape& axes) {
  if (axes.rank() < 2) return false;
  const Shape swapped = with_last_exchanged(axes);
  const int last = axes.rank() - 1;
  return swapped == batch::axes_in_order(swapped.rank()) ||
         (swapped[last] == last && axes[last] != last);
}

bool has_bias(const Node& product) {
  return product.inputs.size() > 2 && product.inputs[2] != kNoValue;
}

/// Does `shape` have `count` entries, all of them on `axis` of `rank`?
bool lies_along(const Shape& shape, int axis, int rank, std::int64_t count) {
  const int own = axis - (rank - shape.rank());
  return own >= 0 && shape[own] == count && shape.num_elements() == count;
}

/// The product that `value` is the result of, with the axis that its bias lies
/// along; null: of none.
struct Product {
  const Node* node = nullptr;
  int bias_axis = 0;
};
Product find_product(const Rewriter& rewriter, ValueId value) {
  if (const Node* node = rewriter.inner(value, OpKind::MatMul)) {
    return {node, rewriter.shape(value).rank() - 1};
  }
  return {rewriter.inner(value, OpKind::Convolution2d), 1};
}

}  // namespace

ValueId transposed_operand(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  for (int k = 0; k < 2; ++k) {
    const Node* before = rewriter.maker(node.inputs[k], OpKind::Transpose);
    if (!before) continue;
    const Shape axes = attrs_of<TransposeAttrs>(*before).axes;
    if (!gains_by_swap(axes)) continue;
    auto attrs = attrs_of<MatMulAttrs>(node);
    bool& transposes = k == 0 ? attrs.transposes_x : attrs.transposes_y;
    transposes = !transposes;
    std::vector<ValueId> inputs = node.inputs;
    inputs[static_cast<std::size_t>(k)] =
        rewriter.transpose(before->inputs[0], with_last_exchanged(axes));
    return rewriter.append(OpKind::MatMul, attrs, std::move(inputs));
  }
  return kNoValue;
}

ValueId scaled_operand(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  for (std::size_t k = 0; k < 2; ++k) {
    const Line line = line_of(rewriter, node.inputs[k]);
    auto attrs = attrs_of<MatMulAttrs>(node);
    attrs.alpha *= line.a;
    const bool is_scaled = line.of != node.inputs[k] && line.b == 0;
    if (!is_scaled || !std::isfinite(attrs.alpha)) continue;
    std::vector<ValueId> inputs = node.inputs;
    inputs[k] = line.of;
    return rewriter.append(OpKind::MatMul, attrs, std::move(inputs));
  }
  return kNoValue;
}

ValueId scaled_product(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  const auto& line = attrs_of<ActivationAttrs>(node);
  if (line.type != ActivationType::Linear || line.b != 0) return kNoValue;
  const Node* product = rewriter.inner(node.inputs[0], OpKind::MatMul);
  if (!product || has_bias(*product)) return kNoValue;
  auto attrs = attrs_of<MatMulAttrs>(*product);
  attrs.alpha *= line.a;
  if (!std::isfinite(attrs.alpha)) return kNoValue;
  return rewriter.append(OpKind::MatMul, attrs, product->inputs);
}

ValueId bias_of_product(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  if (attrs_of<ArithmeticAttrs>(node).operation != ArithmeticOperation::Add) {
    return kNoValue;
  }
  const Shape& shape = rewriter.shape(node.outputs[0]);
  for (int k = 0; k < 2; ++k) {
    const ValueId bias = node.inputs[1 - k];
    const Product product = find_product(rewriter, node.inputs[k]);
    if (!product.node || has_bias(*product.node)) continue;
    if (rewriter.shape(node.inputs[k]) != shape) continue;
    const std::int64_t count = shape[product.bias_axis];
    if (!lies_along(rewriter.shape(bias), product.bias_axis, shape.rank(),
                    count)) {
      continue;
    }
    const OpKind op = product.node->op->kind;
    const Attributes attrs = product.node->attrs;
    std::vector<ValueId> inputs = product.node->inputs;
    inputs[2] = rewriter.reshape(bias, {count});
    return rewriter.append(op, attrs, std::move(inputs));
  }
  return kNoValue;
}

}  // namespace traingraph::rewrites
