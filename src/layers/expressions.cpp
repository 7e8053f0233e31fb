// SPDX-License-Identifier: MIT
// Operators, functions, reductions and changes of shape, as nodes of the op
// table. expressions_index.cpp has index().
#include "traingraph/expressions.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "base/axes.h"
#include "graph/op_def.h"
#include "layers/expression.h"

namespace traingraph {
namespace {

// Arithmetic.

/// a * x + b
struct Line {
  float a = 1, b = 0;
};

/// Its reciprocal is exact and no subnormal number.
bool is_power_of_two(float number) {
  int exponent = 0;
  return std::fabs(std::frexp(number, &exponent)) == 0.5f &&
         std::abs(exponent) <= 126;
}

/// `x operation number`, or, `is_reversed`, `number operation x`, as a line
/// that has the same values. (Of zeros the sign may differ.)
std::optional<Line> find_line(ArithmeticOperation operation, float number,
                              bool is_reversed) {
  if (!std::isfinite(number)) return std::nullopt;
  switch (operation) {
    case ArithmeticOperation::Add:
      return Line{.b = number};
    case ArithmeticOperation::Subtract:
      return is_reversed ? Line{.a = -1, .b = number} : Line{.b = -number};
    case ArithmeticOperation::Multiply:
      return Line{.a = number};
    case ArithmeticOperation::Divide:
      if (is_reversed || !is_power_of_two(number)) return std::nullopt;
      return Line{.a = 1 / number};
    default:
      return std::nullopt;
  }
}

Attributes linear(const Line& line) {
  return ActivationAttrs{
      .type = ActivationType::Linear, .a = line.a, .b = line.b};
}

/// Both operands as tensors: a number as a constant of the other's type.
struct Operands {
  Tensor x, y;
};

Tensor tensor_or_constant(Expression& expression, const Operand& operand,
                          DataType type) {
  if (const auto* tensor = std::get_if<Tensor>(&operand.value)) return *tensor;
  return expression.constant(std::get<double>(operand.value), type);
}

/// The type that a number takes.
DataType type_beside(const Operand& operand) {
  const auto* tensor = std::get_if<Tensor>(&operand.value);
  return tensor ? tensor->data_type() : DataType::Float32;
}

Operands tensors_of(Expression& expression, const Operand& x,
                    const Operand& y) {
  return {tensor_or_constant(expression, x, type_beside(y)),
          tensor_or_constant(expression, y, type_beside(x))};
}

/// A Boolean operand as a number of the type that the other has.
Operand counted(Expression& expression, const Operand& operand,
                const Operand& other) {
  const auto* tensor = std::get_if<Tensor>(&operand.value);
  const DataType type = type_beside(other);
  if (!tensor || !is_float(type)) return operand;
  return expression.counted(*tensor, type);
}

/// Quotients of integers have fractions, which the op cuts off: no "/".
void require_floats(const Expression& expression, const Operand& operand) {
  const auto* tensor = std::get_if<Tensor>(&operand.value);
  if (!tensor || ((kFloat | kBoolean) & bit(tensor->data_type())) != 0) return;
  expression.quoting([&] {
    throw DTypeError(
        ErrorInfo{.what = "a quotient of integers is none",
                  .expected = names_of(kFloat),
                  .got = std::string(to_string(tensor->data_type())),
                  .hint = "Convert it with cast or astype()."});
  });
}

Tensor arithmetic(ArithmeticOperation operation, std::string symbol,
                  const Operand& given_x, const Operand& given_y) {
  Expression expression(std::string(to_string(operation)), {given_x, given_y},
                        std::move(symbol));
  if (operation == ArithmeticOperation::Divide) {
    for (const Operand* operand : {&given_x, &given_y}) {
      require_floats(expression, *operand);
    }
  }
  const Operand x = counted(expression, given_x, given_y);
  const Operand y = counted(expression, given_y, given_x);
  const bool is_reversed = std::holds_alternative<double>(x.value);
  const Operand& number = is_reversed ? x : y;
  if (const auto* value = std::get_if<double>(&number.value)) {
    const Tensor& tensor = std::get<Tensor>((is_reversed ? y : x).value);
    const auto line =
        find_line(operation, static_cast<float>(*value), is_reversed);
    if (line && is_float(tensor.data_type())) {
      return expression.result(OpKind::Activation, linear(*line), {tensor});
    }
  }
  const auto [left, right] = tensors_of(expression, x, y);
  return expression.result(OpKind::Binary, ArithmeticAttrs{operation},
                           {left, right});
}

Tensor comparison(ComparisonOperation operation, std::string symbol,
                  const Operand& x, const Operand& y) {
  Expression expression(std::string(to_string(operation)), {x, y},
                        std::move(symbol));
  const auto [left, right] = tensors_of(expression, x, y);
  return expression.result(OpKind::Compare, CompareAttrs{operation},
                           {left, right});
}

Tensor unary(ArithmeticOperation operation, const Tensor& x) {
  Expression expression(std::string(to_string(operation)), {x});
  return expression.result(OpKind::Unary, ArithmeticAttrs{operation}, {x});
}

Tensor activation(ActivationType type, const Tensor& x) {
  Expression expression(std::string(to_string(type)), {x});
  return expression.result(OpKind::Activation, ActivationAttrs{.type = type},
                           {x});
}

Tensor reduction(ReductionType type, const Tensor& x, const Shape& axes,
                 bool keepdims) {
  const std::string name(to_string(type));
  Expression expression(name, {x});
  const ReduceAttrs attrs{.type = type, .axes = expression.quoting([&] {
                            return resolve_axes(axes, x.shape().rank(),
                                                name.c_str(), {}, "axis");
                          })};
  const bool adds = type == ReductionType::Sum || type == ReductionType::Mean;
  const Tensor source = adds ? expression.counted(x, DataType::Float32) : x;
  if (keepdims || x.shape().rank() == 1) {
    return expression.result(OpKind::Reduce, attrs, {source});
  }
  const Tensor kept = expression.step(OpKind::Reduce, attrs, {source});
  const Shape rest =
      axes.empty() ? Shape{1} : without_axes(x.shape(), attrs.axes);
  return expression.result(OpKind::Reshape, ShapeAttrs{rest}, {kept});
}

}  // namespace

Tensor operator+(const Operand& x, const Operand& y) {
  return arithmetic(ArithmeticOperation::Add, "+", x, y);
}

Tensor operator-(const Operand& x, const Operand& y) {
  return arithmetic(ArithmeticOperation::Subtract, "-", x, y);
}

Tensor operator*(const Operand& x, const Operand& y) {
  return arithmetic(ArithmeticOperation::Multiply, "*", x, y);
}

Tensor operator/(const Operand& x, const Operand& y) {
  return arithmetic(ArithmeticOperation::Divide, "/", x, y);
}

Tensor operator-(const Tensor& x) {
  Expression expression("negate", {x});
  return expression.result(OpKind::Activation, linear({.a = -1}),
                           {expression.counted(x, DataType::Float32)});
}

Tensor pow(const Operand& x, const Operand& y) {
  const auto* base = std::get_if<Tensor>(&x.value);
  const auto* exponent = std::get_if<double>(&y.value);
  if (base && exponent) {  // NumPy, too, computes these otherwise
    if (*exponent == 2) return *base * *base;
    if (*exponent == 0.5) return sqrt(*base);
    if (*exponent == -1) return 1 / *base;
  }
  return arithmetic(ArithmeticOperation::Pow, "**", x, y);
}

Tensor matmul(const Tensor& x, const Tensor& y) {
  Expression expression("matmul", {x, y}, "@");
  const bool is_row = x.shape().rank() == 1, is_column = y.shape().rank() == 1;
  Tensor left = x, right = y;
  if (is_row) {
    left = expression.step(OpKind::Reshape, ShapeAttrs{{1, -1}}, {x});
  }
  if (is_column) {
    right = expression.step(OpKind::Reshape, ShapeAttrs{{-1, 1}}, {y});
  }
  if (!is_row && !is_column) {
    return expression.result(OpKind::MatMul, MatMulAttrs{}, {left, right});
  }
  const Tensor z =
      expression.step(OpKind::MatMul, MatMulAttrs{}, {left, right});
  const int rank = z.shape().rank();
  Shape dropped;
  if (is_row) dropped.push_back(rank - 2);
  if (is_column) dropped.push_back(rank - 1);
  return expression.result(OpKind::Reshape,
                           ShapeAttrs{without_axes(z.shape(), dropped)}, {z});
}

Tensor equal(const Operand& x, const Operand& y) {
  return comparison(ComparisonOperation::Equal, {}, x, y);
}

Tensor not_equal(const Operand& x, const Operand& y) {
  return comparison(ComparisonOperation::NotEqual, {}, x, y);
}

Tensor less(const Operand& x, const Operand& y) {
  return comparison(ComparisonOperation::Less, "<", x, y);
}

Tensor less_or_equal(const Operand& x, const Operand& y) {
  return comparison(ComparisonOperation::LessOrEqual, "<=", x, y);
}

Tensor greater(const Operand& x, const Operand& y) {
  return comparison(ComparisonOperation::Greater, ">", x, y);
}

Tensor greater_or_equal(const Operand& x, const Operand& y) {
  return comparison(ComparisonOperation::GreaterOrEqual, ">=", x, y);
}

Tensor abs(const Tensor& x) { return activation(ActivationType::Absolute, x); }
Tensor exp(const Tensor& x) { return unary(ArithmeticOperation::Exp, x); }
Tensor log(const Tensor& x) { return unary(ArithmeticOperation::Log, x); }
Tensor sqrt(const Tensor& x) { return unary(ArithmeticOperation::Sqrt, x); }
Tensor tanh(const Tensor& x) { return activation(ActivationType::Tanh, x); }
Tensor sigmoid(const Tensor& x) {
  return activation(ActivationType::Sigmoid, x);
}
Tensor relu(const Tensor& x) { return activation(ActivationType::ReLU, x); }

Tensor astype(const Tensor& x, DataType type) {
  Expression expression("astype", {x});
  return expression.result(OpKind::Cast, CastAttrs{type}, {x});
}

Tensor sum(const Tensor& x, const Shape& axes, bool keepdims) {
  return reduction(ReductionType::Sum, x, axes, keepdims);
}

Tensor mean(const Tensor& x, const Shape& axes, bool keepdims) {
  return reduction(ReductionType::Mean, x, axes, keepdims);
}

Tensor max(const Tensor& x, const Shape& axes, bool keepdims) {
  return reduction(ReductionType::Max, x, axes, keepdims);
}

Tensor min(const Tensor& x, const Shape& axes, bool keepdims) {
  return reduction(ReductionType::Min, x, axes, keepdims);
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  Expression expression("reshape", {x});
  return expression.result(OpKind::Reshape, ShapeAttrs{shape}, {x});
}

Tensor transpose(const Tensor& x, const Shape& axes) {
  Expression expression("transpose", {x});
  Shape order = axes;
  for (int axis = x.shape().rank() - 1; axes.empty() && axis >= 0; --axis) {
    order.push_back(axis);
  }
  return expression.result(OpKind::Transpose, TransposeAttrs{order}, {x});
}

}  // namespace traingraph
