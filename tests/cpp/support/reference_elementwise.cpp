// SPDX-License-Identifier: MIT
// Reference of the elementwise family.
#include <cmath>
#include <limits>
#include <numbers>

#include "formulas/random.h"
#include "ops/elementwise_parameters.h"
#include "support/reference_families.h"

namespace traingraph::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double activation(const ActivationAttrs& attrs, double x) {
  const double a = attrs.a;
  const double b = attrs.b;
  switch (attrs.type) {
    case ActivationType::None:
      return x;
    case ActivationType::ReLU:
      return x >= 0 ? x : a * x;
    case ActivationType::Linear:
      return a * x + b;
    case ActivationType::Sigmoid:
      return 1 / (1 + std::exp(-x));
    case ActivationType::HardSigmoid:
      return std::fmin(std::fmax(a * x + b, 0), 1);
    case ActivationType::Tanh:
      return a * std::tanh(b * x);
    case ActivationType::Absolute:
      return std::abs(x);
    case ActivationType::SoftPlus: {
      // ln(1 + e^z) without overflow.
      const double z = b * x;
      return a * (std::fmax(z, 0) + std::log1p(std::exp(-std::abs(z))));
    }
    case ActivationType::SoftSign:
      return x / (1 + std::abs(x));
    case ActivationType::ELU:
      return x >= 0 ? x : a * std::expm1(x);
    case ActivationType::ReLUN:
      return std::fmin(x >= 0 ? x : a * x, b);
    case ActivationType::LogSigmoid:
      return std::fmin(x, 0) - std::log1p(std::exp(-std::abs(x)));
    case ActivationType::SELU:
      return 1.0507009873554805 *
             (x >= 0 ? x : 1.6732632423543772 * std::expm1(x));
    case ActivationType::CELU:
      return std::fmax(0, x) + std::fmin(0, a * std::expm1(x / a));
    case ActivationType::HardShrink:
      return std::abs(x) > a ? x : 0;
    case ActivationType::SoftShrink:
      return x > a ? x - a : x < -a ? x + a : 0;
    case ActivationType::TanhShrink:
      return x - std::tanh(x);
    case ActivationType::Threshold:
      return x > a ? x : b;
    case ActivationType::GELU:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case ActivationType::HardSwish:
      return x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6;
    case ActivationType::Clamp:
      return std::fmin(std::fmax(x, a), b);
    case ActivationType::GELUTanh: {
      const double scale = std::sqrt(2 / std::numbers::pi);
      return 0.5 * x * (1 + std::tanh(scale * (x + 0.044715 * x * x * x)));
    }
    case ActivationType::SiLU:
      return x / (1 + std::exp(-x));
    case ActivationType::Mish:
      return x * std::tanh(std::log1p(std::exp(x)));
  }
  return kNaN;
}

double apply_unary(ArithmeticOperation operation, double x) {
  switch (operation) {
    case ArithmeticOperation::Floor:
      return std::floor(x);
    case ArithmeticOperation::Round:
      return std::nearbyint(x);  // ties to even
    case ArithmeticOperation::Ceil:
      return std::ceil(x);
    case ArithmeticOperation::Sqrt:
      return std::sqrt(x);
    case ArithmeticOperation::Rsqrt:
      return 1 / std::sqrt(x);
    case ArithmeticOperation::Sin:
      return std::sin(x);
    case ArithmeticOperation::Cos:
      return std::cos(x);
    case ArithmeticOperation::Tan:
      return std::tan(x);
    case ArithmeticOperation::Asin:
      return std::asin(x);
    case ArithmeticOperation::Acos:
      return std::acos(x);
    case ArithmeticOperation::Atan:
      return std::atan(x);
    case ArithmeticOperation::Sinh:
      return std::sinh(x);
    case ArithmeticOperation::Cosh:
      return std::cosh(x);
    case ArithmeticOperation::Tanh:
      return std::tanh(x);
    case ArithmeticOperation::Asinh:
      return std::asinh(x);
    case ArithmeticOperation::Acosh:
      return std::acosh(x);
    case ArithmeticOperation::Atanh:
      return std::atanh(x);
    case ArithmeticOperation::Exp:
      return std::exp(x);
    case ArithmeticOperation::Exp2:
      return std::exp2(x);
    case ArithmeticOperation::Log:
      return std::log(x);
    case ArithmeticOperation::Log2:
      return std::log2(x);
    case ArithmeticOperation::Erf:
      return std::erf(x);
    default:
      return kNaN;
  }
}

double apply_binary(ArithmeticOperation operation, double x, double y) {
  switch (operation) {
    case ArithmeticOperation::Add:
      return x + y;
    case ArithmeticOperation::Subtract:
      return x - y;
    case ArithmeticOperation::Multiply:
      return x * y;
    case ArithmeticOperation::Divide:
      return x / y;
    case ArithmeticOperation::Pow:
      return std::pow(x, y);
    case ArithmeticOperation::MultiplyNoNaN:
      return y == 0 ? 0 : x * y;
    case ArithmeticOperation::DivideNoNaN:
      return y == 0 ? 0 : x / y;
    case ArithmeticOperation::Min:
      return x < y || std::isnan(x) ? x : y;
    case ArithmeticOperation::Max:
      return x > y || std::isnan(x) ? x : y;
    default:
      return kNaN;
  }
}

bool apply_compare(ComparisonOperation operation, double x, double y) {
  const bool p = x != 0;
  const bool q = y != 0;
  switch (operation) {
    case ComparisonOperation::Equal:
      return x == y;
    case ComparisonOperation::NotEqual:
      return x != y;
    case ComparisonOperation::Less:
      return x < y;
    case ComparisonOperation::Greater:
      return x > y;
    case ComparisonOperation::LessOrEqual:
      return x <= y;
    case ComparisonOperation::GreaterOrEqual:
      return x >= y;
    case ComparisonOperation::LogicalAND:
      return p && q;
    case ComparisonOperation::LogicalOR:
      return p || q;
    case ComparisonOperation::LogicalNAND:
      return !(p && q);
    case ComparisonOperation::LogicalNOR:
      return !(p || q);
    case ComparisonOperation::LogicalXOR:
      return p != q;
    case ComparisonOperation::LogicalNOT:
      break;
  }
  return false;
}

double convert(double x, DataType type) {
  switch (type) {
    case DataType::Float32:
    case DataType::Float16:
    case DataType::BFloat16:
      return x;  // rounding is the device's error
    case DataType::Boolean:
      return x != 0;
    default:
      return std::trunc(x);
  }
}

RefTensor map(const RefTensor& x, const std::function<double(double)>& f) {
  RefTensor y = x;
  for (double& element : y.data) element = f(element);
  return y;
}

RefTensor map(const RefTensor& x, const RefTensor& y,
              const std::function<double(double, double)>& f) {
  RefTensor z = zeros(broadcast(x.shape, y.shape));
  for_each_position(z.shape, [&](const Shape& at) {
    z(at) = f(read_broadcast(x, at), read_broadcast(y, at));
  });
  return z;
}

/// The 32-bit word behind a signed element.
std::uint32_t word(const RefTensor& state, std::size_t i) {
  return static_cast<std::uint32_t>(
      static_cast<std::int64_t>(state.data.at(i)));
}

std::uint64_t words(const RefTensor& state, std::size_t low) {
  return word(state, low) | std::uint64_t{word(state, low + 1)} << 32;
}

}  // namespace

double activate(const ActivationAttrs& given, double x) {
  return activation(with_defaults(given), x);
}

RefTensors reference_activation(const ActivationAttrs& given, RefTensors& in) {
  const ActivationAttrs attrs = with_defaults(given);
  return {map(in[0], [&](double x) { return activation(attrs, x); })};
}

RefTensors reference_activation_gradient(const ActivationAttrs& given,
                                         RefTensors& in) {
  const ActivationAttrs attrs = with_defaults(given);
  return {map(in[0], in[1], [&](double gradient, double x) {
    const double step = difference_step(x);
    return gradient *
           (activation(attrs, x + step) - activation(attrs, x - step)) /
           (2 * step);
  })};
}

RefTensors reference_unary(const ArithmeticAttrs& attrs, RefTensors& in) {
  return {
      map(in[0], [&](double x) { return apply_unary(attrs.operation, x); })};
}

RefTensors reference_binary(const ArithmeticAttrs& attrs, RefTensors& in) {
  return {map(in[0], in[1], [&](double x, double y) {
    return apply_binary(attrs.operation, x, y);
  })};
}

RefTensors reference_compare(const CompareAttrs& attrs, RefTensors& in) {
  return {map(in[0], in[1], [&](double x, double y) {
    return apply_compare(attrs.operation, x, y);
  })};
}

RefTensors reference_logical_not(const NoAttrs&, RefTensors& in) {
  return {map(in[0], [](double x) { return x == 0; })};
}

RefTensors reference_select(const NoAttrs&, RefTensors& in) {
  RefTensor z =
      zeros(broadcast(broadcast(in[0].shape, in[1].shape), in[2].shape));
  for_each_position(z.shape, [&](const Shape& at) {
    z(at) = read_broadcast(read_broadcast(in[0], at) != 0 ? in[1] : in[2], at);
  });
  return {z};
}

RefTensors reference_cast(const CastAttrs& attrs, RefTensors& in) {
  return {map(in[0], [&](double x) { return convert(x, attrs.data_type); })};
}

RefTensors reference_fill(const FillAttrs& attrs, RefTensors&) {
  return {filled(attrs.shape, convert(attrs.value, attrs.data_type))};
}

RefTensors reference_dropout(const DropoutAttrs& attrs, RefTensors& in) {
  const std::uint64_t seed = attrs.seed != 0
                                 ? static_cast<std::uint64_t>(attrs.seed)
                                 : words(in[1], 0);
  const std::uint64_t step = words(in[1], 2);
  const auto stream = static_cast<std::uint32_t>(attrs.stream);
  const double scale = 1.0f / (1.0f - attrs.rate);
  RefTensor y = in[0];
  for (std::size_t i = 0; i < y.data.size(); ++i) {
    const auto block = formulas::dropout_block({seed, step, stream}, i / 4);
    const float drawn = formulas::to_unit_float(block.words[i % 4]);
    y.data[i] = drawn >= attrs.rate ? y.data[i] * scale : 0;
  }
  return {y};
}

RefTensors reference_stop_gradient(const NoAttrs&, RefTensors& in) {
  return {in[0]};
}

}  // namespace traingraph::testing
