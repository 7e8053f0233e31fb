// SPDX-License-Identifier: MIT
// Batch normalisation with many samples per channel and means far from zero,
// forward and gradient, against double. Every sum may be off by twice the error
// of a pairwise sum in float32, and by what rounding its terms explains.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "cpu/exact_sum.h"
#include "cpu/kernel_case.h"

namespace traingraph::testing {
namespace {

struct Data {
  std::string name;
  Shape shape;
  float mean, spread;
  bool is_after_convolution = false;  // in the layout that it leaves
};

std::ostream& operator<<(std::ostream& out, const Data& c) {
  return out << c.name;
}

class NormAccuracy : public ::testing::TestWithParam<Data> {
 protected:
  void build() {
    const auto& [name, shape, mean, spread, is_after] = GetParam();
    const std::int64_t channels = shape[1];
    inner_ = shape.num_elements() / (shape[0] * channels);
    x_ = test_.input(shape);
    g_ = test_.input(shape);
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (float& value : test_.data[0].second) {
      value = mean + spread * normal(random);
    }
    for (float& value : test_.data[1].second) value = 0.5f + normal(random);
    ValueId source = x_;
    if (is_after) {  // one that changes no bit
      const ValueId weights =
          test_.input({channels, channels, 1, 1}, Role::Variable);
      Floats& identity = test_.data.back().second;
      for (std::int64_t i = 0; i < channels * channels; ++i) {
        identity[i] = i % (channels + 1) == 0 ? 1.0f : 0.0f;
      }
      source = test_.program.append_one(
          OpKind::Convolution2d, Convolution2dAttrs{}, {x_, weights, kNoValue});
    }
    gamma_ = test_.input({channels}, Role::Variable);
    const ValueId beta = test_.input({channels}, Role::Variable);
    running_mean_ = test_.input({channels}, Role::Variable);
    running_variance_ = test_.input({channels}, Role::Variable);
    results_ = test_.program.append(
        OpKind::BatchNorm, attrs_,
        {source, gamma_, beta, running_mean_, running_variance_});
    gradients_ =
        test_.program.append(OpKind::BatchNormGradient, attrs_,
                             {g_, source, gamma_, results_[1], results_[2]});
  }

  const Floats& contents(ValueId id) const {
    for (const auto& [value, data] : test_.data) {
      if (value == id) return data;
    }
    throw std::out_of_range("no such input");
  }
  template <class F>
  void for_each_in(std::int64_t channel, F&& f) const {
    const Shape& shape = GetParam().shape;
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      const std::int64_t begin = (i * shape[1] + channel) * inner_;
      for (std::int64_t j = begin; j < begin + inner_; ++j) f(j);
    }
  }

  const BatchNormAttrs attrs_{.epsilon = 1e-5f, .momentum = 0.9f};
  Case test_;
  ValueId x_ = 0, g_ = 0, gamma_ = 0, running_mean_ = 0, running_variance_ = 0;
  std::vector<ValueId> results_, gradients_;
  std::int64_t inner_ = 1;
};

TEST_P(NormAccuracy, LosesNoDigits) {
  build();
  std::vector<ValueId> kept = results_;
  kept.insert(kept.end(), gradients_.begin(), gradients_.end());
  const ProgramRun run = test_.run(kept);
  const Floats &x = contents(x_), &g = contents(g_), &gamma = contents(gamma_),
               &beta = test_.data[test_.data.size() - 3].second;
  const Floats y = run.get(results_[0]), mean = run.get(results_[1]),
               variance = run.get(results_[2]), dx = run.get(gradients_[0]),
               dgamma = run.get(gradients_[1]), dbeta = run.get(gradients_[2]),
               new_mean = run.get(running_mean_),
               new_variance = run.get(running_variance_);
  const auto n =
      static_cast<double>(x.size()) / static_cast<double>(GetParam().shape[1]);
  for (std::int64_t c = 0; c < GetParam().shape[1]; ++c) {
    const auto sum_of = [&](auto&& term) {
      Floats terms;
      Doubles exact;
      terms.reserve(static_cast<std::size_t>(n));
      exact.reserve(terms.capacity());
      for_each_in(c, [&](std::int64_t i) {
        exact.push_back(term(i));
        terms.push_back(static_cast<float>(exact.back()));
      });
      return Sum(terms, exact);
    };
    const Sum total = sum_of([&](auto i) { return double(x[i]); });
    const double m = total.exact / n;
    const Sum squares = sum_of([&](auto i) { return (x[i] - m) * (x[i] - m); });
    const double v = squares.exact / n;
    const double inverse = 1 / std::sqrt(v + double(attrs_.epsilon));
    const auto normalized = [&](auto i) { return (x[i] - m) * inverse; };
    ASSERT_NEAR(mean[c], m, total.allowed() / n);
    ASSERT_NEAR(variance[c], v, squares.allowed() / n);
    const double unbias = n > 1 ? n / (n - 1) : 1;
    ASSERT_NEAR(new_mean[c], 0.9 * contents(running_mean_)[c] + 0.1 * m,
                0.1 * total.allowed() / n + 2 * kEpsilon * (1 + std::abs(m)));
    ASSERT_NEAR(new_variance[c],
                0.9 * contents(running_variance_)[c] + 0.1 * v * unbias,
                0.1 * squares.allowed() / n + 2 * kEpsilon * (1 + v));

    const Sum gradient = sum_of([&](auto i) { return double(g[i]); });
    const Sum product = sum_of([&](auto i) { return g[i] * normalized(i); });
    ASSERT_NEAR(dbeta[c], gradient.exact, gradient.allowed());
    // Differences are taken from the mean's first 18 bits; the rest counts for
    // spreads far below the mean only.
    const double rest = 2e-5 * std::abs(m) * inverse;
    ASSERT_NEAR(dgamma[c], product.exact,
                product.allowed() +
                    kEpsilon * rest * gradient.magnitude / std::sqrt(n));
    // A few roundings of numbers of this size.
    double worst_y = 0, worst_dx = 0;
    for_each_in(c, [&](std::int64_t i) {
      const double z = normalized(i), slope = gamma[c] * inverse;
      const double rest = gradient.exact / n + z * product.exact / n;
      const double y_error = std::abs(y[i] - (gamma[c] * z + beta[c]));
      const double dx_error = std::abs(dx[i] - slope * (g[i] - rest));
      const double size = 1 + std::abs(g[i]) + std::abs(rest);
      worst_y = std::max(worst_y, y_error / (1 + std::abs(z)));
      worst_dx = std::max(worst_dx, dx_error / (std::abs(slope) * size));
    });
    ASSERT_LE(worst_y, 4 * kEpsilon);
    ASSERT_LE(worst_dx, 4 * kEpsilon);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, NormAccuracy,
    ::testing::Values(Data{"constant", {32, 8, 56, 56}, 0.7f, 0},
                      Data{"constant_blocked", {32, 16, 28, 28}, 0.7f, 0, true},
                      Data{"mean_0", {4, 4, 50, 50}, 0, 1},
                      Data{"mean_10", {32, 8, 56, 56}, 10, 1},
                      Data{"mean_10_blocked", {32, 20, 28, 28}, 10, 1, true},
                      Data{"mean_1e4", {16, 8, 30, 31}, 1e4f, 1},
                      Data{"mean_1e4_blocked", {16, 20, 15, 17}, 1e4f, 1, true},
                      Data{"large_images", {8, 3, 224, 224}, 0.5f, 0.25f},
                      Data{"ten_million", {10, 1, 1000, 1000}, 3, 1},
                      Data{"vectors", {100000, 7}, -5, 2},
                      Data{"wide_vectors", {1000, 100}, 1e4f, 1},
                      Data{"sequences", {20, 33, 501}, 10, 1},
                      Data{"volumes", {3, 5, 20, 21, 22}, 10, 1},
                      Data{"tiny_spread", {8, 4, 32, 32}, 1, 1e-3f},
                      Data{"one_sample", {1, 50}, 1e4f, 1}),
    [](const auto& info) { return info.param.name; });

// Half of the image is a border: the first samples say nothing of the others.
TEST(NormAccuracyOf, ABorder) {
  Case test;
  const ValueId x = test.input({1, 2, 100, 100});
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Floats& data = test.data[0].second;
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = i % 10000 < 5000 ? 0 : 100 + 0.01f * normal(random);
  }
  const ValueId mean = test.input({2}, Role::Variable);
  const ValueId variance = test.input({2}, Role::Variable);
  const auto results =
      test.program.append(OpKind::BatchNorm, BatchNormAttrs{},
                          {x, kNoValue, kNoValue, mean, variance});
  const ProgramRun run = test.run(results);
  const Floats& x_data = test.values(0);
  for (std::size_t c = 0; c < 2; ++c) {
    double m = 0, v = 0;
    for (std::size_t i = 0; i < 10000; ++i) m += x_data[c * 10000 + i] / 1e4;
    for (std::size_t i = 0; i < 10000; ++i) {
      v += (x_data[c * 10000 + i] - m) * (x_data[c * 10000 + i] - m) / 1e4;
    }
    EXPECT_NEAR(run.get(results[1])[c], m, kEpsilon * m);
    EXPECT_NEAR(run.get(results[2])[c], v, kEpsilon * v);
  }
}

// They spoil their own channel only.
TEST(NormAccuracyOf, AnInfinityAndNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  Case test;
  const ValueId x = test.input({3, 4, 9, 9});
  Floats& data = test.data[0].second;
  data[5] = infinity;
  data[81 + 7] = -infinity;
  data[2 * 81 + 80] = std::numeric_limits<float>::quiet_NaN();
  const ValueId mean = test.input({4}, Role::Variable);
  const ValueId variance = test.input({4}, Role::Variable);
  const auto results =
      test.program.append(OpKind::BatchNorm, BatchNormAttrs{},
                          {x, kNoValue, kNoValue, mean, variance});
  const ProgramRun run = test.run(results);
  const Floats y = run.get(results[0]), means = run.get(results[1]);
  EXPECT_EQ(means[0], infinity);
  EXPECT_EQ(means[1], -infinity);
  EXPECT_TRUE(std::isnan(means[2]));
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(std::isnan(y[i]), i / 81 % 4 < 3) << "element " << i;
  }
}

}  // namespace
}  // namespace traingraph::testing
