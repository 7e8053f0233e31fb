// SPDX-License-Identifier: MIT
// Element-wise kernels against formulas in double precision: activations with
// slopes by central differences, broadcasting, casts, dropout.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.h"
#include "cpu/kernel_case.h"
#include "support/run_op.h"

namespace traingraph::testing {
namespace {

struct ActivationCase {
  ActivationAttrs attrs;
  std::function<double(double)> f;
};

double softplus(double x) { return std::log1p(std::exp(x)); }
double clamp(double x, double a, double b) {
  return std::min(std::max(x, a), b);
}

std::vector<ActivationCase> activation_cases() {
  using enum ActivationType;
  const double s = 1.0507009873554805, alpha = 1.6732632423543772;
  return {
      {{None}, [](double x) { return x; }},
      {{ReLU, 0}, [](double x) { return x > 0 ? x : 0; }},
      {{ReLU, 0.3f}, [](double x) { return x > 0 ? x : 0.3f * x; }},
      {{Linear, 2, 3}, [](double x) { return 2 * x + 3; }},
      {{Sigmoid}, [](double x) { return 1 / (1 + std::exp(-x)); }},
      {{HardSigmoid, 0.2f, 0.5f},
       [](double x) { return clamp(0.2f * x + 0.5, 0, 1); }},
      {{Tanh, 1, 1}, [](double x) { return std::tanh(x); }},
      {{Tanh, 1.5f, 0.5f}, [](double x) { return 1.5 * std::tanh(0.5 * x); }},
      {{Absolute}, [](double x) { return std::fabs(x); }},
      {{SoftPlus, 1, 1}, softplus},
      {{SoftPlus, 0.5f, 2}, [](double x) { return 0.5 * softplus(2 * x); }},
      {{SoftPlus, 3, 2}, [](double x) { return 3 * softplus(2 * x); }},
      {{SoftSign}, [](double x) { return x / (1 + std::fabs(x)); }},
      {{ELU, 0.7f}, [](double x) { return x > 0 ? x : 0.7f * std::expm1(x); }},
      {{ReLUN, 0.1f, 1},
       [](double x) { return std::min(x > 0 ? x : 0.1f * x, 1.0); }},
      {{LogSigmoid}, [](double x) { return -softplus(-x); }},
      {{SELU},
       [=](double x) { return s * (x > 0 ? x : alpha * std::expm1(x)); }},
      {{CELU, 2}, [](double x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
      {{HardShrink, 0.5f}, [](double x) { return std::fabs(x) > 0.5 ? x : 0; }},
      {{SoftShrink, 0.5f},
       [](double x) { return x > 0.5    ? x - 0.5
                             : x < -0.5 ? x + 0.5
                                        : 0; }},
      {{TanhShrink}, [](double x) { return x - std::tanh(x); }},
      {{Threshold, 0.25f, -1}, [](double x) { return x > 0.25 ? x : -1; }},
      {{GELU},
       [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {{HardSwish}, [](double x) { return x * clamp(x + 3, 0, 6) / 6; }},
      {{Clamp, -1, 0.5f}, [](double x) { return clamp(x, -1, 0.5); }},
      {{GELUTanh},
       [](double x) {
         const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
         return x / 2 * (1 + std::tanh(inner));
       }},
      {{SiLU}, [](double x) { return x / (1 + std::exp(-x)); }},
      {{Mish}, [](double x) { return x * std::tanh(softplus(x)); }},
  };
}

class ActivationKernel : public ::testing::TestWithParam<int> {};

// Channels: 5 pads a blocked layout, so the value at zero must not leak.
TEST_P(ActivationKernel, ValueAndSlopeMatchTheFormula) {
  const ActivationCase c = activation_cases()[GetParam()];
  for (const std::int64_t channels : {5, 16}) {
    Case test;
    const ValueId image = test.input({2, channels, 9, 9});
    const ValueId weights = test.input({channels, channels, 1, 1});
    for (float& value : test.data[0].second) value *= 6;
    Program& program = test.program;
    const ValueId x = program.append_one(
        OpKind::Convolution2d, Convolution2dAttrs{}, {image, weights});
    const ValueId y = program.append_one(OpKind::Activation, c.attrs, {x});
    const ValueId again = program.append_one(
        OpKind::Convolution2d, Convolution2dAttrs{}, {y, weights});
    const ValueId g = test.input(program.shape(x));
    const ValueId dx =
        program.append_one(OpKind::ActivationGradient, c.attrs, {g, x});
    const ValueId dx_plain =
        program.append_one(OpKind::ActivationGradient, c.attrs, {g, image});
    const ProgramRun run = test.run({x, y, dx, dx_plain, again});
    const auto slopes = [&](const Floats& at, const Floats& got) {
      for (std::size_t i = 0; i < at.size(); ++i) {
        const double h = 1e-6;
        const double left = (c.f(at[i]) - c.f(at[i] - h)) / h;
        const double right = (c.f(at[i] + h) - c.f(at[i])) / h;
        if (std::fabs(left - right) > 1e-3) continue;  // a kink
        ASSERT_NEAR(got[i], (left + right) / 2 * test.values(2)[i], 2e-5)
            << "at " << at[i];
      }
    };
    std::vector<double> want;
    for (const float value : run.get(x)) want.push_back(c.f(value));
    expect_near(run.get(y), want);
    slopes(run.get(x), run.get(dx));
    slopes(test.values(0), run.get(dx_plain));
    for (const float value : run.get(again)) {
      ASSERT_TRUE(std::isfinite(value));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Types, ActivationKernel,
    ::testing::Range(0, static_cast<int>(activation_cases().size())));

struct BroadcastCase {
  Shape x, y;
};

class BinaryKernel : public ::testing::TestWithParam<BroadcastCase> {};

TEST_P(BinaryKernel, Broadcasts) {
  const auto [x_shape, y_shape] = GetParam();
  for (const bool in_place : {false, true}) {
    Case test;
    const ValueId x = test.input(x_shape), y = test.input(y_shape);
    // Copies, which in-place results may overwrite.
    const ArithmeticAttrs exp{ArithmeticOperation::Exp};
    const ValueId ex = test.program.append_one(OpKind::Unary, exp, {x});
    const ValueId ey = test.program.append_one(OpKind::Unary, exp, {y});
    const ValueId z = test.program.append_one(
        OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Subtract},
        {ex, ey});
    const ValueId less = test.program.append_one(
        OpKind::Compare, CompareAttrs{ComparisonOperation::Less}, {x, y});
    const ValueId chosen =
        test.program.append_one(OpKind::Select, NoAttrs{}, {less, x, y});
    const ProgramRun run = test.run({z, less, chosen}, in_place);

    const Shape shape = test.program.shape(z);
    const auto at = [&](const Shape& operand, std::int64_t index) {
      std::int64_t offset = 0, stride = 1;
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        const auto position = index % shape[axis];
        index /= shape[axis];
        const int own = axis + operand.rank() - shape.rank();
        if (own < 0) continue;
        if (operand[own] != 1) offset += position * stride;
        stride *= operand[own];
      }
      return offset;
    };
    std::vector<double> want, chosen_want;
    std::vector<std::uint8_t> less_want;
    for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
      const float a = test.values(0)[at(x_shape, i)];
      const float b = test.values(1)[at(y_shape, i)];
      want.push_back(std::exp(double{a}) - std::exp(double{b}));
      less_want.push_back(a < b);
      chosen_want.push_back(std::min(a, b));
    }
    expect_near(run.get(z), want);
    EXPECT_EQ(run.get<std::uint8_t>(less), less_want);
    expect_near(run.get(chosen), chosen_want, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BinaryKernel,
    ::testing::Values(
        BroadcastCase{{3, 5}, {3, 5}}, BroadcastCase{{300, 101}, {300, 101}},
        BroadcastCase{{300, 101}, {101}}, BroadcastCase{{300, 101}, {300, 1}},
        BroadcastCase{{300, 1}, {1, 101}}, BroadcastCase{{1}, {200, 203}},
        BroadcastCase{{1}, {1}}, BroadcastCase{{4, 7, 30, 31}, {1, 7, 1, 1}},
        BroadcastCase{{7, 1, 1}, {2, 7, 5, 4}},
        BroadcastCase{{2, 1, 3, 1}, {1, 4, 1, 5}}));

TEST(CastKernel, SaturatesAndKeepsBooleans) {
  Case test;
  const ValueId x = test.input({4});
  test.data[0].second = {-2.7f, 0, 3e9f, std::nanf("")};
  const auto cast = [&](DataType type) {
    return test.program.append_one(OpKind::Cast, CastAttrs{type}, {x});
  };
  const ValueId integer = cast(DataType::Int32), large = cast(DataType::Int64),
                boolean = cast(DataType::Boolean);
  const ProgramRun run = test.run({integer, large, boolean});
  EXPECT_EQ(run.get<std::int32_t>(integer),
            (std::vector<std::int32_t>{-2, 0, 2147483647, 0}));
  EXPECT_EQ(run.get<std::int64_t>(large),
            (std::vector<std::int64_t>{-2, 0, 3000000000, 0}));
  EXPECT_EQ(run.get<std::uint8_t>(boolean),
            (std::vector<std::uint8_t>{1, 0, 1, 1}));
}

TEST(CastKernel, TakesEveryByteForABoolean) {
  OpRun run(OpKind::Cast, CastAttrs{DataType::Float32});
  run.input({4}, {0, 1, 2, 255}, DataType::Boolean).run();
  EXPECT_EQ(run.result(), (Values{0, 1, 1, 1}));
}

TEST(FillKernel, WritesEveryElement) {
  Case test;
  const ValueId ones = test.program.append_one(
      OpKind::Fill, FillAttrs{{130, 131}, 1.5f, DataType::Float32}, {});
  const ProgramRun run = test.run({ones});
  EXPECT_EQ(run.get(ones), Floats(130 * 131, 1.5f));
}

TEST(DropoutKernel, FollowsTheCounter) {
  for (const std::int64_t seed : {0, 77}) {
    Case test;
    const ValueId x = test.input({101, 103});
    const ValueId state = test.program.add_value(
        Role::Input, {{4}, DataType::Int32}, "random_state");
    const DropoutAttrs attrs{0.3f, seed, 5};
    const ValueId y =
        test.program.append_one(OpKind::Dropout, attrs, {x, state});
    ProgramRun run(test.program, {y});
    run.set(x, test.values(0));
    run.set(state, std::vector<std::uint32_t>{1, 0x80000000u, 9, 2});
    run.run();
    const Floats got = run.get(y);
    const std::uint64_t key = seed != 0 ? 77 : 0x8000000000000001u;
    int kept = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto word = dropout_block(key, 5, 0x200000009u, i / 4)[i % 4];
      const bool is_kept = to_unit_float(word) >= attrs.rate;
      kept += is_kept;
      ASSERT_EQ(got[i],
                is_kept ? test.values(0)[i] * (1 / (1 - attrs.rate)) : 0);
    }
    EXPECT_NEAR(static_cast<double>(kept) / got.size(), 0.7, 0.02);
  }
}

}  // namespace
}  // namespace traingraph::testing
