// SPDX-License-Identifier: MIT
// Chains of element-wise nodes (lowering/expression.h) in one pass: pieces of
// the operands go through the functions of all nodes while they are in the
// nearest cache. The loops are those of single nodes, and so are the bits.
#include <algorithm>
#include <array>
#include <vector>

#include "cpu/engine/activation.h"
#include "cpu/ops/elementwise_rows.h"
#include "lowering/expression.h"

namespace traingraph::cpu {
namespace {

constexpr std::size_t kMaxSteps = 8;
/// Shorter rows are faster in a loop that knows its function.
constexpr std::int64_t kMinRow = 128;

bool is_row_op(OpKind kind) {
  return kind == OpKind::Unary || kind == OpKind::Binary ||
         kind == OpKind::Activation || kind == OpKind::ActivationGradient;
}

/// What an engine has code for is faster by itself. A gradient that follows
/// from the activation's result may have to, where a product computes that.
bool has_own_loop(const Node& node) {
  if (node.op->kind == OpKind::Unary) {
    return std::get<ArithmeticAttrs>(node.attrs).operation !=
           ArithmeticOperation::Tanh;  // lower_engine_tanh()
  }
  const auto* attrs = std::get_if<ActivationAttrs>(&node.attrs);
  if (attrs == nullptr) return true;
  const bool may_read_result = node.op->kind == OpKind::ActivationGradient &&
                               has_gradient_of_result(*attrs);
  return !may_read_result && !has_engine_activation(*attrs);
}

/// Can the node be a part of an expression?
bool has_row(const Program& program, const Node& node) {
  const auto is_float32 = [&](ValueId value) {
    return program.desc(value).data_type == DataType::Float32;
  };
  return is_row_op(node.op->kind) && has_own_loop(node) &&
         std::ranges::all_of(node.inputs, is_float32) &&
         is_float32(node.outputs[0]);
}

RowFunction row_of(const Node& node) {
  switch (node.op->kind) {
    case OpKind::Unary:
      return unary_row(std::get<ArithmeticAttrs>(node.attrs).operation);
    case OpKind::Binary:
      return binary_row(std::get<ArithmeticAttrs>(node.attrs).operation);
    case OpKind::Activation:
      return activation_row(std::get<ActivationAttrs>(node.attrs));
    default:
      return activation_gradient_row(std::get<ActivationAttrs>(node.attrs));
  }
}

/// An expression over addresses. Steps put what they compute into rooms of one
/// piece each, the last one into the result.
class BoundExpression {
 public:
  struct Step {
    RowFunction f;
    std::array<int, 2> sources;  // as of Expression::Step
  };

  BoundExpression(const ExpressionPlan& plan, std::vector<Step> steps)
      : plan_(plan), steps_(std::move(steps)) {
    for (const Step& step : steps_) grain_ = std::min(grain_, step.f.grain);
    const auto num_steps = static_cast<std::int64_t>(steps_.size());
    grain_ = std::min(grain_, std::max(kCostlyGrain, kCheapGrain / num_steps));
  }

  void set_plan(const ExpressionPlan& plan) { plan_ = plan; }
  void bind(std::vector<const float*> operands, float* result) {
    operands_ = std::move(operands);
    result_ = result;
  }

  void operator()() const {
    broadcast_rows(plan_, grain_,
                   [&](std::int64_t at, const auto& from, std::int64_t count) {
                     evaluate_row(from, count, result_ + at);
                   });
  }

  /// Of operands that are all zero.
  float at_zero() const {
    constexpr float kZero = 0;
    BoundExpression copy = *this;
    float result = 0;
    copy.operands_.assign(kMaxExpressionOperands, &kZero);
    copy.evaluate_row({}, 1, &result);
    return result;
  }

 private:
  static constexpr std::int64_t kPiece = 512;
  using Offsets = ExpressionPlan::Offsets;

  void evaluate_row(const Offsets& from, std::int64_t count,
                    float* result) const {
    float repeated[kMaxExpressionOperands][kPiece];
    std::array<const float*, kMaxExpressionOperands> operands{};
    std::array<std::int64_t, kMaxExpressionOperands> steps{};
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      operands[k] = operands_[k] + from[k];
      steps[k] = plan_.strides[plan_.rank - 1][k];  // one element or none
      if (steps[k] != 0) continue;
      std::fill_n(repeated[k], std::min(kPiece, count), *operands[k]);
      operands[k] = repeated[k];
    }
    for (std::int64_t i = 0; i < count; i += kPiece) {
      const std::int64_t n = std::min(kPiece, count - i);
      evaluate(operands, n, result + i);
      for (std::size_t k = 0; k < operands_.size(); ++k) {
        operands[k] += steps[k] * n;
      }
    }
  }

  void evaluate(
      const std::array<const float*, kMaxExpressionOperands>& operands,
      std::int64_t n, float* result) const {
    float computed[kMaxSteps][kPiece];
    const auto source = [&](int index) -> const float* {
      return index < 0 ? operands[~index] : computed[index];
    };
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      const Step& step = steps_[s];
      float* const to = s + 1 < steps_.size() ? computed[s] : result;
      step.f(source(step.sources[0]), source(step.sources[1]), to, n);
    }
  }

  ExpressionPlan plan_;
  std::vector<Step> steps_;
  std::int64_t grain_ = kCheapGrain;
  std::vector<const float*> operands_;
  float* result_ = nullptr;
};

BoundExpression draft_of(const Expression& expression) {
  std::vector<BoundExpression::Step> steps;
  for (const Expression::Step& step : expression.steps) {
    const auto& sources = step.sources;
    steps.push_back(
        {row_of(step.unit.node()), {sources.front(), sources.back()}});
  }
  return {expression.plan(), std::move(steps)};
}

/// Of operands that all have the result's layout.
ExpressionPlan plan_of_bytes(const Layout& layout) {
  ExpressionPlan plan;
  plan.rank = 1;
  plan.sizes[0] = num_elements(layout);
  plan.strides[0].fill(1);
  return plan;
}

/// The layout of all operands: one that an operand of the result's shape was
/// given, if zeros in its padding stay zeros.
Layout layout_of(const Expression& expression, bool keeps_zero) {
  const UnitBuilder& last = expression.steps.back().unit;
  const Layout& plain = last.plain(last.result_desc());
  Layout found = plain;
  for (std::size_t k = 0; k < expression.operands.size(); ++k) {
    const auto [step, input] = expression.operands[k];
    if (expression.operand_shape(k) != expression.shape()) return plain;
    const Layout layout =
        loop_layout(expression.steps[step].unit, input, keeps_zero);
    if (same_layout(found, plain)) found = layout;
  }
  return found;
}

}  // namespace

bool is_expression(UnitBuilder& unit) {
  const FusionQuery fusion = unit.fusion();
  return is_row_op(unit.node().op->kind) &&
         (fusion.computes_input(0) || fusion.computes_input(1));
}

void join_expressions(FusionSearch& search) {
  traingraph::join_expressions(
      search,
      {.computes = has_row, .max_steps = kMaxSteps, .min_row = kMinRow});
}

void lower_expression(UnitBuilder& unit) {
  Expression expression(unit);
  BoundExpression draft = draft_of(expression);
  const Layout layout = layout_of(expression, draft.at_zero() == 0);
  std::vector<int> operands;
  std::vector<int> large;  // that the result may overwrite
  for (std::size_t k = 0; k < expression.operands.size(); ++k) {
    const auto [step, input] = expression.operands[k];
    UnitBuilder& reader = expression.steps[step].unit;
    const bool is_large = expression.operand_shape(k) == expression.shape();
    operands.push_back(is_large ? reader.read(input, layout)
                                : reader.read(input));
    if (is_large) large.push_back(operands.back());
  }
  const int result = unit.write(0, layout);
  for (const int arg : large) unit.may_overwrite(result, arg);
  if (!is_plain(layout)) draft.set_plan(plan_of_bytes(layout));
  emit(unit, [=](BindContext& at) -> BoundKernel {
    std::vector<const float*> addresses;
    for (const int arg : operands) addresses.push_back(floats(at[arg]));
    BoundExpression bound = draft;
    bound.bind(std::move(addresses), floats(at[result]));
    return bound;
  });
}

}  // namespace traingraph::cpu
