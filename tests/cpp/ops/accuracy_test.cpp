// SPDX-License-Identifier: MIT
// Relative errors where a function passes through zero or grows: an absolute
// tolerance would not see that every digit is wrong.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/elementwise_parameters.h"
#include "support/run_op.h"

namespace traingraph::testing {
namespace {

using Operation = ArithmeticOperation;

struct Stretch {
  Operation operation;
  double low, high;
  double (*f)(double);
};

class UnaryAccuracy : public ::testing::TestWithParam<Stretch> {};

TEST_P(UnaryAccuracy, KeepsItsDigits) {
  // Four units in the last place of a float32.
  constexpr double kRelative = 4 * 1.2e-7;
  constexpr std::int64_t kCount = 4001;
  const auto [operation, low, high, f] = GetParam();
  Values x;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const double t = static_cast<double>(i) / (kCount - 1);
    x.push_back(static_cast<float>(low + (high - low) * t));
  }
  OpRun run(OpKind::Unary, ArithmeticAttrs{operation});
  run.input({kCount}, x).run();
  const Values y = run.result();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = f(x[i]);
    ASSERT_LE(std::abs(y[i] - expected), kRelative * std::abs(expected))
        << "at " << x[i] << ": expected " << expected << ", got " << y[i];
  }
}

std::string name_of(const ::testing::TestParamInfo<Stretch>& info) {
  return std::string(to_string(info.param.operation)) + "_" +
         std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(
    All, UnaryAccuracy,
    ::testing::Values(Stretch{Operation::Log, 0.9, 1.1, std::log},
                      Stretch{Operation::Log, 1e-30, 1e-3, std::log},
                      Stretch{Operation::Log, 1, 1e6, std::log},
                      Stretch{Operation::Log2, 0.9, 1.1, std::log2},
                      Stretch{Operation::Exp, -20, 20, std::exp},
                      Stretch{Operation::Exp2, -30, 30, std::exp2},
                      Stretch{Operation::Sqrt, 0, 1e6, std::sqrt},
                      Stretch{Operation::Sin, -0.01, 0.01, std::sin},
                      Stretch{Operation::Tan, -0.01, 0.01, std::tan},
                      Stretch{Operation::Asin, -0.01, 0.01, std::asin},
                      Stretch{Operation::Atan, -0.01, 0.01, std::atan},
                      Stretch{Operation::Sinh, -0.01, 0.01, std::sinh},
                      Stretch{Operation::Tanh, -0.01, 0.01, std::tanh},
                      Stretch{Operation::Tanh, -5, 5, std::tanh},
                      Stretch{Operation::Asinh, -0.01, 0.01, std::asinh},
                      Stretch{Operation::Acosh, 1, 1.01, std::acosh},
                      Stretch{Operation::Atanh, -0.01, 0.01, std::atanh}),
    name_of);

TEST(ActivationLimits, ReluOfMinusInfinityIsZero) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (ActivationType type : {ActivationType::ReLU, ActivationType::ReLUN}) {
    OpRun run(OpKind::Activation, without_unused({type, 0, 6}));
    run.input({3}, {-kInfinity, -1, NAN}).run();
    EXPECT_EQ(run.result()[0], 0);
    EXPECT_EQ(run.result()[1], 0);
    EXPECT_TRUE(std::isnan(run.result()[2]));
  }
}

}  // namespace
}  // namespace traingraph::testing
