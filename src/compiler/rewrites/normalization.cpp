// SPDX-License-Identifier: MIT
// Layer and group normalization that is written out.
#include <optional>
#include <utility>
#include <vector>

#include "compiler/rewrites/rules.h"

namespace traingraph::rewrites {
namespace {

enum NormInput : std::size_t { kSource, kScale, kShift, kMean, kVariance };

/// The arithmetic that `value` is the result of; null: of none that would go.
const Node* inner_arithmetic(const Rewriter& rewriter, ValueId value, OpKind op,
                             ArithmeticOperation operation) {
  const Node* node = rewriter.inner(value, op);
  const bool is_it =
      node && attrs_of<ArithmeticAttrs>(*node).operation == operation;
  return is_it ? node : nullptr;
}

/// What 1 / sqrt(...) is taken of, where `value` is that; kNoValue: it is not.
ValueId find_rsqrt_source(const Rewriter& rewriter, ValueId value) {
  if (const Node* rsqrt = inner_arithmetic(rewriter, value, OpKind::Unary,
                                           ArithmeticOperation::Rsqrt)) {
    return rsqrt->inputs[0];
  }
  const Node* reciprocal = inner_arithmetic(rewriter, value, OpKind::Binary,
                                            ArithmeticOperation::Divide);
  if (!reciprocal || number_of(rewriter, reciprocal->inputs[0]) != 1.0f) {
    return kNoValue;
  }
  const Node* root = inner_arithmetic(rewriter, reciprocal->inputs[1],
                                      OpKind::Unary, ArithmeticOperation::Sqrt);
  return root ? root->inputs[0] : kNoValue;
}

/// The difference and the variance with epsilon of what divides one by the
/// root of the other.
struct Quotient {
  ValueId difference = kNoValue, variance = kNoValue;
};
Quotient find_quotient(const Rewriter& rewriter, const Node& node) {
  const auto operation = attrs_of<ArithmeticAttrs>(node).operation;
  if (operation == ArithmeticOperation::Divide) {
    const Node* root = inner_arithmetic(rewriter, node.inputs[1], OpKind::Unary,
                                        ArithmeticOperation::Sqrt);
    if (root) return {node.inputs[0], root->inputs[0]};
  }
  for (int k = 0; k < 2 && operation == ArithmeticOperation::Multiply; ++k) {
    const ValueId of = find_rsqrt_source(rewriter, node.inputs[k]);
    if (of != kNoValue) return {node.inputs[1 - k], of};
  }
  return {};
}

/// The axes that `value` is a mean of `of` over, where it is one.
std::optional<Shape> find_mean_axes(const Node* mean, ValueId of) {
  if (!mean || mean->inputs[0] != of) return std::nullopt;
  const auto& attrs = attrs_of<ReduceAttrs>(*mean);
  if (attrs.type != ReductionType::Mean) return std::nullopt;
  return attrs.axes;
}

/// The first of `axes`, where they are the last ones of `rank`.
std::optional<int> first_of_last(const Shape& axes, int rank) {
  const int first = rank - axes.rank();
  for (int i = 0; i < axes.rank(); ++i) {
    if (axes[i] != first + i) return std::nullopt;
  }
  return axes.empty() ? std::nullopt : std::optional(first);
}

bool is_square_of(const Rewriter& rewriter, ValueId value, ValueId of) {
  const Node* square = inner_arithmetic(rewriter, value, OpKind::Binary,
                                        ArithmeticOperation::Multiply);
  return square && square->inputs[0] == of && square->inputs[1] == of;
}

/// A sample_norm that goes with its reader, none of whose statistics run.
const Node* inner_norm(const Rewriter& rewriter, ValueId value) {
  const Node* norm = rewriter.inner(value, OpKind::SampleNorm);
  return norm && norm->inputs[kMean] == kNoValue ? norm : nullptr;
}

/// `parameter` as sample_norm of these attributes reads it, if all that it
/// varies along is what is normalized.
ValueId as_parameter(Rewriter& rewriter, ValueId parameter,
                     const SampleNormAttrs& attrs, const Shape& shape) {
  const Shape own = rewriter.shape(parameter);
  const int missing = shape.rank() - own.rank();
  const int axis = static_cast<int>(attrs.axis);
  Shape wanted;
  for (int i = 0; i < shape.rank(); ++i) {
    const std::int64_t size = i < missing ? 1 : own[i - missing];
    const bool varies = attrs.groups > 0 ? i == axis : i >= axis;
    if (size != (varies ? shape[i] : 1)) return kNoValue;
    if (varies) wanted.push_back(size);
  }
  return rewriter.reshape(parameter, wanted);
}

/// The norm with `root`'s other operand as its input `slot`.
ValueId with_parameter(Rewriter& rewriter, NodeId root,
                       ArithmeticOperation operation, NormInput slot) {
  const Node& node = rewriter.node(root);
  if (attrs_of<ArithmeticAttrs>(node).operation != operation) return kNoValue;
  for (int k = 0; k < 2; ++k) {
    const Node* norm = inner_norm(rewriter, node.inputs[k]);
    // A scale would scale the shift, too.
    if (!norm || norm->inputs[kShift] != kNoValue) continue;
    if (slot == kScale && norm->inputs[kScale] != kNoValue) continue;
    const auto attrs = attrs_of<SampleNormAttrs>(*norm);
    const ValueId other = node.inputs[1 - k];
    const Shape shape = rewriter.shape(norm->inputs[kSource]);
    if (rewriter.shape(node.outputs[0]) != shape) continue;
    if (!rewriter.is_float32(other)) continue;
    std::vector<ValueId> inputs = norm->inputs;
    inputs[slot] = as_parameter(rewriter, other, attrs, shape);
    if (inputs[slot] == kNoValue) continue;
    return rewriter.append(OpKind::SampleNorm, attrs, std::move(inputs));
  }
  return kNoValue;
}

/// How many groups a norm of (N, groups, ...) has; 0: it is of something else.
std::int64_t groups_of(const Node& norm, const Shape& shape) {
  const auto& attrs = attrs_of<SampleNormAttrs>(norm);
  const bool is_by_instance = attrs.axis == 1 && attrs.groups == shape[1];
  const bool is_by_row = attrs.axis == 2 && attrs.groups == 0;
  return shape.rank() >= 3 && (is_by_instance || is_by_row) ? shape[1] : 0;
}

}  // namespace

ValueId layer_norm(Rewriter& rewriter, NodeId root) {
  const Quotient found = find_quotient(rewriter, rewriter.node(root));
  if (found.difference == kNoValue) return kNoValue;
  const Node* difference = rewriter.maker(found.difference, OpKind::Binary);
  if (!difference || attrs_of<ArithmeticAttrs>(*difference).operation !=
                         ArithmeticOperation::Subtract) {
    return kNoValue;
  }
  const ValueId x = difference->inputs[0];
  const auto axes =
      find_mean_axes(rewriter.maker(difference->inputs[1], OpKind::Reduce), x);
  const Line shifted = line_of(rewriter, found.variance);
  const Node* variance = rewriter.inner(shifted.of, OpKind::Reduce);
  if (!axes || !variance || shifted.a != 1 || shifted.b < 0) return kNoValue;
  const ValueId square = variance->inputs[0];
  if (find_mean_axes(variance, square) != axes) return kNoValue;
  if (!is_square_of(rewriter, square, found.difference)) return kNoValue;
  const auto axis = first_of_last(*axes, rewriter.shape(x).rank());
  if (!axis) {
    return rewriter.nearly(root, "layer normalization",
                           "its mean is over axes " + axes->to_string() +
                               ", which are not the last ones");
  }
  return rewriter.append(OpKind::SampleNorm,
                         SampleNormAttrs{.axis = *axis, .epsilon = shifted.b},
                         {x, kNoValue, kNoValue});
}

ValueId scaled_norm(Rewriter& rewriter, NodeId root) {
  return with_parameter(rewriter, root, ArithmeticOperation::Multiply, kScale);
}

ValueId shifted_norm(Rewriter& rewriter, NodeId root) {
  return with_parameter(rewriter, root, ArithmeticOperation::Add, kShift);
}

ValueId group_norm(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  const Node* norm = inner_norm(rewriter, node.inputs[0]);
  if (!norm) return kNoValue;
  const Node* split = rewriter.maker(norm->inputs[kSource], OpKind::Reshape);
  if (!split) return kNoValue;
  const ValueId x = split->inputs[0];
  const Shape &shape = rewriter.shape(x),
              &grouped = rewriter.shape(split->outputs[0]);
  const std::int64_t groups = groups_of(*norm, grouped);
  const bool is_by_group = groups > 0 && shape.rank() >= 2 &&
                           rewriter.shape(node.outputs[0]) == shape &&
                           shape[0] == grouped[0] && shape[1] % groups == 0;
  if (!is_by_group) return kNoValue;
  if (norm->inputs[kScale] != kNoValue || norm->inputs[kShift] != kNoValue) {
    return rewriter.nearly(root, "group normalization",
                           "each group has a scale or shift of its own, which "
                           "trains; load the file with trainable= without it");
  }
  SampleNormAttrs attrs = attrs_of<SampleNormAttrs>(*norm);
  attrs.axis = 1;
  attrs.groups = groups;
  return rewriter.append(OpKind::SampleNorm, attrs, {x, kNoValue, kNoValue});
}

}  // namespace traingraph::rewrites
