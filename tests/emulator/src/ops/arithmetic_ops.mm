// SPDX-License-Identifier: MIT
// Elementwise arithmetic, comparisons, logic and selection: one row each.
#include <cmath>

#include "../arithmetic/elementwise.h"
#include "checks.h"

using namespace emulator;

namespace {

MPSGraphTensor* add_unary(MPSGraph* graph, const char* op, NSString* name,
                          MPSGraphTensor* tensor, Elements elements,
                          bool is_bool_result, Unary compute) {
  Type type = operand(graph, op, tensor, elements);
  if (is_bool_result) type.data_type = MPSDataTypeBool;
  return add_operation(graph, op, name, inputs_of(op, {tensor}), type,
                       unary(compute));
}

MPSGraphTensor* add_binary(MPSGraph* graph, const char* op, NSString* name,
                           MPSGraphTensor* primary, MPSGraphTensor* secondary,
                           Elements elements, bool is_bool_result,
                           Binary compute) {
  NSArray* inputs = inputs_of(op, {primary, secondary});
  const auto types = operands(graph, op, inputs, elements);
  Type result{types[0].data_type, broadcast_shape(op, types)};
  if (is_bool_result) result.data_type = MPSDataTypeBool;
  return add_operation(graph, op, name, inputs, result, binary(compute));
}

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double floor_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
double minimum_with_nan(double a, double b) {
  return std::isnan(a) || a < b ? a : b;
}
double maximum_with_nan(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

}  // namespace

#define UNARY(op, elements, is_bool, expression)                           \
  -(MPSGraphTensor*)op##WithTensor : (MPSGraphTensor*)tensor name          \
      : (NSString*)name {                                                  \
    return add_unary(self, #op, name, tensor, Elements::elements, is_bool, \
                     [](double x) -> double { return expression; });       \
  }
#define BINARY(op, elements, is_bool, expression)                         \
  -(MPSGraphTensor*)op##WithPrimaryTensor                                 \
      : (MPSGraphTensor*)primary secondaryTensor                          \
      : (MPSGraphTensor*)secondary name : (NSString*)name {               \
    return add_binary(                                                    \
        self, #op, name, primary, secondary, Elements::elements, is_bool, \
        [](double a, double b) -> double { return expression; });         \
  }
@implementation MPSGraph (MPSGraphArithmeticOps)

// clang-format off
UNARY(identity, kAny, false, x)
UNARY(exponent, kFloat, false, std::exp(x))
UNARY(exponentBase2, kFloat, false, std::exp2(x))
UNARY(exponentBase10, kFloat, false, std::pow(10.0, x))
UNARY(logarithm, kFloat, false, std::log(x))
UNARY(logarithmBase2, kFloat, false, std::log2(x))
UNARY(logarithmBase10, kFloat, false, std::log10(x))
UNARY(square, kNumber, false, x * x)
UNARY(squareRoot, kFloat, false, std::sqrt(x))
UNARY(reverseSquareRoot, kFloat, false, 1 / std::sqrt(x))
UNARY(reciprocal, kFloat, false, 1 / x)
UNARY(absolute, kNumber, false, std::fabs(x))
UNARY(negative, kNumber, false, -x)
UNARY(sign, kNumber, false, sign(x))
UNARY(signbit, kNumber, true, std::signbit(x))
UNARY(ceil, kNumber, false, std::ceil(x))
UNARY(floor, kNumber, false, std::floor(x))
UNARY(round, kNumber, false, std::round(x))
UNARY(rint, kNumber, false, std::nearbyint(x))
UNARY(truncate, kNumber, false, std::trunc(x))
UNARY(sin, kFloat, false, std::sin(x))
UNARY(cos, kFloat, false, std::cos(x))
UNARY(tan, kFloat, false, std::tan(x))
UNARY(sinh, kFloat, false, std::sinh(x))
UNARY(cosh, kFloat, false, std::cosh(x))
UNARY(tanh, kFloat, false, std::tanh(x))
UNARY(asin, kFloat, false, std::asin(x))
UNARY(acos, kFloat, false, std::acos(x))
UNARY(atan, kFloat, false, std::atan(x))
UNARY(asinh, kFloat, false, std::asinh(x))
UNARY(acosh, kFloat, false, std::acosh(x))
UNARY(atanh, kFloat, false, std::atanh(x))
UNARY(not, kBool, true, x == 0)
UNARY(isInfinite, kFloat, true, std::isinf(x))
UNARY(isFinite, kFloat, true, std::isfinite(x))
UNARY(isNaN, kFloat, true, std::isnan(x))
UNARY(erf, kFloat, false, std::erf(x))

BINARY(addition, kNumber, false, a + b)
BINARY(subtraction, kNumber, false, a - b)
BINARY(multiplication, kNumber, false, a * b)
BINARY(division, kNumber, false, a / b)
BINARY(divisionNoNaN, kNumber, false, b == 0 ? 0 : a / b)
BINARY(modulo, kNumber, false, std::fmod(a, b))
BINARY(floorModulo, kNumber, false, floor_modulo(a, b))
BINARY(power, kNumber, false, std::pow(a, b))
BINARY(minimum, kNumber, false, std::fmin(a, b))
BINARY(maximum, kNumber, false, std::fmax(a, b))
BINARY(minimumWithNaNPropagation, kNumber, false, minimum_with_nan(a, b))
BINARY(maximumWithNaNPropagation, kNumber, false, maximum_with_nan(a, b))
BINARY(atan2, kFloat, false, std::atan2(a, b))
BINARY(equal, kAny, true, a == b)
BINARY(notEqual, kAny, true, a != b)
BINARY(lessThan, kNumber, true, a < b)
BINARY(lessThanOrEqualTo, kNumber, true, a <= b)
BINARY(greaterThan, kNumber, true, a > b)
BINARY(greaterThanOrEqualTo, kNumber, true, a >= b)
BINARY(logicalAND, kBool, true, a != 0 && b != 0)
BINARY(logicalOR, kBool, true, a != 0 || b != 0)
BINARY(logicalNAND, kBool, true, !(a != 0 && b != 0))
BINARY(logicalNOR, kBool, true, !(a != 0 || b != 0))
BINARY(logicalXOR, kBool, true, (a != 0) != (b != 0))
BINARY(logicalXNOR, kBool, true, (a != 0) == (b != 0))
// clang-format on

- (MPSGraphTensor*)selectWithPredicateTensor:(MPSGraphTensor*)predicate
                         truePredicateTensor:(MPSGraphTensor*)on_true
                        falsePredicateTensor:(MPSGraphTensor*)on_false
                                        name:(NSString*)name {
  const char* op = "select";
  NSArray* inputs = inputs_of(op, {predicate, on_true, on_false});
  auto types = operands(self, op, inputs_of(op, {on_true, on_false}));
  const std::uint32_t data_type = types[0].data_type;
  types.push_back(operand(self, op, predicate, Elements::kBool));
  return add_operation(
      self, op, name, inputs, Type{data_type, broadcast_shape(op, types)},
      elementwise([](const double* x) { return x[0] != 0 ? x[1] : x[2]; }));
}

- (MPSGraphTensor*)clampWithTensor:(MPSGraphTensor*)tensor
                    minValueTensor:(MPSGraphTensor*)min
                    maxValueTensor:(MPSGraphTensor*)max
                              name:(NSString*)name {
  const char* op = "clamp";
  NSArray* inputs = inputs_of(op, {tensor, min, max});
  const auto types = operands(self, op, inputs, Elements::kNumber);
  return add_operation(self, op, name, inputs,
                       Type{types[0].data_type, broadcast_shape(op, types)},
                       elementwise([](const double* x) {
                         return std::fmin(std::fmax(x[0], x[1]), x[2]);
                       }));
}

@end
