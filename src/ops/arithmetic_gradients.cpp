// SPDX-License-Identifier: MIT
// The derivatives of all arithmetic operations, composed of ops. Where the
// result helps it is used: it is already there.
#include "ops/arithmetic_gradients.h"

#include <numbers>

#include "ops/shape_rules.h"

namespace traingraph {
namespace {

using Operation = ArithmeticOperation;
using Comparison = ComparisonOperation;

constexpr float kLn2 = std::numbers::ln2_v<float>;
constexpr float kInverseLn2 = std::numbers::log2e_v<float>;

ValueId square(GradContext& ctx, ValueId x) {
  return grad::multiply(ctx, x, x);
}

/// 1 - x^2 as (1 - x)(1 + x), which keeps its digits near |x| = 1.
ValueId one_minus_square(GradContext& ctx, ValueId x) {
  return grad::multiply(ctx, grad::linear(ctx, x, -1, 1),
                        grad::linear(ctx, x, 1, 1));
}

/// g * scale / sqrt(x)
ValueId over_sqrt(GradContext& ctx, ValueId g, ValueId x, float scale = 1) {
  const ValueId factor = grad::unary(ctx, Operation::Rsqrt, x);
  if (scale != 1) g = grad::linear(ctx, g, scale);
  return grad::multiply(ctx, g, factor);
}

/// d loss / d x of y = f(x), g = d loss / d y.
ValueId unary_input_gradient(GradContext& ctx, Operation operation, ValueId g,
                             ValueId x, ValueId y) {
  switch (operation) {
    case Operation::Sqrt:
      return grad::divide(ctx, grad::linear(ctx, g, 0.5f), y);
    case Operation::Rsqrt: {
      const ValueId cube = grad::multiply(ctx, square(ctx, y), y);
      return grad::multiply(ctx, grad::linear(ctx, g, -0.5f), cube);
    }
    case Operation::Sin:
      return grad::multiply(ctx, g, grad::unary(ctx, Operation::Cos, x));
    case Operation::Cos:
      return grad::multiply(ctx, grad::negate(ctx, g),
                            grad::unary(ctx, Operation::Sin, x));
    case Operation::Tan:
      return grad::multiply(ctx, g, grad::linear(ctx, square(ctx, y), 1, 1));
    case Operation::Asin:
      return over_sqrt(ctx, g, one_minus_square(ctx, x));
    case Operation::Acos:
      return over_sqrt(ctx, g, one_minus_square(ctx, x), -1);
    case Operation::Atan:
      return grad::divide(ctx, g, grad::linear(ctx, square(ctx, x), 1, 1));
    case Operation::Sinh:
      return grad::multiply(ctx, g, grad::unary(ctx, Operation::Cosh, x));
    case Operation::Cosh:
      return grad::multiply(ctx, g, grad::unary(ctx, Operation::Sinh, x));
    case Operation::Tanh:
      return grad::multiply(ctx, g, one_minus_square(ctx, y));
    case Operation::Asinh:
      return over_sqrt(ctx, g, grad::linear(ctx, square(ctx, x), 1, 1));
    case Operation::Acosh: {
      const ValueId below = grad::linear(ctx, x, 1, -1);
      const ValueId above = grad::linear(ctx, x, 1, 1);
      return over_sqrt(ctx, g, grad::multiply(ctx, below, above));
    }
    case Operation::Atanh:
      return grad::divide(ctx, g, one_minus_square(ctx, x));
    case Operation::Exp:
      return grad::multiply(ctx, g, y);
    case Operation::Exp2:
      return grad::multiply(ctx, grad::linear(ctx, g, kLn2), y);
    case Operation::Log:
      return grad::divide(ctx, g, x);
    case Operation::Log2:
      return grad::divide(ctx, grad::linear(ctx, g, kInverseLn2), x);
    default:  // Floor, Round, Ceil: constant between their steps
      return grad::fill(ctx, grad::shape_of(ctx, x), 0);
  }
}

/// condition ? 0 : g
ValueId zero_where(GradContext& ctx, ValueId condition, ValueId g) {
  return grad::select(ctx, condition, grad::scalar(ctx, 0), g);
}

/// Does x win over y? Ties go to x.
ValueId first_wins(GradContext& ctx, Operation operation, ValueId x,
                   ValueId y) {
  const auto comparison = operation == Operation::Min
                              ? Comparison::LessOrEqual
                              : Comparison::GreaterOrEqual;
  return grad::compare(ctx, comparison, x, y);
}

/// g * y * x^(y - 1). Where y is 0 the power is a constant, also at x = 0.
ValueId pow_base_gradient(GradContext& ctx, ValueId g, ValueId x, ValueId y) {
  const ValueId power =
      grad::binary(ctx, Operation::Pow, x, grad::linear(ctx, y, 1, -1));
  const ValueId slope = grad::multiply(ctx, y, power);
  const ValueId is_constant =
      grad::compare(ctx, Comparison::Equal, y, grad::scalar(ctx, 0));
  return zero_where(ctx, is_constant, grad::multiply(ctx, g, slope));
}

/// g * z * ln x. 0^y stays 0 when y moves, so the logarithm of 0 is avoided.
ValueId pow_exponent_gradient(GradContext& ctx, ValueId g, ValueId x, ValueId y,
                              ValueId z) {
  const ValueId zero = grad::scalar(ctx, 0);
  const ValueId is_zero = grad::compare(ctx, Comparison::Equal, x, zero);
  const ValueId is_root =
      grad::compare(ctx, Comparison::GreaterOrEqual, y, zero);
  const ValueId is_constant =
      grad::compare(ctx, Comparison::LogicalAND, is_zero, is_root);
  const ValueId log = grad::unary(ctx, Operation::Log, x);
  const ValueId slope = grad::multiply(ctx, z, log);
  return grad::select(ctx, is_constant, zero, grad::multiply(ctx, g, slope));
}

ValueId first_gradient(GradContext& ctx, Operation operation, ValueId g,
                       ValueId x, ValueId y) {
  switch (operation) {
    case Operation::Multiply:
      return grad::multiply(ctx, g, y);
    case Operation::Divide:
      return grad::divide(ctx, g, y);
    case Operation::Pow:
      return pow_base_gradient(ctx, g, x, y);
    case Operation::MultiplyNoNaN:
    case Operation::DivideNoNaN:
      return grad::binary(ctx, operation, g, y);
    case Operation::Min:
    case Operation::Max:
      return grad::select(ctx, first_wins(ctx, operation, x, y), g,
                          grad::scalar(ctx, 0));
    default:  // Add, Subtract
      return g;
  }
}

ValueId second_gradient(GradContext& ctx, Operation operation, ValueId g,
                        ValueId x, ValueId y, ValueId z) {
  switch (operation) {
    case Operation::Subtract:
      return grad::negate(ctx, g);
    case Operation::Multiply:
      return grad::multiply(ctx, g, x);
    case Operation::Divide: {
      const ValueId slope = grad::divide(ctx, z, y);
      return grad::multiply(ctx, grad::negate(ctx, g), slope);
    }
    case Operation::Pow:
      return pow_exponent_gradient(ctx, g, x, y, z);
    case Operation::MultiplyNoNaN:
      return grad::binary(ctx, operation, x, g);
    case Operation::DivideNoNaN: {
      const ValueId slope = grad::binary(ctx, operation, z, y);
      return grad::multiply(ctx, grad::negate(ctx, g), slope);
    }
    case Operation::Min:
    case Operation::Max:
      return zero_where(ctx, first_wins(ctx, operation, x, y), g);
    default:  // Add
      return g;
  }
}

}  // namespace

void unary_gradient(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const Operation operation = ctx.attrs<ArithmeticAttrs>().operation;
  const ValueId x = ctx.input(0);
  const ValueId y = ctx.result();
  ctx.set(0, unary_input_gradient(ctx, operation, ctx.result_gradient(), x, y));
}

void binary_gradient(GradContext& ctx) {
  const Operation operation = ctx.attrs<ArithmeticAttrs>().operation;
  const ValueId g = ctx.result_gradient();
  const ValueId x = ctx.input(0);
  const ValueId y = ctx.input(1);
  const ValueId z = ctx.result();
  if (ctx.wants(0)) {
    const ValueId full = first_gradient(ctx, operation, g, x, y);
    ctx.set(0, grad::sum_to(ctx, full, grad::shape_of(ctx, x)));
  }
  if (ctx.wants(1)) {
    const ValueId full = second_gradient(ctx, operation, g, x, y, z);
    ctx.set(1, grad::sum_to(ctx, full, grad::shape_of(ctx, y)));
  }
}

}  // namespace traingraph
