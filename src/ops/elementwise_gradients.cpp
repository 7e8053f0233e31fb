// SPDX-License-Identifier: MIT
// The derivatives of all arithmetic operations, composed of ops. Where the
// result helps it is used: it is already there. kGradients has one row per
// operation.
#include "ops/elementwise_gradients.h"

#include <numbers>

#include "ops/shape_rules.h"
#include "traingraph/enum_table.h"

namespace traingraph {
namespace {

using Operation = ArithmeticOperation;
using Comparison = ComparisonOperation;

/// z = f(x) or z = f(x, y), and g = d loss / d z.
struct Terms {
  ValueId g, x, y, z;
};
using Rule = ValueId (*)(GradContext&, const Terms&);

constexpr float kLn2 = std::numbers::ln2_v<float>;
constexpr float kTwoOverSqrtPi = 2 * std::numbers::inv_sqrtpi_v<float>;
constexpr float kInverseLn2 = std::numbers::log2e_v<float>;

ValueId square(GradContext& ctx, ValueId x) {
  return grad::multiply(ctx, x, x);
}

/// 1 - x^2 as (1 - x)(1 + x), which keeps its digits near |x| = 1.
ValueId one_minus_square(GradContext& ctx, ValueId x) {
  return grad::multiply(ctx, grad::linear(ctx, x, -1, 1),
                        grad::linear(ctx, x, 1, 1));
}

ValueId one_plus_square(GradContext& ctx, ValueId x) {
  return grad::linear(ctx, square(ctx, x), 1, 1);
}

/// g / sqrt(x), times `scale`.
ValueId over_sqrt(GradContext& ctx, ValueId g, ValueId x, float scale = 1) {
  const ValueId factor = grad::unary(ctx, Operation::Rsqrt, x);
  if (scale != 1) g = grad::linear(ctx, g, scale);
  return grad::multiply(ctx, g, factor);
}

/// condition ? 0 : g
ValueId zero_where(GradContext& ctx, ValueId condition, ValueId g) {
  return grad::select(ctx, condition, grad::scalar_like(ctx, g, 0), g);
}

/// g where x is the maximum or minimum, else 0. Ties go to x.
ValueId gradient_if_first(GradContext& ctx, const Terms& t) {
  return grad::select(ctx, grad::is_extremum(ctx, t.x, t.z), t.g,
                      grad::scalar_like(ctx, t.g, 0));
}
/// g where x is not, else 0.
ValueId gradient_if_second(GradContext& ctx, const Terms& t) {
  return zero_where(ctx, grad::is_extremum(ctx, t.x, t.z), t.g);
}

/// g * y * x^(y - 1). Where y is 0 the power is a constant, also at x = 0.
ValueId pow_base_gradient(GradContext& ctx, const Terms& t) {
  const auto [g, x, y, z] = t;
  const ValueId power =
      grad::binary(ctx, Operation::Pow, x, grad::linear(ctx, y, 1, -1));
  const ValueId slope = grad::multiply(ctx, y, power);
  const ValueId is_constant =
      grad::compare(ctx, Comparison::Equal, y, grad::scalar_like(ctx, y, 0));
  return zero_where(ctx, is_constant, grad::multiply(ctx, g, slope));
}

/// g * z * ln x. 0^y stays 0 when y moves, so the logarithm of 0 is avoided.
ValueId pow_exponent_gradient(GradContext& ctx, const Terms& t) {
  const auto [g, x, y, z] = t;
  const ValueId zero = grad::scalar_like(ctx, g, 0);
  const ValueId is_zero = grad::compare(ctx, Comparison::Equal, x, zero);
  const ValueId is_root =
      grad::compare(ctx, Comparison::GreaterOrEqual, y, zero);
  const ValueId is_constant =
      grad::compare(ctx, Comparison::LogicalAND, is_zero, is_root);
  const ValueId log = grad::unary(ctx, Operation::Log, x);
  const ValueId slope = grad::multiply(ctx, z, log);
  return grad::select(ctx, is_constant, zero, grad::multiply(ctx, g, slope));
}

ValueId pass(GradContext&, const Terms& t) { return t.g; }

/// How one operation is differentiated: by a rule for each operand, or not at
/// all, since its derivative is 0 wherever it has one.
struct Gradient {
  Operation value;
  Rule by_x = nullptr, by_y = nullptr;
  const char* why_zero = nullptr;
};

constexpr Gradient kGradients[] = {
    {.value = Operation::Add, .by_x = pass, .by_y = pass},
    {.value = Operation::Subtract,
     .by_x = pass,
     .by_y = [](GradContext& c,
                const Terms& t) { return grad::negate(c, t.g); }},
    {.value = Operation::Multiply,
     .by_x = [](GradContext& c,
                const Terms& t) { return grad::multiply(c, t.g, t.y); },
     .by_y = [](GradContext& c,
                const Terms& t) { return grad::multiply(c, t.g, t.x); }},
    {.value = Operation::Divide,
     .by_x = [](GradContext& c,
                const Terms& t) { return grad::divide(c, t.g, t.y); },
     .by_y =
         [](GradContext& c, const Terms& t) {
           const ValueId slope = grad::divide(c, t.z, t.y);
           return grad::multiply(c, grad::negate(c, t.g), slope);
         }},
    {.value = Operation::Floor, .why_zero = "constant between integers"},
    {.value = Operation::Round, .why_zero = "constant between halves"},
    {.value = Operation::Ceil, .why_zero = "constant between integers"},
    {.value = Operation::Sqrt,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::divide(c, grad::linear(c, t.g, 0.5f), t.z);
         }},
    {.value = Operation::Rsqrt,
     .by_x =
         [](GradContext& c, const Terms& t) {
           const ValueId cube = grad::multiply(c, square(c, t.z), t.z);
           return grad::multiply(c, grad::linear(c, t.g, -0.5f), cube);
         }},
    {.value = Operation::Sin,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::multiply(c, t.g, grad::unary(c, Operation::Cos, t.x));
         }},
    {.value = Operation::Cos,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::multiply(c, grad::negate(c, t.g),
                                 grad::unary(c, Operation::Sin, t.x));
         }},
    {.value = Operation::Tan,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::multiply(c, t.g, one_plus_square(c, t.z));
         }},
    {.value = Operation::Asin,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return over_sqrt(c, t.g, one_minus_square(c, t.x));
         }},
    {.value = Operation::Acos,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return over_sqrt(c, t.g, one_minus_square(c, t.x), -1);
         }},
    {.value = Operation::Atan,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::divide(c, t.g, one_plus_square(c, t.x));
         }},
    {.value = Operation::Sinh,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::multiply(c, t.g, grad::unary(c, Operation::Cosh, t.x));
         }},
    {.value = Operation::Cosh,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::multiply(c, t.g, grad::unary(c, Operation::Sinh, t.x));
         }},
    {.value = Operation::Tanh,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::multiply(c, t.g, one_minus_square(c, t.z));
         }},
    {.value = Operation::Asinh,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return over_sqrt(c, t.g, one_plus_square(c, t.x));
         }},
    {.value = Operation::Acosh,
     .by_x =
         [](GradContext& c, const Terms& t) {
           const ValueId below = grad::linear(c, t.x, 1, -1);
           const ValueId above = grad::linear(c, t.x, 1, 1);
           return over_sqrt(c, t.g, grad::multiply(c, below, above));
         }},
    {.value = Operation::Atanh,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::divide(c, t.g, one_minus_square(c, t.x));
         }},
    {.value = Operation::Pow,
     .by_x = pow_base_gradient,
     .by_y = pow_exponent_gradient},
    {.value = Operation::Exp,
     .by_x = [](GradContext& c,
                const Terms& t) { return grad::multiply(c, t.g, t.z); }},
    {.value = Operation::Exp2,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::multiply(c, grad::linear(c, t.g, kLn2), t.z);
         }},
    {.value = Operation::Log,
     .by_x = [](GradContext& c,
                const Terms& t) { return grad::divide(c, t.g, t.x); }},
    {.value = Operation::Log2,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::divide(c, grad::linear(c, t.g, kInverseLn2), t.x);
         }},
    {.value = Operation::MultiplyNoNaN,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::binary(c, Operation::MultiplyNoNaN, t.g, t.y);
         },
     .by_y =
         [](GradContext& c, const Terms& t) {
           return grad::binary(c, Operation::MultiplyNoNaN, t.x, t.g);
         }},
    {.value = Operation::DivideNoNaN,
     .by_x =
         [](GradContext& c, const Terms& t) {
           return grad::binary(c, Operation::DivideNoNaN, t.g, t.y);
         },
     .by_y =
         [](GradContext& c, const Terms& t) {
           const ValueId slope =
               grad::binary(c, Operation::DivideNoNaN, t.z, t.y);
           return grad::multiply(c, grad::negate(c, t.g), slope);
         }},
    {.value = Operation::Min,
     .by_x = gradient_if_first,
     .by_y = gradient_if_second},
    {.value = Operation::Max,
     .by_x = gradient_if_first,
     .by_y = gradient_if_second},
    {.value = Operation::Erf,
     .by_x =
         [](GradContext& c, const Terms& t) {
           const ValueId bell =
               grad::unary(c, Operation::Exp, grad::negate(c, square(c, t.x)));
           return grad::multiply(c, grad::linear(c, t.g, kTwoOverSqrtPi), bell);
         }},
};

/// A rule for each operand, or a reason why there is none, and never both.
constexpr bool is_complete(const Gradient& row) {
  const bool is_binary = find_case(row.value)->num_operands == 2;
  if (row.why_zero) return !row.by_x && !row.by_y;
  return row.by_x && is_binary == (row.by_y != nullptr);
}

static_assert(has_all_cases<Operation>(kGradients),
              "one row per operation, in the order of enums.inc");
static_assert(std::ranges::all_of(kGradients, is_complete));

const Gradient& gradient_of(const GradContext& ctx) {
  const Operation operation = ctx.attrs<ArithmeticAttrs>().operation;
  return *std::ranges::find(kGradients, operation, &Gradient::value);
}

/// Sets the gradient of operand `input`, in its own shape.
void set_gradient(GradContext& ctx, int input, Rule rule, const Terms& terms) {
  if (!ctx.wants(input)) return;
  const ValueId operand = ctx.input(input);
  if (!rule) return ctx.set(input, grad::fill_like(ctx, operand, 0));
  const ValueId full = rule(ctx, terms);
  ctx.set(input, grad::sum_to(ctx, full, grad::shape_of(ctx, operand)));
}

}  // namespace

void unary_gradient(GradContext& ctx) {
  const Terms terms{.g = ctx.result_gradient(),
                    .x = ctx.input(0),
                    .y = kNoValue,
                    .z = ctx.result()};
  set_gradient(ctx, 0, gradient_of(ctx).by_x, terms);
}

void binary_gradient(GradContext& ctx) {
  const Gradient& gradient = gradient_of(ctx);
  const Terms terms{.g = ctx.result_gradient(),
                    .x = ctx.input(0),
                    .y = ctx.input(1),
                    .z = ctx.result()};
  set_gradient(ctx, 0, gradient.by_x, terms);
  set_gradient(ctx, 1, gradient.by_y, terms);
}

}  // namespace traingraph
