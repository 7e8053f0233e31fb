// SPDX-License-Identifier: MIT
// Instance, group and layer normalization with rows of 1 to 10^6 elements and
// means far from zero, forward and gradient, against double. Sums may be off as
// exact_sum.h says.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "cpu/exact_sum.h"
#include "cpu/kernel_case.h"
#include "ops/norm_sample.h"

namespace traingraph::testing {
namespace {

struct Data {
  std::string name;
  Shape shape;
  std::int64_t axis, groups;
  float mean, spread;
};

std::ostream& operator<<(std::ostream& out, const Data& c) {
  return out << c.name;
}

class SampleNormAccuracy : public ::testing::TestWithParam<Data> {
 protected:
  SampleNormAccuracy() {
    const auto& [name, shape, axis, groups, mean, spread] = GetParam();
    const Shape parameters = sample_parameters_shape(shape, attrs_);
    const ValueId x = test_.input(shape), g = test_.input(shape);
    const ValueId gamma = test_.input(parameters, Role::Variable);
    const ValueId beta = test_.input(parameters, Role::Variable);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (float& value : test_.data[0].second) {
      value = mean + spread * normal(random);
    }
    for (float& value : test_.data[1].second) value = 0.5f + normal(random);
    results_ =
        test_.program.append(OpKind::SampleNorm, attrs_, {x, gamma, beta});
    gradients_ = test_.program.append(OpKind::SampleNormGradient, attrs_,
                                      {g, x, gamma, results_[1], results_[2]});
  }

  /// The terms are rounded, too, and the worst of many sums counts.
  static double allowed(const Sum& sum) {
    const auto n = static_cast<double>(sum.n);
    return sum.allowed() + 3 * kEpsilon * sum.magnitude / std::sqrt(n);
  }
  /// The sum over [0, n) of a term.
  template <class Term>
  static Sum sum_of(std::int64_t n, Term&& term) {
    Floats terms;
    Doubles exact;
    for (std::int64_t i = 0; i < n; ++i) {
      exact.push_back(term(i));
      terms.push_back(static_cast<float>(exact.back()));
    }
    return Sum(terms, exact);
  }

  const SampleNormAttrs attrs_{.axis = GetParam().axis,
                               .groups = GetParam().groups};
  const SampleView view_{GetParam().shape, attrs_};
  Case test_;
  std::vector<ValueId> results_, gradients_;
};

TEST_P(SampleNormAccuracy, LosesNoDigits) {
  std::vector<ValueId> kept = results_;
  kept.insert(kept.end(), gradients_.begin(), gradients_.end());
  const ProgramRun run = test_.run(kept);
  const Floats &x = test_.values(0), &g = test_.values(1),
               &gamma = test_.values(2), &beta = test_.values(3);
  const Floats y = run.get(results_[0]), mean = run.get(results_[1]),
               variance = run.get(results_[2]), dx = run.get(gradients_[0]),
               dgamma = run.get(gradients_[1]), dbeta = run.get(gradients_[2]);
  const std::int64_t length = view_.row_length();
  const auto n = static_cast<double>(length);
  Doubles normalized(x.size());
  for (std::int64_t row = 0; row < view_.num_rows(); ++row) {
    const std::int64_t first = row * length;
    const std::int64_t group = row % view_.groups * view_.width;
    const auto parameter = [&](std::int64_t i) {
      return group + i / view_.inner;
    };
    const auto at = [&](std::int64_t i) { return double(x[first + i]); };
    const Sum total = sum_of(length, at);
    const double m = total.exact / n;
    const Sum squares =
        sum_of(length, [&](auto i) { return (at(i) - m) * (at(i) - m); });
    const double v = squares.exact / n;
    const double inverse = 1 / std::sqrt(v + double(attrs_.epsilon));
    // Less than half a digit of what is normalized.
    ASSERT_NEAR(mean[row], m, allowed(total) / n + kEpsilon / 2 * std::sqrt(v));
    ASSERT_NEAR(variance[row], v, allowed(squares) / n + 2 * kEpsilon * v);
    const auto weighted = [&](std::int64_t i) {
      return double(g[first + i]) * gamma[parameter(i)];
    };
    double gradient = 0, product = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      normalized[first + i] = (at(i) - m) * inverse;
      gradient += weighted(i) / n;
      product += weighted(i) * normalized[first + i] / n;
    }
    // A few roundings of numbers of this size.
    double worst_y = 0, worst_dx = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      const double z = normalized[first + i];
      const double rest = gradient + z * product;
      const double y_exact = gamma[parameter(i)] * z + beta[parameter(i)];
      const double dx_exact = inverse * (weighted(i) - rest);
      const double size = 1 + std::abs(weighted(i)) + std::abs(rest);
      worst_y = std::max(worst_y,
                         std::abs(y[first + i] - y_exact) / (1 + std::abs(z)));
      worst_dx = std::max(
          worst_dx, std::abs(dx[first + i] - dx_exact) / (inverse * size));
    }
    ASSERT_LE(worst_y, 4 * kEpsilon);
    ASSERT_LE(worst_dx, 4 * kEpsilon);
  }
  for (std::int64_t p = 0; p < view_.num_parameters(); ++p) {
    const std::int64_t group = p / view_.width, w = p % view_.width;
    const auto at = [&](std::int64_t i) {
      const std::int64_t row = i / view_.inner * view_.groups + group;
      return row * length + w * view_.inner + i % view_.inner;
    };
    const std::int64_t count = view_.outer * view_.inner;
    const Sum gradient =
        sum_of(count, [&](auto i) { return double(g[at(i)]); });
    const Sum product =
        sum_of(count, [&](auto i) { return g[at(i)] * normalized[at(i)]; });
    ASSERT_NEAR(dbeta[p], gradient.exact, allowed(gradient));
    // This holds where every term is 0, too.
    ASSERT_NEAR(dgamma[p], product.exact,
                allowed(product) + 1e-9 * gradient.magnitude);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, SampleNormAccuracy,
    ::testing::Values(Data{"layer_constant", {64, 256}, 1, 0, 0.7f, 0},
                      Data{"layer_256", {1024, 256}, 1, 0, 0, 1},
                      Data{"layer_mean_10", {8, 128, 1024}, 2, 0, 10, 1},
                      Data{"layer_mean_1e4", {300, 777}, 1, 0, 1e4f, 1},
                      Data{"layer_of_one", {50, 1}, 1, 0, 10, 1},
                      Data{"layer_of_seven", {1000, 7}, 1, 0, -5, 2},
                      Data{"layer_tiny_spread", {16, 512}, 1, 0, 1, 1e-3f},
                      Data{"layer_of_images", {4, 16, 32, 33}, 1, 0, 3, 1},
                      Data{"layer_million", {2, 1'000'000}, 1, 0, 10, 1},
                      Data{"many_rows", {100'000, 16}, 1, 0, 10, 1},
                      Data{"instance", {8, 16, 30, 31}, 1, 16, 1e4f, 1},
                      Data{"instance_small", {9, 5, 3, 3}, 1, 5, 10, 1},
                      Data{"instance_million", {1, 2, 1000, 1000}, 1, 2, 3, 1},
                      Data{"instance_mean_0", {1, 2, 1000, 1000}, 1, 2, 0, 1},
                      Data{"group", {8, 32, 14, 14}, 1, 4, 10, 1},
                      Data{"group_constant", {3, 12, 9, 9}, 1, 3, 0.7f, 0},
                      Data{"group_large", {1, 4, 300, 301}, 1, 2, 1e4f, 1},
                      Data{"group_of_vectors", {500, 24}, 1, 3, 10, 1}),
    [](const auto& info) { return info.param.name; });

// They spoil their own row only.
TEST(SampleNormAccuracyOf, AnInfinityAndNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  Case test;
  const ValueId x = test.input({5, 100});
  Floats& data = test.data[0].second;
  data[50] = infinity;
  data[250] = -infinity;
  data[499] = std::numeric_limits<float>::quiet_NaN();
  const auto results =
      test.program.append(OpKind::SampleNorm, SampleNormAttrs{}, {x});
  const ProgramRun run = test.run(results);
  const Floats y = run.get(results[0]), means = run.get(results[1]);
  EXPECT_EQ(means[0], infinity);
  EXPECT_EQ(means[2], -infinity);
  EXPECT_TRUE(std::isnan(means[4]));
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(std::isnan(y[i]), i / 100 % 2 == 0) << "element " << i;
  }
}

}  // namespace
}  // namespace traingraph::testing
