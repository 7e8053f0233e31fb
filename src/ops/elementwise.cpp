// SPDX-License-Identifier: MIT
// Ops that work element by element: activations, arithmetic, comparison,
// selection, conversion, constants and dropout.
#include "base/format.h"
#include "formulas/run_time_scalars.h"
#include "ops/batch_rules.h"
#include "ops/elementwise_gradients.h"
#include "ops/elementwise_parameters.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "traingraph/enum_table.h"

namespace traingraph {
namespace {

constexpr DataTypes kComparable = kFloat | kIndex | kBoolean;

// Activations.

void fill_activation_defaults(Attributes& any) {
  auto& attrs = std::get<ActivationAttrs>(any);
  const ActivationAttrs defaults =
      without_unused(with_defaults({.type = attrs.type}));
  if (is_of_type(attrs.a)) attrs.a = defaults.a;
  if (is_of_type(attrs.b)) attrs.b = defaults.b;
}

void activation_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<ActivationAttrs>();
  ctx.require_attribute(to_string(attrs.type) != "?", "type is no activation",
                        "a case of ActivationType",
                        std::to_string(static_cast<int>(attrs.type)));
  if (const auto bad = find_bad_parameter(attrs, /*unused=*/0)) {
    ctx.require_attribute(false, bad->name + " is out of range", bad->expected,
                          bad->got, bad->hint);
  }
  ctx.add_result(ctx.shape(0), ctx.data_type(0));
}

/// g * slope, by the gradient op, which finds the slope from `at`.
ValueId times_slope(GradContext& ctx, ValueId at) {
  const auto attrs = ctx.attrs<ActivationAttrs>();
  return ctx.append(OpKind::ActivationGradient, attrs,
                    {ctx.result_gradient(), at});
}
ValueId pass_gradient(GradContext& ctx) { return ctx.result_gradient(); }
ValueId by_slope_at_input(GradContext& ctx) {
  return times_slope(ctx, ctx.input(0));
}
/// The slope of a * x + b is a: the source need not be kept.
ValueId by_slope_of_line(GradContext& ctx) {
  const float slope = ctx.attrs<ActivationAttrs>().a;
  return grad::linear(ctx, ctx.result_gradient(), slope);
}
/// The slope follows from the sign of ReLU's result, unless a negative a turns
/// signs round. Then the source need not be kept.
ValueId by_slope_of_relu(GradContext& ctx) {
  const bool keeps_sign = ctx.attrs<ActivationAttrs>().a >= 0;
  return times_slope(ctx, keeps_sign ? ctx.result(0) : ctx.input(0));
}

/// How each activation is differentiated.
struct ActivationRule {
  ActivationType value;
  ValueId (*gradient)(GradContext&);
};

constexpr ActivationRule kActivationRules[] = {
    {ActivationType::None, pass_gradient},
    {ActivationType::ReLU, by_slope_of_relu},
    {ActivationType::Linear, by_slope_of_line},
    {ActivationType::Sigmoid, by_slope_at_input},
    {ActivationType::HardSigmoid, by_slope_at_input},
    {ActivationType::Tanh, by_slope_at_input},
    {ActivationType::Absolute, by_slope_at_input},
    {ActivationType::SoftPlus, by_slope_at_input},
    {ActivationType::SoftSign, by_slope_at_input},
    {ActivationType::ELU, by_slope_at_input},
    {ActivationType::ReLUN, by_slope_at_input},
    {ActivationType::LogSigmoid, by_slope_at_input},
    {ActivationType::SELU, by_slope_at_input},
    {ActivationType::CELU, by_slope_at_input},
    {ActivationType::HardShrink, by_slope_at_input},
    {ActivationType::SoftShrink, by_slope_at_input},
    {ActivationType::TanhShrink, by_slope_at_input},
    {ActivationType::Threshold, by_slope_at_input},
    {ActivationType::GELU, by_slope_at_input},
    {ActivationType::HardSwish, by_slope_at_input},
    {ActivationType::Clamp, by_slope_at_input},
    {ActivationType::GELUTanh, by_slope_at_input},
    {ActivationType::SiLU, by_slope_at_input},
    {ActivationType::Mish, by_slope_at_input},
};
static_assert(has_all_cases<ActivationType>(kActivationRules),
              "one row per activation, in the order of enums.inc");
static_assert(std::ranges::all_of(kActivationRules, [](const auto& row) {
  return row.gradient != nullptr;
}));

void activation_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const auto type = ctx.attrs<ActivationAttrs>().type;
  const auto* const row =
      std::ranges::find(kActivationRules, type, &ActivationRule::value);
  ctx.set(0, row->gradient(ctx));
}

void activation_gradient_shape(ShapeContext& ctx) {
  ctx.require_same_shape(0, 1);
  activation_shape(ctx);
}

// Arithmetic.

void require_arity(const ShapeContext& ctx, bool wants_unary) {
  const auto operation = ctx.attrs<ArithmeticAttrs>().operation;
  const std::string name(to_string(operation));
  ctx.require_attribute(name != "?", "operation is not arithmetic",
                        "a case of ArithmeticOperation",
                        std::to_string(static_cast<int>(operation)));
  ctx.require_attribute(is_unary(operation) == wants_unary,
                        "operation has the wrong arity",
                        wants_unary ? "an operation of one operand"
                                    : "an operation of two operands",
                        name, wants_unary ? "Use binary." : "Use unary.");
}

/// Exactly, in the 32 or 64 bits that they have.
bool computes_integers(ArithmeticOperation operation) {
  switch (operation) {
    case ArithmeticOperation::Add:
    case ArithmeticOperation::Subtract:
    case ArithmeticOperation::Multiply:
    case ArithmeticOperation::Divide:
    case ArithmeticOperation::Min:
    case ArithmeticOperation::Max:
      return true;
    default:
      return false;
  }
}

void unary_shape(ShapeContext& ctx) {
  require_arity(ctx, /*wants_unary=*/true);
  ctx.add_result(ctx.shape(0), ctx.data_type(0));
}

void binary_shape(ShapeContext& ctx) {
  require_arity(ctx, /*wants_unary=*/false);
  ctx.require_same_data_type(1, 0);
  const auto operation = ctx.attrs<ArithmeticAttrs>().operation;
  if (!computes_integers(operation)) ctx.require_data_type(0, kFloat);
  ctx.add_result(broadcast_inputs(ctx, {0, 1}), ctx.data_type(0));
}

// Comparison, selection, conversion.

void compare_shape(ShapeContext& ctx) {
  const auto operation = ctx.attrs<CompareAttrs>().operation;
  const std::string name(to_string(operation));
  ctx.require_attribute(name != "?", "operation is no comparison",
                        "a case of ComparisonOperation",
                        std::to_string(static_cast<int>(operation)));
  ctx.require_attribute(operation != ComparisonOperation::LogicalNOT,
                        "operation has the wrong arity",
                        "an operation of two operands", name,
                        "Use logical_not.");
  ctx.require_same_data_type(1, 0);
  if (operation >= ComparisonOperation::LogicalAND) {
    ctx.require_data_type(0, kBoolean);
  }
  ctx.add_result(broadcast_inputs(ctx, {0, 1}), DataType::Boolean);
}

void select_shape(ShapeContext& ctx) {
  ctx.require_same_data_type(2, 1);
  ctx.add_result(broadcast_inputs(ctx, {0, 1, 2}), ctx.data_type(1));
}

void select_rule(GradContext& ctx) {
  if (!ctx.wants(1) && !ctx.wants(2)) return;
  const ValueId g = ctx.result_gradient();
  const ValueId condition = ctx.input(0);
  const ValueId x = ctx.input(1);
  const ValueId y = ctx.input(2);
  const ValueId zero = grad::scalar_like(ctx, g, 0);
  if (ctx.wants(1)) {
    const ValueId full = grad::select(ctx, condition, g, zero);
    ctx.set(1, grad::sum_to(ctx, full, grad::shape_of(ctx, x)));
  }
  if (ctx.wants(2)) {
    const ValueId full = grad::select(ctx, condition, zero, g);
    ctx.set(2, grad::sum_to(ctx, full, grad::shape_of(ctx, y)));
  }
}

void cast_shape(ShapeContext& ctx) {
  const DataType type = ctx.attrs<CastAttrs>().data_type;
  ctx.require_attribute(to_string(type) != "?", "data_type is no data type",
                        "a case of DataType",
                        std::to_string(static_cast<int>(type)));
  ctx.add_result(ctx.shape(0), type);
}

void cast_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const DataType from = grad::type_of(ctx, ctx.input(0));
  if (!is_float(from) || !is_float(ctx.attrs<CastAttrs>().data_type)) return;
  ctx.set(0, grad::cast(ctx, ctx.result_gradient(), from));
}

void fill_shape(ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<FillAttrs>();
  require_sizes(ctx, "shape", attrs.shape);
  ctx.require_attribute((bit(attrs.data_type) & kComparable) != 0,
                        "data_type cannot be filled", names_of(kComparable),
                        std::string(to_string(attrs.data_type)));
  ctx.add_result(attrs.shape, attrs.data_type);
}

// Dropout.

void dropout_shape(ShapeContext& ctx) {
  const float rate = ctx.attrs<DropoutAttrs>().rate;
  ctx.require_attribute(rate >= 0 && rate < 1, "rate is not a probability",
                        "at least 0 and below 1", format_value(rate));
  ctx.require_shape(1, Shape{formulas::num_entries<formulas::RandomState>()});
  ctx.add_result(ctx.shape(0), ctx.data_type(0));
}

/// The mask is a function of the random state: the gradient draws it again.
void dropout_rule(GradContext& ctx) {
  if (!ctx.wants(0)) return;
  const auto attrs = ctx.attrs<DropoutAttrs>();
  ctx.set(0, ctx.append(OpKind::Dropout, attrs,
                        {ctx.result_gradient(), ctx.input(1)}));
}

}  // namespace

OpDef define_activation() {
  return {.inputs = {{"x"}},
          .results = {"y"},
          .shape_rule = activation_shape,
          .flops = flops::per_element,
          .batch_rule = batch::follow,
          .gradient_rule = activation_rule,
          .is_identity =
              [](const Attributes& attrs) {
                return std::get<ActivationAttrs>(attrs).type ==
                       ActivationType::None;
              },
          .fill_defaults = fill_activation_defaults};
}

OpDef define_activation_gradient() {
  return {.inputs = {{"gradient"}, {"x"}},
          .results = {"dx"},
          .shape_rule = activation_gradient_shape,
          .flops = flops::per_element,
          .batch_rule = batch::broadcast,
          .no_gradient = NoGradient::Missing,
          .fill_defaults = fill_activation_defaults};
}

OpDef define_unary() {
  return {.inputs = {{"x"}},
          .results = {"y"},
          .shape_rule = unary_shape,
          .flops = flops::per_element,
          .batch_rule = batch::follow,
          .gradient_rule = unary_gradient};
}

OpDef define_binary() {
  return {.inputs = {{"x", kFloat | kIndex}, {"y", kFloat | kIndex}},
          .results = {"z"},
          .shape_rule = binary_shape,
          .flops = flops::per_element,
          .batch_rule = batch::broadcast,
          .gradient_rule = binary_gradient};
}

OpDef define_compare() {
  return {.inputs = {{"x", kComparable}, {"y", kComparable}},
          .results = {"z"},
          .shape_rule = compare_shape,
          .flops = flops::per_element,
          .batch_rule = batch::broadcast,
          .no_gradient = NoGradient::Ends};
}

OpDef define_logical_not() {
  return {.inputs = {{"x", kBoolean}},
          .results = {"y"},
          .shape_rule = same_shape_as<0>,
          .flops = flops::per_element,
          .batch_rule = batch::follow,
          .no_gradient = NoGradient::Ends};
}

OpDef define_select() {
  return {.inputs = {{"condition", kBoolean},
                     {"x", kComparable},
                     {"y", kComparable}},
          .results = {"z"},
          .shape_rule = select_shape,
          .flops = flops::moves,
          .batch_rule = batch::broadcast,
          .gradient_rule = select_rule};
}

OpDef define_cast() {
  return {.inputs = {{"x", kAnyType}},
          .results = {"y"},
          .shape_rule = cast_shape,
          .flops = flops::moves,
          .batch_rule = batch::follow,
          .gradient_rule = cast_rule,
          .may_alias = true};
}

OpDef define_fill() {
  return {.results = {"y"},
          .shape_rule = fill_shape,
          .flops = flops::moves,
          .batch_rule = batch::fixed,
          .resize = batch::resize_shape<FillAttrs>,
          .no_gradient = NoGradient::Ends};
}

OpDef define_stop_gradient() {
  return {.inputs = {{"x", kAnyType}},
          .results = {"y"},
          .shape_rule = same_shape_as<0>,
          .flops = flops::moves,
          .batch_rule = batch::follow,
          .no_gradient = NoGradient::Ends,
          .may_alias = true};
}

OpDef define_dropout() {
  return {.inputs = {{"x"}, {"random_state", kInt32}},
          .results = {"y"},
          .shape_rule = dropout_shape,
          .flops = flops::per_element,
          .batch_rule = batch::follow,
          .gradient_rule = dropout_rule,
          .inference_form =
              [](Attributes& attrs) { std::get<DropoutAttrs>(attrs).rate = 0; },
          .is_identity =
              [](const Attributes& attrs) {
                return std::get<DropoutAttrs>(attrs).rate == 0;
              },
          .may_alias = true};
}

}  // namespace traingraph
