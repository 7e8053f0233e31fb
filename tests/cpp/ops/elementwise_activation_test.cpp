// SPDX-License-Identifier: MIT
// Activations and their slopes against double over the whole range of floats: a
// formula that cancels near 0, near its kink or in its tail shows here.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

using enum ActivationType;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double soft_plus(double x) {
  return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}
double normal_share(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}
double gelu_slope(double x) {
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  return normal_share(x) + x * density;
}
double tanh_inner(double x) {
  return 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}
double gelu_tanh_slope(double x) {
  const double inner =
      std::sqrt(2 / std::numbers::pi) * 2 * (1 + 3 * 0.044715 * x * x);
  const double share = sigmoid(tanh_inner(x));
  return share + x * share * sigmoid(-tanh_inner(x)) * inner;
}
double tanh_shrink(double x) {
  if (std::fabs(x) > 0.02) return x - std::tanh(x);
  const double square = x * x;
  return x * square * (1 / 3.0 - square * (2 / 15.0 - square * 17 / 315.0));
}
double square(double x) { return x * x; }
double silu_slope(double x) { return sigmoid(x) * (1 + x * sigmoid(-x)); }
double mish_slope(double x) {
  const double t = std::tanh(soft_plus(x));
  return t + x * (1 - t) * (1 + t) * sigmoid(x);
}

struct Curve {
  ActivationAttrs attrs;
  double (*value)(double);
  double (*slope)(double);
  // How far off value and slope may be besides 6 units in the last place.
  double value_error = 0, slope_error = 0;
};

// What oneDNN computes cancels where PyTorch's formula does: slopes are made of
// the rounded result, y (1 - y) and 1 - y^2, and GELU's tail of a rounded 1 +
// erf(x) or 1 + tanh(x). These are PyTorch 2.13's largest errors at
// such points, doubled (GELUTanh's value: 7.0e-8, and a tenth).
constexpr double kSigmoidSlope = 2 * 8.0e-8, kTanhSlope = 2 * 5.4e-8,
                 kGelu = 2 * 7.6e-7, kGeluSlope = 2 * 9.7e-8,
                 kGeluTanh = 2 * 7.6e-8, kGeluTanhSlope = 2 * 5.0e-7;
// Half a unit in the last place of the tanh that x has left at 0.5.
constexpr double kTanhShrink = 3.0e-8;
// Two terms cancel where a slope crosses 0: two roundings of about a half.
constexpr double kCrossing = 6.0e-8;

const Curve kCurves[] = {
    {{Sigmoid},
     sigmoid,
     [](double x) { return sigmoid(x) * sigmoid(-x); },
     0,
     kSigmoidSlope},
    {{Tanh, 1, 1},
     [](double x) { return std::tanh(x); },
     [](double x) { return 1 / square(std::cosh(x)); },
     0,
     kTanhSlope},
    {{Tanh, 2, 0.5f},
     [](double x) { return 2 * std::tanh(x / 2); },
     [](double x) { return 1 / square(std::cosh(x / 2)); },
     0,
     kTanhSlope},
    {{SoftPlus, 1, 1}, soft_plus, sigmoid},
    {{LogSigmoid},
     [](double x) { return -soft_plus(-x); },
     [](double x) { return sigmoid(-x); }},
    {{SoftSign},
     [](double x) { return x / (1 + std::fabs(x)); },
     [](double x) { return 1 / square(1 + std::fabs(x)); }},
    {{ELU, 0.5f},
     [](double x) { return x > 0 ? x : std::expm1(x) / 2; },
     [](double x) { return x > 0 ? 1 : std::exp(x) / 2; }},
    {{SELU},
     [](double x) {
       return 1.0507009873554805 *
              (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
     },
     [](double x) {
       return 1.0507009873554805 *
              (x > 0 ? 1 : 1.6732632423543772 * std::exp(x));
     }},
    {{CELU, 2},
     [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); },
     [](double x) { return x > 0 ? 1 : std::exp(x / 2); }},
    {{GELU},
     [](double x) { return x * normal_share(x); },
     gelu_slope,
     kGelu,
     kGeluSlope},
    {{GELUTanh},
     [](double x) { return x * sigmoid(tanh_inner(x)); },
     gelu_tanh_slope,
     kGeluTanh,
     kGeluTanhSlope},
    {{SiLU}, [](double x) { return x * sigmoid(x); }, silu_slope, 0, kCrossing},
    {{Mish},
     [](double x) { return x * std::tanh(soft_plus(x)); },
     mish_slope,
     0,
     kCrossing},
    {{TanhShrink},
     tanh_shrink,
     [](double x) { return square(std::tanh(x)); },
     kTanhShrink},
    {{HardSwish},
     [](double x) { return x <= -3  ? 0
                           : x >= 3 ? x
                                    : x * (x + 3) / 6; },
     [](double x) { return x <= -3  ? 0
                           : x >= 3 ? 1
                                    : (2 * x + 3) / 6; }},
    {{HardSigmoid, 0.25f, 0.5f},
     [](double x) { return std::fmin(std::fmax(x / 4 + 0.5, 0), 1); },
     [](double x) { return std::fabs(x) < 2 ? 0.25 : 0; }},
};

class ActivationAccuracy : public ::testing::TestWithParam<Curve> {};

/// 32 floats per power of two and sign, where no result is subnormal.
Values points() {
  Values x;
  for (int exponent = -60; exponent <= 7; ++exponent) {
    for (int i = 0; i < 32; ++i) {
      const double each = std::ldexp(1 + (i + 0.37) / 32, exponent);
      if (each > 80) continue;
      x.push_back(static_cast<float>(each));
      x.push_back(-static_cast<float>(each));
    }
  }
  return x;
}

void expect_digits(const Values& x, const Values& got, double (*f)(double),
                   double error, const char* what) {
  constexpr double kUnits = 6 * 1.2e-7;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = f(x[i]);
    ASSERT_LE(std::fabs(got[i] - expected),
              kUnits * std::fabs(expected) + error)
        << what << " at " << x[i] << ": expected " << expected << ", got "
        << got[i];
  }
}

TEST_P(ActivationAccuracy, KeepsItsDigits) {
  const Curve& curve = GetParam();
  const Values x = points();
  const auto n = static_cast<std::int64_t>(x.size());
  OpRun value(OpKind::Activation, curve.attrs);
  value.input({n}, x).run();
  expect_digits(x, value.result(), curve.value, curve.value_error, "value");
  OpRun slope(OpKind::ActivationGradient, curve.attrs);
  slope.input({n}, Values(n, 1)).input({n}, x).run();
  expect_digits(x, slope.result(), curve.slope, curve.slope_error, "slope");
}

std::string name_of(const ::testing::TestParamInfo<Curve>& info) {
  return std::string(to_string(info.param.attrs.type)) + "_" +
         std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(All, ActivationAccuracy, ::testing::ValuesIn(kCurves),
                         name_of);

}  // namespace
}  // namespace traingraph::testing
