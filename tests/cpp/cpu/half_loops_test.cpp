// SPDX-License-Identifier: MIT
// Loops and primitives that read and write floats of 16 bits, as ops: float32
// inside, one rounding, whatever the shapes; in place, too.
#include <algorithm>
#include <array>
#include <functional>

#include "cpu/cpu_target.h"
#include "cpu/half_case.h"
#include "graph/op_def.h"

namespace traingraph::testing {
namespace {

using enum ActivationType;
using Operation = ArithmeticOperation;

// One element, pieces that are not full, more than one piece.
const Shape kShapes[] = {{1}, {3, 5}, {7, 73, 3}, {2, 19, 11, 13}};

Exact of(double value, double size) {
  return {value, std::max(size, std::abs(value))};
}

template <class T>
class HalfLoops : public ::testing::Test {
 protected:
  using F1 = std::function<double(double)>;
  using F2 = std::function<double(double, double)>;

  static void expect_map(OpKind op, const Attributes& attrs, const F1& f,
                         double error = 0x1p-21) {
    for (const Shape& shape : kShapes) {
      HalfCase<T> test;
      const ValueId y = test.program.append_one(op, attrs, {test.input(shape)});
      Exacts exact;
      for (T x : test[0]) exact.push_back(of(f(float{x}), error * 0x1p21));
      expect_rounded_once(test.result(y), exact);
    }
  }
  static void expect_zip(OpKind op, const Attributes& attrs, const F2& f,
                         double error = 0x1p-21) {
    for (const Shape& shape : kShapes) {
      HalfCase<T> test;
      const ValueId x = test.input(shape), y = test.input(shape);
      const ValueId z = test.program.append_one(op, attrs, {x, y});
      Exacts exact;
      for (std::size_t i = 0; i < test[0].size(); ++i) {
        exact.push_back(
            of(f(float{test[0][i]}, float{test[1][i]}), error * 0x1p21));
      }
      expect_rounded_once(test.result(z), exact);
    }
  }
  static bool computes(const Program& program) {
    return cpu::CpuTarget(1).computes(program, program.node(0));
  }
};

TYPED_TEST_SUITE(HalfLoops, HalfTypes);

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

TYPED_TEST(HalfLoops, Activations) {
  const auto expect = [&](const ActivationAttrs& attrs, auto f) {
    this->expect_map(OpKind::Activation, attrs, f);
  };
  expect({ReLU, 0.25f}, [](double x) { return x > 0 ? x : 0.25 * x; });
  expect({SiLU}, [](double x) { return x * logistic(x); });
  expect({SoftPlus, 1, 1}, [](double x) { return std::log1p(std::exp(x)); });
  expect({HardSwish},
         [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; });
}

TYPED_TEST(HalfLoops, ActivationGradients) {
  const auto expect = [&](const ActivationAttrs& attrs, auto slope) {
    this->expect_zip(OpKind::ActivationGradient, attrs,
                     [=](double g, double x) { return g * slope(x); });
  };
  expect({ReLU, 0.25f}, [](double x) { return x > 0 ? 1 : 0.25; });
  expect({SiLU},
         [](double x) { return logistic(x) * (1 + x * (1 - logistic(x))); });
}

TYPED_TEST(HalfLoops, ActivationsWithoutOneDnn) {
  const auto gelu = [](double x) {
    return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  };
  const auto slope = [](double x) {
    return 0.5 * std::erfc(-x / std::sqrt(2.0)) +
           x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
  };
  this->expect_map(OpKind::Activation, ActivationAttrs{GELU}, gelu,
                   /*error=*/1e-4);
  this->expect_map(OpKind::Activation, ActivationAttrs{Tanh, 1, 1},
                   [](double x) { return std::tanh(x); });
  this->expect_map(OpKind::Activation, ActivationAttrs{GELUTanh}, [](double x) {
    const double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(u));
  });
  this->expect_zip(
      OpKind::ActivationGradient, ActivationAttrs{GELU},
      [=](double g, double x) { return g * slope(x); },
      /*error=*/1e-4);
}

TYPED_TEST(HalfLoops, Arithmetic) {
  const auto one = [&](ArithmeticOperation operation, auto f) {
    this->expect_map(OpKind::Unary, ArithmeticAttrs{operation}, f);
  };
  one(Operation::Tanh, [](double x) { return std::tanh(x); });
  one(Operation::Exp, [](double x) { return std::exp(x); });
  one(Operation::Round, [](double x) { return std::nearbyint(x); });
  const auto two = [&](ArithmeticOperation operation, auto f) {
    this->expect_zip(OpKind::Binary, ArithmeticAttrs{operation}, f);
  };
  two(Operation::Add, [](double x, double y) { return x + y; });
  two(Operation::Multiply, [](double x, double y) { return x * y; });
  two(Operation::Max, [](double x, double y) { return std::max(x, y); });
}

TYPED_TEST(HalfLoops, OperandsBroadcast) {
  const std::pair<Shape, Shape> shapes[] = {{{6, 700}, {700}},
                                            {{6, 700}, {6, 1}},
                                            {{1}, {3, 1100}},
                                            {{2, 1, 5, 7}, {1, 3, 5, 1}}};
  for (const auto& [left, right] : shapes) {
    SCOPED_TRACE(left.to_string() + " - " + right.to_string());
    HalfCase<TypeParam> test;
    const ValueId x = test.input(left), y = test.input(right);
    const ValueId z = test.program.append_one(
        OpKind::Binary, ArithmeticAttrs{Operation::Subtract}, {x, y});
    const Shape shape = test.program.shape(z);
    const auto at = [&](const Shape& from, std::int64_t i) {
      std::int64_t index = 0, stride = 1;
      for (int axis = shape.rank() - 1; axis >= 0; --axis) {
        const int own = axis - shape.rank() + from.rank();
        const std::int64_t position = i % shape[axis];
        i /= shape[axis];
        if (own < 0) continue;
        if (from[own] > 1) index += position * stride;
        stride *= from[own];
      }
      return index;
    };
    Exacts exact;
    for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
      const double a = test[0][at(left, i)], b = test[1][at(right, i)];
      exact.push_back(of(a - b, std::abs(a) + std::abs(b)));
    }
    expect_rounded_once(test.result(z), exact);
  }
}

// Rows of 5 and of 300 elements; the sums of a row are float32 and better.
TYPED_TEST(HalfLoops, NormsOfRows) {
  for (const std::int64_t n : {5, 300}) {
    HalfCase<TypeParam> test;
    Program& program = test.program;
    const SampleNormAttrs attrs{.axis = 1, .epsilon = 0.01f};
    const ValueId x = test.input({7, n}), g = test.input({7, n});
    const auto forward = program.append(OpKind::SampleNorm, attrs, {x});
    program.position.phase = Phase::Gradient;
    const ValueId dx =
        program.append_one(OpKind::SampleNormGradient, attrs,
                           {g, x, kNoValue, forward[1], forward[2]});
    if (!this->computes(program)) GTEST_SKIP() << "computed in float32";
    Exacts y, exact_dx;
    for (std::int64_t row = 0; row < 7; ++row) {
      double mean = 0, variance = 0, gradient = 0, product = 0;
      const auto at = [&](int i, std::int64_t k) -> double {
        return test[i][row * n + k];
      };
      for (std::int64_t k = 0; k < n; ++k) mean += at(0, k) / n;
      for (std::int64_t k = 0; k < n; ++k) {
        variance += std::pow(at(0, k) - mean, 2) / n;
      }
      const double inverse = 1 / std::sqrt(variance + attrs.epsilon);
      for (std::int64_t k = 0; k < n; ++k) {
        gradient += at(1, k) / n;
        product += at(1, k) * (at(0, k) - mean) * inverse / n;
      }
      for (std::int64_t k = 0; k < n; ++k) {
        const double normal = (at(0, k) - mean) * inverse;
        y.push_back(of(normal, 4));
        exact_dx.push_back(
            of(inverse * (at(1, k) - gradient - normal * product), 8));
      }
    }
    const ProgramRun run = test.run({forward[0], dx});
    expect_rounded_once(run.template get<TypeParam>(forward[0]), y);
    expect_rounded_once(run.template get<TypeParam>(dx), exact_dx);
  }
}

// A batch normalization and the ReLU behind it are one unit in either phase.
TYPED_TEST(HalfLoops, BatchNorms) {
  constexpr std::int64_t kBatch = 2, kChannels = 19, kInner = 35;
  constexpr double kCount = kBatch * kInner;
  HalfCase<TypeParam> test;
  Program& program = test.program;
  const Shape shape{kBatch, kChannels, 5, 7};
  const ValueId x = test.input(shape), g = test.input(shape);
  std::vector<ValueId> inputs{x, kNoValue, kNoValue};
  for (const char* name : {"running_mean", "running_variance"}) {
    inputs.push_back(program.add_value(Role::Variable,
                                       {{kChannels}, DataType::Float32}, name));
  }
  const BatchNormAttrs attrs{.epsilon = 0.01f};
  const auto forward = program.append(OpKind::BatchNorm, attrs, inputs);
  const ActivationAttrs relu{ReLU, 0.25f};
  const ValueId y = program.append_one(OpKind::Activation, relu, {forward[0]});
  program.position.phase = Phase::Gradient;
  const ValueId slope =
      program.append_one(OpKind::ActivationGradient, relu, {g, y});
  const ValueId dx =
      program.append_one(OpKind::BatchNormGradient, attrs,
                         {slope, x, kNoValue, forward[1], forward[2]});
  if (!this->computes(program)) GTEST_SKIP() << "computed in float32";

  ProgramRun run(program, {y, dx});
  for (const auto& [id, contents] : test.data) run.set(id, contents);
  run.set(inputs[3], std::vector<float>(kChannels, 0));
  run.set(inputs[4], std::vector<float>(kChannels, 1));
  run.run();
  EXPECT_TRUE(run.has_intact_guards());
  const auto got = run.template get<TypeParam>(y);

  Exacts exact(got.size()), exact_dx(got.size());
  for (std::int64_t c = 0; c < kChannels; ++c) {
    const auto for_each = [&](auto f) {
      for (std::int64_t i = 0; i < kBatch * kInner; ++i) {
        f((i / kInner * kChannels + c) * kInner + i % kInner);
      }
    };
    const auto arrives = [&](std::int64_t i) {
      return test[1][i] * (got[i] > 0 ? 1 : 0.25);
    };
    double mean = 0, variance = 0, gradient = 0, product = 0;
    for_each([&](auto i) { mean += test[0][i] / kCount; });
    for_each(
        [&](auto i) { variance += std::pow(test[0][i] - mean, 2) / kCount; });
    const double inverse = 1 / std::sqrt(variance + attrs.epsilon);
    for_each([&](auto i) {
      gradient += arrives(i) / kCount;
      product += arrives(i) * (test[0][i] - mean) * inverse / kCount;
    });
    for_each([&](auto i) {
      const double normal = (test[0][i] - mean) * inverse;
      exact[i] = of(normal > 0 ? normal : normal / 4, 4);
      exact_dx[i] = of(inverse * (arrives(i) - gradient - normal * product), 8);
    });
  }
  expect_rounded_once(got, exact);
  expect_rounded_once(run.template get<TypeParam>(dx), exact_dx);
}

template <class T>
class Pools : public HalfLoops<T> {
 protected:
  static constexpr std::int64_t kChannels = 19, kSize = 8;

  struct Nodes {
    HalfCase<T> test;
    ValueId x, g, y, dx;
  };
  /// Windows of 2 x 2 that do not overlap.
  static Nodes make(bool is_max) {
    Nodes n;
    Program& program = n.test.program;
    n.x = n.test.input({2, kChannels, kSize, kSize});
    n.g = n.test.input({2, kChannels, kSize / 2, kSize / 2});
    const Shape shape = program.shape(n.x);
    if (is_max) {
      const Pool2dAttrs attrs{.kernel_size = {2, 2}, .strides = {2, 2}};
      const auto y = program.append(OpKind::MaxPool2d, attrs, {n.x});
      n.y = y[0];
      program.position.phase = Phase::Gradient;
      n.dx = program.append_one(OpKind::MaxPool2dGradient, attrs,
                                {n.g, n.x, y[1]});
    } else {
      n.y = program.append_one(
          OpKind::AveragePool2d,
          AveragePool2dAttrs{.kernel_size = {2, 2}, .strides = {2, 2}}, {n.x});
      n.dx = program.append_one(
          OpKind::AveragePool2dGradient,
          AveragePool2dGradientAttrs{
              .kernel_size = {2, 2}, .strides = {2, 2}, .shape = shape},
          {n.g});
    }
    return n;
  }
  /// The elements of window `i`.
  static std::array<std::int64_t, 4> window(std::int64_t i) {
    const std::int64_t half = kSize / 2;
    const std::int64_t first = i / (half * half) * kSize * kSize +
                               i / half % half * 2 * kSize + i % half * 2;
    return {first, first + 1, first + kSize, first + kSize + 1};
  }
};

TYPED_TEST_SUITE(Pools, HalfTypes);

TYPED_TEST(Pools, AreRoundedOnce) {
  for (bool is_max : {true, false}) {
    auto nodes = this->make(is_max);
    auto& test = nodes.test;
    if (!this->computes(test.program)) GTEST_SKIP() << "computed in float32";
    const ProgramRun run = test.run({nodes.y, nodes.dx});
    Exacts y(test[1].size()), dx(test[0].size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto of = this->window(static_cast<std::int64_t>(i));
      std::int64_t best = of[0];
      for (std::int64_t at : of) {
        if (float{test[0][at]} > float{test[0][best]}) best = at;
        if (!is_max) y[i].add(test[0][at] / 4.0);
        if (!is_max) dx[at].add(test[1][i] / 4.0);
      }
      if (!is_max) continue;
      y[i].add(test[0][best]);
      dx[best].add(test[1][i]);
    }
    expect_rounded_once(run.get<TypeParam>(nodes.y), y);
    expect_rounded_once(run.get<TypeParam>(nodes.dx), dx);
  }
}

}  // namespace
}  // namespace traingraph::testing
