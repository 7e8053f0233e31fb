// SPDX-License-Identifier: MIT
// ln(1 + e^x) keeps its digits, and its sign, where it is almost zero.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

class SoftPlusAccuracy : public ::testing::TestWithParam<ActivationAttrs> {};

TEST_P(SoftPlusAccuracy, KeepsItsDigits) {
  // Eight units in the last place of a float32: an exponential, a logarithm and
  // a product, each of a few.
  constexpr double kRelative = 8 * 1.2e-7;
  const ActivationAttrs attrs = GetParam();
  Values x;
  for (int i = -320; i <= 320; ++i) x.push_back(static_cast<float>(i) / 8);
  OpRun run(OpKind::Activation, attrs);
  run.input({static_cast<std::int64_t>(x.size())}, x).run();
  const Values y = run.result();
  const bool is_log_sigmoid = attrs.type == ActivationType::LogSigmoid;
  const double a = is_log_sigmoid ? -1 : attrs.a;
  const double b = is_log_sigmoid ? -1 : attrs.b;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double z = b * x[i];
    const double expected =
        a * (std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z))));
    ASSERT_LE(std::abs(y[i] - expected), kRelative * std::abs(expected))
        << "at " << x[i] << ": expected " << expected << ", got " << y[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SoftPlusAccuracy,
    ::testing::Values(ActivationAttrs{ActivationType::SoftPlus, 1, 1},
                      ActivationAttrs{ActivationType::SoftPlus, 0.5f, 2},
                      ActivationAttrs{ActivationType::LogSigmoid}));

}  // namespace
}  // namespace traingraph::testing
