// SPDX-License-Identifier: MIT
// Activations that are written in several ops.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "compiler/rewrites/rules.h"

namespace traingraph::rewrites {
namespace {

/// The activation that `value` is the result of; null: of none that would go.
const Node* inner_activation(const Rewriter& rewriter, ValueId value,
                             ActivationType type) {
  const Node* node = rewriter.inner(value, OpKind::Activation);
  return node && attrs_of<ActivationAttrs>(*node).type == type ? node : nullptr;
}

bool has_parameters(const Node& node, double a, double b) {
  const auto& attrs = attrs_of<ActivationAttrs>(node);
  return is_near(attrs.a, a) && is_near(attrs.b, b);
}

/// f where gate = f(x) / x.
std::optional<ActivationType> find_gated(const Rewriter& rewriter, ValueId x,
                                         ValueId gate) {
  const auto reads_x = [&](const Node* node) {
    return node && node->inputs[0] == x;
  };
  if (reads_x(inner_activation(rewriter, gate, ActivationType::Sigmoid)))
    return ActivationType::SiLU;
  const Node* hard =
      inner_activation(rewriter, gate, ActivationType::HardSigmoid);
  if (reads_x(hard) && has_parameters(*hard, 1.0 / 6, 0.5))
    return ActivationType::HardSwish;
  const Node* tanh = inner_activation(rewriter, gate, ActivationType::Tanh);
  if (!tanh || !has_parameters(*tanh, 1, 1)) return std::nullopt;
  const Node* plus =
      inner_activation(rewriter, tanh->inputs[0], ActivationType::SoftPlus);
  if (reads_x(plus) && has_parameters(*plus, 1, 1)) return ActivationType::Mish;
  return std::nullopt;
}

/// A product of values and a number.
struct Factors {
  float number = 1;
  std::vector<ValueId> values = {};

  bool are(double n, std::vector<ValueId> expected) {
    std::ranges::sort(values);
    std::ranges::sort(expected);
    return is_near(number, n) && values == expected;
  }
};

void multiply_by(const Rewriter& rewriter, ValueId value, Factors& factors);

/// Multiplies by the operands of `node`; false: it is no product.
bool multiply_by_operands(const Rewriter& rewriter, const Node& node,
                          Factors& factors) {
  if (const auto* line = std::get_if<ActivationAttrs>(&node.attrs)) {
    if (line->type != ActivationType::Linear || line->b != 0) return false;
    factors.number *= line->a;
    multiply_by(rewriter, node.inputs[0], factors);
    return true;
  }
  const auto* binary = std::get_if<ArithmeticAttrs>(&node.attrs);
  if (!binary || node.op->kind != OpKind::Binary) return false;
  if (binary->operation == ArithmeticOperation::Multiply) {
    for (ValueId input : node.inputs) multiply_by(rewriter, input, factors);
    return true;
  }
  const auto power = number_of(rewriter, node.inputs[1]);
  if (binary->operation != ArithmeticOperation::Pow || power != 3.0f) {
    return false;
  }
  factors.values.insert(factors.values.end(), 3, node.inputs[0]);
  return true;
}

void multiply_by(const Rewriter& rewriter, ValueId value, Factors& factors) {
  for (const OpKind op : {OpKind::Activation, OpKind::Binary}) {
    const Node* node = rewriter.inner(value, op);
    if (node && multiply_by_operands(rewriter, *node, factors)) return;
  }
  factors.values.push_back(value);
}

/// What x * (1 + f(x)) / 2 is, where `gate` is 1 + f(x).
struct Gelu {
  ActivationType type{};
  ValueId source = kNoValue;
};

/// x where `value` is sqrt(2 / pi) * (x + 0.044715 * x^3).
ValueId find_cubic_source(const Rewriter& rewriter, ValueId value) {
  const Line scaled = line_of(rewriter, value);
  const double scale = std::sqrt(2 / std::numbers::pi);
  if (!is_near(scaled.a, scale) || scaled.b != 0) return kNoValue;
  const Node* sum = rewriter.inner(scaled.of, OpKind::Binary);
  if (!sum ||
      attrs_of<ArithmeticAttrs>(*sum).operation != ArithmeticOperation::Add) {
    return kNoValue;
  }
  for (int k = 0; k < 2; ++k) {
    const ValueId x = sum->inputs[k];
    Factors cubic;
    multiply_by(rewriter, sum->inputs[1 - k], cubic);
    if (cubic.are(0.044715, {x, x, x})) return x;
  }
  return kNoValue;
}

Gelu find_gelu(const Rewriter& rewriter, ValueId gate) {
  const Line line = line_of(rewriter, gate);
  if (line.of == gate || line.a != 1 || line.b != 1) return {};
  const Node* tanh = inner_activation(rewriter, line.of, ActivationType::Tanh);
  if (tanh && has_parameters(*tanh, 1, 1)) {
    return {ActivationType::GELUTanh,
            find_cubic_source(rewriter, tanh->inputs[0])};
  }
  const Node* erf = rewriter.inner(line.of, OpKind::Unary);
  if (!erf ||
      attrs_of<ArithmeticAttrs>(*erf).operation != ArithmeticOperation::Erf) {
    return {};
  }
  const Line scaled = line_of(rewriter, erf->inputs[0]);
  const bool is_gelu = is_near(scaled.a, std::sqrt(0.5)) && scaled.b == 0;
  return {ActivationType::GELU, is_gelu ? scaled.of : kNoValue};
}

ValueId append_activation(Rewriter& rewriter, ActivationType type, ValueId x) {
  return rewriter.append(OpKind::Activation, ActivationAttrs{.type = type},
                         {x});
}

}  // namespace

ValueId gated_by_itself(Rewriter& rewriter, NodeId root) {
  const Node& node = rewriter.node(root);
  if (attrs_of<ArithmeticAttrs>(node).operation !=
      ArithmeticOperation::Multiply) {
    return kNoValue;
  }
  for (int k = 0; k < 2; ++k) {
    const ValueId x = node.inputs[k];
    if (const auto type = find_gated(rewriter, x, node.inputs[1 - k])) {
      return append_activation(rewriter, *type, x);
    }
  }
  return kNoValue;
}

ValueId gelu(Rewriter& rewriter, NodeId root) {
  Factors factors;
  multiply_by_operands(rewriter, rewriter.node(root), factors);
  if (factors.values.size() != 2 || !is_near(factors.number, 0.5)) {
    return kNoValue;
  }
  for (int k = 0; k < 2; ++k) {
    const Gelu found = find_gelu(rewriter, factors.values[k]);
    if (found.source != kNoValue && found.source == factors.values[1 - k]) {
      return append_activation(rewriter, found.type, found.source);
    }
  }
  return kNoValue;
}

}  // namespace traingraph::rewrites
