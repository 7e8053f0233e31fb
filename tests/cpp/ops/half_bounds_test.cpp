// SPDX-License-Identifier: MIT
// The bounds of half_bounds.h tell what is right from what is nearly so.
#include "support/half_bounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "ops/cases.h"
#include "support/half_rounding.h"
#include "support/operand_rounding.h"

namespace traingraph::testing {
namespace {

class HalfBounds : public ::testing::TestWithParam<DataType> {
 protected:
  DataType type() const { return GetParam(); }

  std::vector<double> draw(std::int64_t n) {
    std::normal_distribution<double> normal;
    std::vector<double> x;
    for (std::int64_t i = 0; i < n; ++i) {
      x.push_back(round_to(type(), normal(random_)));
    }
    return x;
  }
  /// What the cases of the table allow float32.
  static double float_error(double e) {
    return OpCase().tolerance * std::max(1.0, std::abs(e));
  }
  bool accepts(double stored, double e) const {
    return is_rounded(stored, e, float_error(e), type());
  }
  /// The share of sums of `depth` products that is accepted where a product
  /// adds each term to its sum by `add`.
  double share_of_sums(int depth,
                       const std::function<double(double, double)>& add) {
    constexpr int kSums = 500;
    int accepted = 0;
    for (int i = 0; i < kSums; ++i) {
      const auto x = draw(depth), y = draw(depth);
      double exact = 0, sum = 0;
      for (int k = 0; k < depth; ++k) {
        exact += x[k] * y[k];
        sum = add(sum, x[k] * y[k]);
      }
      accepted += accepts(round_to(type(), sum), exact);
    }
    return accepted / double{kSums};
  }

  Random random_{20261123};  // shares of what is drawn are compared
};

TEST_P(HalfBounds, TakeSumsInFloat32) {
  const auto add = [](double sum, double term) {
    return round_to(DataType::Float32, sum + term);
  };
  EXPECT_EQ(share_of_sums(4, add), 1);
  EXPECT_EQ(share_of_sums(64, add), 1);
}

TEST_P(HalfBounds, RefuseSumsIn16Bits) {
  const auto add = [this](double sum, double term) {
    return round_to(type(), sum + term);
  };
  EXPECT_LT(share_of_sums(4, add), 0.8);
  EXPECT_LT(share_of_sums(64, add), 0.3);
}

TEST_P(HalfBounds, RefuseCastsThatTruncate) {
  const auto truncate = [this](double x) {
    const double nearest = round_to(type(), x);
    const double ulp = 2 * unit_roundoff(type()) *
                       std::exp2(std::ilogb(nearest == 0 ? 1 : nearest));
    if (std::abs(nearest) <= std::abs(x)) return nearest;
    return round_to(type(), nearest - std::copysign(ulp / 2, nearest) -
                                std::copysign(ulp / 8, nearest));
  };
  std::normal_distribution<double> normal;
  int accepted = 0;
  constexpr int kNumbers = 1000;
  for (int i = 0; i < kNumbers; ++i) {
    const double x = normal(random_);
    EXPECT_TRUE(accepts(round_to(type(), x), x)) << x;
    accepted += accepts(truncate(x), x);
  }
  EXPECT_LT(accepted, 0.6 * kNumbers);
}

// A state that is rounded where it is multiplied, and nowhere else, is what the
// reference has; sums in 16 bits, or a state that is kept so, are not.
TEST_P(HalfBounds, OfStepsTellRoundingsOfOperandsFromOthers) {
  constexpr std::int64_t kSteps = 4, kHidden = 8;
  constexpr double kError = OpCase().tolerance;
  using Map = std::function<double(double)>;
  const Map rounded = [this](double x) { return round_to(type(), x); };
  const Map exact = [](double x) { return x; };
  int count = 0, accepted = 0, accepted_sums = 0, accepted_states = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const auto x = draw(kSteps * kHidden), w = draw(kHidden * kHidden);
    const auto run = [&](const auto& multiplied, const Map& sum_of,
                         const Map& kept) {
      std::vector<double> h(kHidden, 0.0);
      for (std::int64_t t = 0; t < kSteps; ++t) {
        const std::vector<double> last = multiplied(h);
        for (std::int64_t j = 0; j < kHidden; ++j) {
          double sum = x[t * kHidden + j];
          for (std::int64_t k = 0; k < kHidden; ++k) {
            sum = sum_of(sum + 0.3 * w[j * kHidden + k] * last[k]);
          }
          h[j] = kept(0.5 * h[j] + 0.5 * std::tanh(sum));
        }
      }
      return RefTensors{{Shape{kHidden}, h}};
    };
    const auto round_all = [&](std::vector<double> h) {
      for (double& each : h) each = rounded(each);
      return h;
    };
    const RoundedRun expected = run_rounded(
        type(), kError, [&] { return run(operands, exact, exact); });
    if (!expected.is_certain) continue;
    const auto is_accepted = [&](const RefTensors& got) {
      return std::ranges::equal(
          got[0].data, expected.results[0].data,
          [&](double a, double e) { return accepts(rounded(a), e); });
    };
    ++count;
    accepted += is_accepted(run(round_all, exact, exact));
    accepted_sums += is_accepted(run(round_all, rounded, exact));
    accepted_states += is_accepted(run(round_all, exact, rounded));
  }
  EXPECT_GT(count, 10);
  EXPECT_EQ(accepted, count);
  EXPECT_LT(accepted_sums, 0.2 * count);
  EXPECT_LT(accepted_states, 0.5 * count);
}

// What may go either way is within what all operands may change together.
TEST_P(HalfBounds, OfStepsHoldForEveryRounding) {
  const double unit = unit_roundoff(type());
  for (int trial = 0; trial < 100; ++trial) {
    const auto x = draw(6), w = draw(6);
    const auto sum = [&](const auto& factor) {
      double total = 0;
      for (int k = 0; k < 6; ++k) total += factor(x[k]) * w[k];
      return RefTensors{{Shape{1}, {std::tanh(total)}}};
    };
    const double exact = sum([](double v) { return v; })[0].data[0];
    const double most =
        changes_by_operands(unit, [&] { return sum(operand); })[0].data[0];
    const double off =
        sum([&](double v) {
          return v * (random_() % 2 == 0 ? 1 + unit / 2 : 1 - unit / 2);
        })[0]
            .data[0];
    EXPECT_LE(std::abs(off - exact), most);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, HalfBounds, ::testing::Values(DataType::Float16, DataType::BFloat16),
    [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace traingraph::testing
