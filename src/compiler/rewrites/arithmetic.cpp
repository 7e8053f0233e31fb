// SPDX-License-Identifier: MIT
// Arithmetic with numbers, in as few steps as it takes.
#include <cmath>

#include "compiler/rewrites/rules.h"

namespace traingraph::rewrites {
namespace {

ValueId append_line(Rewriter& rewriter, const Line& line) {
  if (line.a == 1 && line.b == 0) return line.of;
  return rewriter.append(
      OpKind::Activation,
      ActivationAttrs{.type = ActivationType::Linear, .a = line.a, .b = line.b},
      {line.of});
}

/// x <operation> n
std::optional<Line> line_with(ArithmeticOperation operation, ValueId x,
                              float n) {
  switch (operation) {
    case ArithmeticOperation::Add:
      return Line{.of = x, .b = n};
    case ArithmeticOperation::Subtract:
      return Line{.of = x, .b = -n};
    case ArithmeticOperation::Multiply:
      return Line{.of = x, .a = n};
    case ArithmeticOperation::Divide:
      return Line{.of = x, .a = 1 / n};
    default:
      return std::nullopt;
  }
}

/// n <operation> x
std::optional<Line> line_from(ArithmeticOperation operation, float n,
                              ValueId x) {
  if (operation == ArithmeticOperation::Subtract)
    return Line{.of = x, .a = -1, .b = n};
  if (operation == ArithmeticOperation::Divide) return std::nullopt;
  return line_with(operation, x, n);
}

bool is_finite(const Line& line) {
  return std::isfinite(line.a) && std::isfinite(line.b);
}

}  // namespace

ValueId arithmetic_with_number(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  const ArithmeticOperation operation =
      attrs_of<ArithmeticAttrs>(node).operation;
  const ValueId x = node.inputs[0], y = node.inputs[1];
  const Shape& shape = rewriter.shape(node.outputs[0]);
  std::optional<Line> line;
  if (const auto n = number_of(rewriter, y); n && rewriter.shape(x) == shape) {
    if (operation == ArithmeticOperation::Pow && *n == 2) {
      return rewriter.append(OpKind::Binary,
                             ArithmeticAttrs{ArithmeticOperation::Multiply},
                             {x, x});
    }
    line = line_with(operation, x, *n);
  } else if (const auto m = number_of(rewriter, x);
             m && rewriter.shape(y) == shape) {
    line = line_from(operation, *m, y);
  }
  return line && is_finite(*line) ? append_line(rewriter, *line) : kNoValue;
}

ValueId join_lines(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  const auto& attrs = attrs_of<ActivationAttrs>(node);
  if (attrs.type != ActivationType::Linear) return kNoValue;
  const Line inner = line_of(rewriter, node.inputs[0]);
  const Line line{
      .of = inner.of, .a = attrs.a * inner.a, .b = attrs.a * inner.b + attrs.b};
  const bool is_line = inner.of != node.inputs[0];
  const bool is_identity = line.a == 1 && line.b == 0;
  if (!is_finite(line) || (!is_line && !is_identity)) return kNoValue;
  return append_line(rewriter, line);
}

ValueId mean_of_sum(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  const auto& attrs = attrs_of<ActivationAttrs>(node);
  if (attrs.type != ActivationType::Linear || attrs.b != 0) return kNoValue;
  const Node* sum = rewriter.inner(node.inputs[0], OpKind::Reduce);
  if (!sum) return kNoValue;
  const auto reduce = attrs_of<ReduceAttrs>(*sum);
  const ValueId x = sum->inputs[0];
  const auto count =
      static_cast<double>(rewriter.shape(x).num_elements()) /
      static_cast<double>(rewriter.shape(node.inputs[0]).num_elements());
  if (reduce.type != ReductionType::Sum ||
      attrs.a != static_cast<float>(1 / count)) {
    return kNoValue;
  }
  return rewriter.append(OpKind::Reduce,
                         ReduceAttrs{ReductionType::Mean, reduce.axes}, {x});
}

}  // namespace traingraph::rewrites
