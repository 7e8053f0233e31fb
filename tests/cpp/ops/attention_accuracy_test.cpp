// SPDX-License-Identifier: MIT
// Errors of attention and its gradients at large scores, where the logarithm of
// a sum has few digits left behind its point.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "support/run_op.h"
#include "support/test_device.h"

namespace traingraph::testing {
namespace {

/// One sample and head; more keys than a tile of the gradient has.
constexpr std::int64_t kQueries = 48, kKeys = 300, kWidth = 32;

/// Multiples of 2^-`bits` in [-2, 2), the same in any language.
Values made_up(std::int64_t count, std::uint32_t state, int bits) {
  Values x(count);
  for (double& each : x) {
    state = state * 1664525u + 1013904223u;
    each = std::ldexp(static_cast<double>(state >> (30 - bits)), -bits) - 2;
  }
  return x;
}

struct Result {
  Values output, query, key, value;
};

/// Computes in float64, row by row.
Result exact(const Values& q, const Values& k, const Values& v, const Values& g,
             double scale) {
  Result r{Values(q.size()), Values(q.size()), Values(k.size()),
           Values(v.size())};
  const auto dot = [](const Values& x, std::int64_t i, const Values& y,
                      std::int64_t j) {
    double sum = 0;
    for (std::int64_t c = 0; c < kWidth; ++c) {
      sum += x[i * kWidth + c] * y[j * kWidth + c];
    }
    return sum;
  };
  const auto add = [](Values& to, std::int64_t i, double factor,
                      const Values& x, std::int64_t j) {
    for (std::int64_t c = 0; c < kWidth; ++c) {
      to[i * kWidth + c] += factor * x[j * kWidth + c];
    }
  };
  for (std::int64_t i = 0; i < kQueries; ++i) {
    Values p(kKeys);
    for (std::int64_t j = 0; j < kKeys; ++j) p[j] = scale * dot(q, i, k, j);
    const double largest = *std::ranges::max_element(p);
    double sum = 0;
    for (double& x : p) sum += x = std::exp(x - largest);
    double mean = 0;
    for (std::int64_t j = 0; j < kKeys; ++j) {
      p[j] /= sum;
      mean += p[j] * dot(g, i, v, j);
      add(r.output, i, p[j], v, j);
      add(r.value, j, p[j], g, i);
    }
    for (std::int64_t j = 0; j < kKeys; ++j) {
      const double slope = scale * p[j] * (dot(g, i, v, j) - mean);
      add(r.query, i, slope, k, j);
      add(r.key, j, slope, q, i);
    }
  }
  return r;
}

/// Root of the mean square of the error, over that of what is expected.
double error_of(const Values& got, const Values& expected) {
  double error = 0, size = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - expected[i]) * (got[i] - expected[i]);
    size += expected[i] * expected[i];
  }
  return std::sqrt(error / size);
}

struct Case {
  float scale;  // the largest score is 36 times that
  // Errors of PyTorch 2.13 in float32, with softmax and products one by one, on
  // the same numbers: output, gradients of query, key and value.
  double output, query, key, value;
};

class AttentionAccuracy : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionAccuracy, IsWithinTwicePyTorchs) {
  if (!computes()) GTEST_SKIP() << "nothing is computed";
  const Case& expected = GetParam();
  // Scores are exact, so that errors are those of their exponentials and sums.
  const Values query = made_up(kQueries * kWidth, 1, 2),
               key = made_up(kKeys * kWidth, 2, 2),
               value = made_up(kKeys * kWidth, 3, 22),
               gradient = made_up(kQueries * kWidth, 4, 22);
  const AttentionAttrs attrs{.scale = expected.scale};
  const Shape queries{1, kQueries, kWidth}, keys{1, kKeys, kWidth};
  const Shape rows{1, 1, kQueries};
  OpRun forward(OpKind::Attention, attrs);
  forward.input(queries, query).input(keys, key).input(keys, value).run();
  OpRun backward(OpKind::AttentionGradient, attrs);
  backward.input(queries, gradient)
      .input(queries, query)
      .input(keys, key)
      .input(keys, value)
      .input(queries, forward.result(0))
      .input(rows, forward.result(1));
  for (int i = 0; i < 4; ++i) backward.no_input();
  backward.input(rows, forward.result(2)).run();
  const Result r = exact(query, key, value, gradient, expected.scale);
  EXPECT_LE(error_of(forward.result(0), r.output), 2 * expected.output);
  EXPECT_LE(error_of(backward.result(0), r.query), 2 * expected.query);
  EXPECT_LE(error_of(backward.result(1), r.key), 2 * expected.key);
  EXPECT_LE(error_of(backward.result(2), r.value), 2 * expected.value);
}

/// It is of the size that rounding takes, and 0 on other devices.
TEST(Attention, RestOfTheLogarithmIsBelowItsLastDigit) {
  if (!computes()) GTEST_SKIP() << "nothing is computed";
  OpRun run(OpKind::Attention, AttentionAttrs{.scale = 5.5f});
  run.input({1, kQueries, kWidth}, made_up(kQueries * kWidth, 1, 2))
      .input({1, kKeys, kWidth}, made_up(kKeys * kWidth, 2, 2))
      .input({1, kKeys, kWidth}, made_up(kKeys * kWidth, 3, 22))
      .run();
  for (std::int64_t i = 0; i < kQueries; ++i) {
    const auto log_sum = static_cast<float>(std::fabs(run.result(1)[i]));
    const double last_digit = std::nextafter(log_sum, 1e9f) - log_sum;
    EXPECT_LE(std::fabs(run.result(2)[i]), last_digit / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, AttentionAccuracy,
    ::testing::Values(Case{0.125, 2.4e-7, 2.7e-7, 1.8e-7, 1.4e-7},
                      Case{1.5, 1.3e-7, 4.5e-7, 3.7e-7, 1.1e-7},
                      Case{5.5, 5.0e-8, 4.4e-7, 3.2e-7, 4.8e-8},
                      Case{27.5, 1.9e-8, 5.6e-6, 4.1e-6, 2.0e-8}));

}  // namespace
}  // namespace traingraph::testing
