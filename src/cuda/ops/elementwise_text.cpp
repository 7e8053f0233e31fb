// SPDX-License-Identifier: MIT
#include "cuda/ops/elementwise_text.h"

#include <string_view>

#include "cuda/code/kernel_writer.h"
#include "graph/op_def.h"
#include "lowering/fusion_query.h"
#include "lowering/fusion_search.h"
#include "traingraph/error.h"

namespace traingraph::cuda {
namespace {

/// The names of enumerators are those of the formulas' structs.
#define NAME(Name)     \
  case NAMED_BY::Name: \
    return #Name

#define NAMED_BY ArithmeticOperation
std::string_view formula_name(ArithmeticOperation operation) {
  switch (operation) {
    NAME(Floor);
    NAME(Round);
    NAME(Ceil);
    NAME(Sqrt);
    NAME(Rsqrt);
    NAME(Sin);
    NAME(Cos);
    NAME(Tan);
    NAME(Asin);
    NAME(Acos);
    NAME(Atan);
    NAME(Sinh);
    NAME(Cosh);
    NAME(Tanh);
    NAME(Asinh);
    NAME(Acosh);
    NAME(Atanh);
    NAME(Exp);
    NAME(Exp2);
    NAME(Log);
    NAME(Log2);
    NAME(Erf);
    NAME(Add);
    NAME(Subtract);
    NAME(Multiply);
    NAME(Divide);
    NAME(Pow);
    NAME(MultiplyNoNaN);
    NAME(DivideNoNaN);
    NAME(Min);
    NAME(Max);
  }
  return {};
}
#undef NAMED_BY
#define NAMED_BY ComparisonOperation
std::string_view formula_name(ComparisonOperation operation) {
  switch (operation) {
    NAME(Equal);
    NAME(NotEqual);
    NAME(Less);
    NAME(Greater);
    NAME(LessOrEqual);
    NAME(GreaterOrEqual);
    NAME(LogicalAND);
    NAME(LogicalOR);
    NAME(LogicalNAND);
    NAME(LogicalNOR);
    NAME(LogicalXOR);
    NAME(LogicalNOT);
  }
  return {};
}
#undef NAMED_BY
#undef NAME

std::string function(std::string_view name,
                     std::initializer_list<float> arguments) {
  std::string text = "functions::" + std::string(name) + "{";
  for (const float argument : arguments) {
    text += (text.back() == '{' ? "" : ", ") + literal(argument);
  }
  return text + "}";
}

std::string call(const std::string& f,
                 std::initializer_list<std::string> args) {
  std::string text = f + "(";
  for (const std::string& arg : args) {
    text += (text.back() == '(' ? "" : ", ") + arg;
  }
  return text + ")";
}

/// As float32, if it is a float; as it is otherwise.
std::string widened(const std::string& name, DataType type) {
  return is_half(type) ? "float(" + name + ")" : name;
}

std::string binary_text(const ArithmeticAttrs& attrs, DataType type,
                        const std::string& x, const std::string& y) {
  const std::string name(formula_name(attrs.operation));
  if (is_float(type)) return call("arithmetic::" + name + "()", {x, y});
  return call("integers::" + name + "<" + type_text(type) + ">", {x, y});
}

}  // namespace

bool is_elementwise(OpKind kind) {
  switch (kind) {
    case OpKind::Activation:
    case OpKind::ActivationGradient:
    case OpKind::Unary:
    case OpKind::Binary:
    case OpKind::Compare:
    case OpKind::LogicalNot:
    case OpKind::Select:
    case OpKind::Cast:
    case OpKind::Fill:
      return true;
    default:
      return false;
  }
}

std::string activation_text(const ActivationAttrs& attrs) {
  using enum ActivationType;
  const auto [type, a, b, c] = attrs;
  switch (type) {
    case ReLU:
      return function("Relu", {a});
    case Linear:
      return function("LinearMap", {a, b});
    case HardSigmoid:
      return function("HardSigmoidMap", {a, b});
    case Sigmoid:
      return function("SigmoidMap", {});
    case Tanh:
      return function("ScaledTanh", {a, b});
    case Absolute:
      return function("AbsoluteValue", {});
    case SoftPlus:
      return function("ScaledSoftPlus", {a, b});
    case LogSigmoid:
      return function("ScaledSoftPlus", {-1, -1});
    case SoftSign:
      return function("SoftSignMap", {});
    case ReLUN:
      return function("ReluN", {a, b});
    case ELU:
      return function("ScaledElu", {1, a, 1});
    case SELU:
      return function("ScaledElu",
                      {1.0507009873554805f, 1.6732632423543772f, 1});
    case CELU:
      return function("ScaledElu", {1, a, a});
    case HardShrink:
      return function("HardShrinkMap", {a});
    case SoftShrink:
      return function("SoftShrinkMap", {a});
    case TanhShrink:
      return function("TanhShrinkMap", {});
    case Threshold:
      return function("ThresholdMap", {a, b});
    case HardSwish:
      return function("HardSwishMap", {});
    case Clamp:
      return function("ClampMap", {a, b});
    case None:
      return function("Identity", {});
    case GELU:
      return function("GeluMap", {});
    case GELUTanh:
      return function("GeluTanhMap", {});
    case SiLU:
      return function("SiluMap", {});
    case Mish:
      return function("MishMap", {});
  }
  throw InternalError(ErrorInfo{.op = "activation",
                                .what = "no formula for this type",
                                .got = std::string(to_string(type))});
}

namespace {

/// The slope at x, from x, or from the result there.
std::string slope_text(const ActivationAttrs& attrs, const std::string& x,
                       bool is_result) {
  if (!is_result || !has_gradient_of_result(attrs)) {
    return call(activation_text(attrs) + ".slope", {x});
  }
  return attrs.type == ActivationType::Tanh ? "(1 - " + x + " * " + x + ")"
                                            : x + " * (1 - " + x + ")";
}

}  // namespace

std::string elementwise_text(const UnitBuilder& unit,
                             const std::vector<std::string>& operands) {
  const Node& node = unit.node();
  std::vector<std::string> x;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const int input = static_cast<int>(i);
    x.push_back(widened(operands[i], unit.input_desc(input).data_type));
  }
  const DataType type = unit.result_desc().data_type;
  const auto result = [&](const std::string& value) {
    return type_text(type) + "(" + value + ")";
  };
  switch (node.op->kind) {
    case OpKind::Activation:
      return result(call(
          activation_text(std::get<ActivationAttrs>(node.attrs)) + ".value",
          {x[0]}));
    case OpKind::ActivationGradient:
      return result(x[0] + " * " +
                    slope_text(std::get<ActivationAttrs>(node.attrs), x[1],
                               UnitBuilder(unit).fusion().reads_activated(1)));
    case OpKind::Unary: {
      const auto& attrs = std::get<ArithmeticAttrs>(node.attrs);
      return result(call(
          "arithmetic::" + std::string(formula_name(attrs.operation)) + "()",
          {x[0]}));
    }
    case OpKind::Binary:
      return result(
          binary_text(std::get<ArithmeticAttrs>(node.attrs), type, x[0], x[1]));
    case OpKind::Compare: {
      const auto& attrs = std::get<CompareAttrs>(node.attrs);
      return result(call(
          "arithmetic::" + std::string(formula_name(attrs.operation)) + "()",
          {x[0], x[1]}));
    }
    case OpKind::LogicalNot:
      return result(x[0] + " == 0");
    case OpKind::Select:
      return "(" + operands[0] + " != 0 ? " + operands[1] + " : " +
             operands[2] + ")";
    case OpKind::Cast:
      return "convert<" + type_text(type) + ">(" + operands[0] + ")";
    case OpKind::Fill:
      return "convert<" + type_text(type) + ">(" +
             literal(std::get<FillAttrs>(node.attrs).value) + ")";
    default:
      throw InternalError(ErrorInfo{.op = node.op->name,
                                    .node = node.name,
                                    .what = "the op is not element-wise"});
  }
}

}  // namespace traingraph::cuda
