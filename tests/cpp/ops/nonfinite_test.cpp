// SPDX-License-Identifier: MIT
// NaN, infinities, large and subnormal numbers through activations, their
// slopes and arithmetic, on every device: libm and the formulas in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <tuple>

#include "ops/case_program.h"

namespace traingraph::testing {
namespace {

using Function = double (*)(double);
using Doubles = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kSubnormal = 3e-39;
const Doubles kExtremes{kNaN,  kInfinity, -kInfinity, 1e4,         -1e4, 1e30,
                        -1e30, 30,        kSubnormal, -kSubnormal, 0.0,  -0.0,
                        1,     -1,        0.5,        -0.5,        12,   -12};

class NonFinite : public ::testing::Test {
 protected:
  /// The first result of an op on float32 vectors.
  Doubles run(OpKind op, const Attributes& attrs,
              const std::vector<Doubles>& inputs) {
    OpCase op_case{.op = op, .attrs = attrs};
    for (const Doubles& input : inputs) {
      const auto size = static_cast<std::int64_t>(input.size());
      op_case.inputs.push_back({{size}, values(input)});
    }
    const CaseProgram built = build(op_case);
    ProgramRun run(built.program, {built.results[0]});
    set_inputs(run, built);
    run.run();
    return get_tensor(run, built.program, built.results[0]).data;
  }

  void expect_values(const Doubles& got, const Doubles& x,
                     const std::function<double(double)>& f) {
    ASSERT_EQ(got.size(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      // The device sees the values so, and would round the result.
      const double at = static_cast<float>(x[i]);
      const double want = static_cast<float>(f(at));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(got[i])) << "at " << at << ": got " << got[i];
      } else if (std::isinf(want)) {
        EXPECT_EQ(got[i], want) << "at " << at;
      } else {
        const double tolerance = 5e-6 * std::max(1.0, std::abs(want));
        EXPECT_NEAR(got[i], want, tolerance) << "at " << at;
      }
    }
  }
};

TEST_F(NonFinite, UnaryOperationsAreLibm) {
  using enum ArithmeticOperation;
  const std::vector<std::pair<ArithmeticOperation, Function>> functions{
      {Floor, std::floor},
      {Round, std::nearbyint},
      {Ceil, std::ceil},
      {Sqrt, std::sqrt},
      {Rsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {Sin, std::sin},
      {Cos, std::cos},
      {Tan, std::tan},
      {Asin, std::asin},
      {Acos, std::acos},
      {Atan, std::atan},
      {Sinh, std::sinh},
      {Cosh, std::cosh},
      {Tanh, std::tanh},
      {Asinh, std::asinh},
      {Acosh, std::acosh},
      {Atanh, std::atanh},
      {Exp, std::exp},
      {Exp2, std::exp2},
      {Log, std::log},
      {Log2, std::log2},
  };
  for (const auto& [operation, f] : functions) {
    SCOPED_TRACE(to_string(operation));
    expect_values(run(OpKind::Unary, ArithmeticAttrs{operation}, {kExtremes}),
                  kExtremes, f);
  }
}

TEST_F(NonFinite, BinaryOperationsAreLibm) {
  using enum ArithmeticOperation;
  const auto min = [](double x, double y) {
    return std::isnan(x) || std::isnan(y) ? kNaN : std::min(x, y);
  };
  const auto max = [=](double x, double y) { return -min(-x, -y); };
  const std::vector<
      std::pair<ArithmeticOperation, std::function<double(double, double)>>>
      functions{
          {Add, std::plus<>()},
          {Subtract, std::minus<>()},
          {Multiply, std::multiplies<>()},
          {Divide, std::divides<>()},
          {Pow, [](double x, double y) { return std::pow(x, y); }},
          {MultiplyNoNaN,
           [](double x, double y) { return y == 0 ? 0 : x * y; }},
          {DivideNoNaN, [](double x, double y) { return y == 0 ? 0 : x / y; }},
          {Min, min},
          {Max, max},
      };
  for (const auto& [operation, f] : functions) {
    for (double x : kExtremes) {
      SCOPED_TRACE(std::string(to_string(operation)) + " of " +
                   std::to_string(x));
      const Doubles same(kExtremes.size(), x);
      const double left = static_cast<float>(x);
      expect_values(
          run(OpKind::Binary, ArithmeticAttrs{operation}, {same, kExtremes}),
          kExtremes, [&](double y) { return f(left, y); });
    }
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) {
  return std::isnan(x) ? x
                       : std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}
double clamp(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}
double normal_share(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}
double gelu(double x) { return x == -kInfinity ? 0 : x * normal_share(x); }
double gelu_slope(double x) {
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  return normal_share(x) + x * density;
}
constexpr double kTanhScale = 0.7978845608028654, kCubic = 0.044715;
double tanh_share(double x) {
  return sigmoid(2 * kTanhScale * (x + kCubic * x * x * x));
}
double gelu_tanh(double x) { return x == -kInfinity ? 0 : x * tanh_share(x); }
double gelu_tanh_slope(double x) {
  const double s = tanh_share(x);
  const double inner = 2 * kTanhScale * (1 + 3 * kCubic * x * x);
  return s + x * s * (1 - s) * inner;
}

using enum ActivationType;

struct ActivationCase {
  ActivationAttrs attrs;
  Function value;
  Function slope = nullptr;  // of those that are not constant in pieces
};

constexpr double kScale = 1.0507009873554805, kAlpha = 1.6732632423543772;

const std::vector<ActivationCase> kActivations{
    {{None}, [](double x) { return x; }},
    {{ReLU, 0}, [](double x) { return x < 0 ? 0 : x; }},
    {{ReLU, 0.25f}, [](double x) { return x < 0 ? 0.25 * x : x; }},
    {{Linear, 2, 3}, [](double x) { return 2 * x + 3; }},
    {{Sigmoid},
     sigmoid,
     [](double x) { return sigmoid(x) * (1 - sigmoid(x)); }},
    {{HardSigmoid, 0.25f, 0.5f},
     [](double x) { return clamp(0.25 * x + 0.5, 0, 1); }},
    {{Tanh, 1, 1},
     [](double x) { return std::tanh(x); },
     [](double x) { return 1 - std::tanh(x) * std::tanh(x); }},
    {{Tanh, 2, 0.5f},
     [](double x) { return 2 * std::tanh(x / 2); },
     [](double x) { return 1 - std::tanh(x / 2) * std::tanh(x / 2); }},
    {{Absolute}, [](double x) { return std::abs(x); }},
    {{SoftPlus, 1, 1}, softplus, sigmoid},
    {{SoftPlus, 0.5f, 2},
     [](double x) { return softplus(2 * x) / 2; },
     [](double x) { return sigmoid(2 * x); }},
    {{SoftSign},
     [](double x) { return x / (1 + std::abs(x)); },
     [](double x) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); }},
    {{ELU, 0.5f},
     [](double x) { return x > 0 ? x : std::expm1(x) / 2; },
     [](double x) { return x > 0 ? 1 : std::exp(x) / 2; }},
    {{ReLUN, 0.25f, 6},
     [](double x) { return x < 0   ? 0.25 * x
                           : x > 6 ? 6
                                   : x; }},
    {{LogSigmoid},
     [](double x) { return -softplus(-x); },
     [](double x) { return sigmoid(-x); }},
    {{SELU},
     [](double x) { return kScale * (x > 0 ? x : kAlpha * std::expm1(x)); },
     [](double x) { return kScale * (x > 0 ? 1 : kAlpha * std::exp(x)); }},
    {{CELU, 2},
     [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); },
     [](double x) { return x > 0 ? 1 : std::exp(x / 2); }},
    {{HardShrink, 0.75f}, [](double x) { return std::abs(x) > 0.75 ? x : 0; }},
    {{SoftShrink, 0.75f},
     [](double x) {
       return std::abs(x) > 0.75 ? x - std::copysign(0.75, x) : 0;
     }},
    {{TanhShrink},
     [](double x) { return x - std::tanh(x); },
     [](double x) { return std::tanh(x) * std::tanh(x); }},
    {{Threshold, 0.75f, 6}, [](double x) { return x > 0.75 ? x : 6; }},
    {{GELU}, gelu, gelu_slope},
    {{HardSwish},
     [](double x) { return x * clamp(x + 3, 0, 6) / 6; },
     [](double x) { return x <= -3  ? 0
                           : x >= 3 ? 1
                                    : (2 * x + 3) / 6; }},
    {{Clamp, -0.75f, 6}, [](double x) { return clamp(x, -0.75, 6); }},
    {{GELUTanh}, gelu_tanh, gelu_tanh_slope},
    {{SiLU},
     [](double x) { return x == -kInfinity ? 0 : x * sigmoid(x); },
     [](double x) {
       return std::isinf(x) ? sigmoid(x)
                            : sigmoid(x) * (1 + x * (1 - sigmoid(x)));
     }},
    {{Mish},
     [](double x) { return x == -kInfinity ? 0 : x * std::tanh(softplus(x)); },
     [](double x) {
       const double t = std::tanh(softplus(x));
       return std::isinf(x) ? t : t + x * (1 - t * t) * sigmoid(x);
     }},
};

bool is_gelu(ActivationType type) { return type == GELU || type == GELUTanh; }

TEST_F(NonFinite, ActivationsFollowTheirFormulas) {
  for (const auto& [attrs, value, slope] : kActivations) {
    SCOPED_TRACE(to_string(attrs.type));
    Doubles x = kExtremes;
    // NaN, as docs/differences.md says.
    if (is_gelu(attrs.type) && test_device_type() == DeviceType::GPU) {
      std::erase(x, -kInfinity);
    }
    expect_values(run(OpKind::Activation, attrs, {x}), x, value);
  }
}

TEST_F(NonFinite, SlopesFollowTheirFormulas) {
  for (const auto& [attrs, value, slope] : kActivations) {
    if (slope == nullptr) continue;
    SCOPED_TRACE(to_string(attrs.type));
    Doubles x = kExtremes;
    if (is_gelu(attrs.type)) {  // likewise
      std::erase_if(x, [](double each) { return std::abs(each) > 1e4; });
    }
    const Doubles twos(x.size(), 2);
    const auto f = slope;
    expect_values(run(OpKind::ActivationGradient, attrs, {twos, x}), x,
                  [=](double at) { return 2 * f(at); });
  }
}

TEST_F(NonFinite, ASideOfTheLogLossWithoutLabelAddsNothing) {
  // 0 log 0 is 0, and so is its slope; what is wrong for certain is infinite.
  const LossAttrs attrs{
      .type = LossType::Log, .reduction = ReductionType::None, .epsilon = 0};
  const Doubles y{0, 1, 0, 1, 0.5, kNaN}, t{0, 1, 1, 0, 1, 0};
  const Doubles values{0, 0, kInfinity, kInfinity, std::numbers::ln2, kNaN};
  const Doubles slopes{1, -1, -kInfinity, kInfinity, -2, kNaN};
  const Doubles ones(y.size(), 1);
  const Doubles got = run(OpKind::Loss, attrs, {y, t});
  const Doubles gradient = run(OpKind::LossGradient, attrs, {ones, y, t});
  for (std::size_t i = 0; i + 1 < y.size(); ++i) {
    EXPECT_FLOAT_EQ(got[i], values[i]) << i;
    EXPECT_FLOAT_EQ(gradient[i], slopes[i]) << i;
  }
  EXPECT_TRUE(std::isnan(got.back()));
  EXPECT_TRUE(std::isnan(gradient.back()));
}

TEST_F(NonFinite, ANaNReachesAllOfASoftmax) {
  for (auto operation :
       {SoftmaxOperation::Softmax, SoftmaxOperation::LogSoftmax}) {
    const SoftmaxAttrs attrs{operation, 0};
    for (int at : {0, 7, 36}) {
      Doubles x(37, 0.5);
      x[at] = kNaN;
      for (double y : run(OpKind::Softmax, attrs, {x})) {
        EXPECT_TRUE(std::isnan(y)) << at;
      }
    }
  }
}

TEST_F(NonFinite, ANormThatIsNaNClipsToNaN) {
  const Doubles clips{0.05, 0.03, 1, 0}, does_not_clip{0.05, 0.03, 0, 0};
  const ClipScaleAttrs attrs{.maximum_norm = 1};
  const auto scale = [&](const Doubles& hyperparameters, double square) {
    return run(OpKind::ClipScale, attrs, {hyperparameters, {4}, {square}})[0];
  };
  EXPECT_TRUE(std::isnan(scale(clips, kNaN)));
  EXPECT_EQ(scale(clips, kInfinity), 0);
  EXPECT_EQ(scale(does_not_clip, kNaN), 1);
}

}  // namespace
}  // namespace traingraph::testing
