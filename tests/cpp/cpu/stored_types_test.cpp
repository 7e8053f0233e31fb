// SPDX-License-Identifier: MIT
// Loops over floats that are stored in fewer bits. Each element of a result may
// be off by the one rounding with which it is stored; a loop that rounds twice,
// or adds up in what it stores, is off by more.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "cpu/broadcast.h"
#include "cpu/ops/elementwise_lowering.h"
#include "cpu/ops/loss_class_loops.h"
#include "cpu/ops/norm_gradient_loops.h"
#include "cpu/ops/norm_loops.h"
#include "cpu/ops/norm_sample_gradient_loops.h"
#include "cpu/ops/norm_softmax_loops.h"
#include "cpu/ops/reduce_loops.h"
#include "traingraph/half_types.h"

namespace traingraph::cpu {
namespace {

using Half = bfloat16;
static_assert(!is_exact<Half> && sizeof(Half) == 2);

using Halves = std::vector<Half>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

/// Half a unit in the last of 8 bits, and float arithmetic before it.
double one_rounding(double exact) {
  return std::exp2(std::ilogb(exact) - 8) + 1e-6 * std::abs(exact);
}

Halves random_halves(std::size_t n, float mean = 0, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean);
  Halves values(n);
  for (Half& value : values) value = normal(random);
  return values;
}

/// `floor`: what the terms of a result that cancel explain.
void expect_rounded_once(const Halves& got, const Doubles& exact,
                         double floor = 1e-30) {
  ASSERT_EQ(got.size(), exact.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], exact[i], one_rounding(exact[i]) + floor) << "at " << i;
  }
}

TEST(StoredTypes, AnElementIsUpcastAndRounded) {
  constexpr std::int64_t kSize = 1000;
  const Halves x = random_halves(kSize), y = random_halves(kSize, 2, 2);
  Halves mapped(kSize), zipped(kSize);
  map_floats(kSize, kSize, x.data(), mapped.data(),
             [](float a) { return 3 * a + 1 / 3.0f; });
  zip_floats(kSize, kSize, x.data(), y.data(), zipped.data(),
             [](float a, float b) { return a * b * a; });
  Doubles map_exact, zip_exact;
  for (std::int64_t i = 0; i < kSize; ++i) {
    const double a = x[i], b = y[i];
    map_exact.push_back(3 * a + 1 / 3.0);
    zip_exact.push_back(a * b * a);
  }
  expect_rounded_once(mapped, map_exact, /*floor=*/1e-6);
  expect_rounded_once(zipped, zip_exact);
  EXPECT_TRUE(is_finite(x.data(), kSize));
  mapped[7] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(is_finite(mapped.data(), kSize));
}

TEST(StoredTypes, OperandsBroadcast) {
  const Halves x = random_halves(6 * 50), row = random_halves(50, 0, 2);
  Halves z(x.size());
  const auto plan = plan_broadcast<2>({6, 50}, {Shape{6, 50}, Shape{50}});
  broadcast_binary<Half>(plan, 1 << 20, x.data(), row.data(), z.data(),
                         [](float a, float b) { return a * b; });
  Doubles exact;
  for (std::size_t i = 0; i < x.size(); ++i) {
    exact.push_back(static_cast<double>(x[i]) * row[i % 50]);
  }
  expect_rounded_once(z, exact);
}

// 100,000 ones in steps of the stored type would stop at 256.
TEST(StoredTypes, SumsAreNotStored) {
  const Halves x = random_halves(100'000, 1);
  double exact = 0;
  for (Half each : x) exact += each;
  Half sum, mean;
  float squares = 0;
  const ReducePlan plan(Shape{100'000}, {});
  std::vector<double> partial(plan.num_chunks * plan.num_outputs);
  run_reduce<Sum>(plan, x.data(), &sum, partial.data());
  EXPECT_NEAR(sum, exact, one_rounding(exact));
  run_reduce<Mean>(plan, x.data(), &mean, partial.data());
  EXPECT_NEAR(mean, exact / 1e5, one_rounding(exact / 1e5));
  run_reduce<SquareSum>(plan, x.data(), &squares, partial.data());
  double square = 0;
  for (Half each : x) square += static_cast<double>(each) * each;
  EXPECT_NEAR(squares, square, 1e-7 * square);  // float32 whatever x is
}

TEST(StoredTypes, ExtremaAreElements) {
  Halves x = random_halves(7 * 300);
  x[2 * 300 + 11] = 9;
  Halves largest(7);
  std::vector<std::int32_t> index(7);
  const ReducePlan plan(Shape{7, 300}, {1});
  run_reduce<Max>(plan, x.data(), largest.data(), nullptr);
  run_index_of<Max>(x.data(), index.data(), 7, 300, 1);
  EXPECT_EQ(largest[2], 9.0f);
  EXPECT_EQ(index[2], 11);
  for (int row = 0; row < 7; ++row) {
    EXPECT_EQ(largest[row], static_cast<float>(x[row * 300 + index[row]]));
  }
}

/// Softmax in double: [outer, n, inner].
Doubles softmax_of(const Halves& x, const SoftmaxView& v, bool is_log) {
  Doubles y(x.size());
  for (std::int64_t o = 0; o < v.outer; ++o) {
    for (std::int64_t j = 0; j < v.inner; ++j) {
      const auto at = [&](std::int64_t k) {
        return (o * v.length + k) * v.inner + j;
      };
      double sum = 0;
      for (std::int64_t k = 0; k < v.length; ++k) {
        sum += std::exp(static_cast<double>(x[at(k)]));
      }
      for (std::int64_t k = 0; k < v.length; ++k) {
        const double log = static_cast<double>(x[at(k)]) - std::log(sum);
        y[at(k)] = is_log ? log : std::exp(log);
      }
    }
  }
  return y;
}

struct SoftmaxCase {
  Shape shape;
  std::int64_t axis;
};

// Long rows, rows shorter than a vector, and columns; in place, too.
TEST(StoredTypes, SoftmaxIsRoundedOnce) {
  const SoftmaxCase cases[] = {{{5, 900}, 1}, {{9, 7}, 1}, {{2, 30, 70}, 1}};
  for (const auto& [shape, axis] : cases) {
    const SoftmaxView view(shape, axis);
    const Halves x = random_halves(shape.num_elements());
    for (bool is_log : {false, true}) {
      SCOPED_TRACE(shape.to_string() + (is_log ? " log" : ""));
      const auto run =
          view.inner == 1 ? softmax_rows<Half> : softmax_columns<Half>;
      Halves y(x.size()), in_place = x;
      run(view, is_log, x.data(), y.data());
      run(view, is_log, in_place.data(), in_place.data());
      const Doubles exact = softmax_of(x, view, is_log);
      expect_rounded_once(y, exact);
      expect_rounded_once(in_place, exact);
    }
  }
}

TEST(StoredTypes, SoftmaxGradientIsRoundedOnce) {
  for (const Shape& shape : {Shape{5, 900, 1}, Shape{2, 30, 70}}) {
    SCOPED_TRACE(shape.to_string());
    const SoftmaxView view(shape, 1);
    const Halves y = random_halves(shape.num_elements(), 1);
    const Halves g = random_halves(y.size(), 0, 2);
    Halves dx(y.size());
    const auto run = view.inner == 1 ? softmax_rows_gradient<Half>
                                     : softmax_columns_gradient<Half>;
    run(view, /*is_log=*/false, g.data(), y.data(), dx.data());
    Doubles exact(y.size());
    double largest = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::int64_t inner = view.inner, block = view.length * inner;
      const std::int64_t first = i / block * block + i % inner;
      double sum = 0;
      for (std::int64_t k = 0; k < view.length; ++k) {
        const std::int64_t at = first + k * inner;
        sum += static_cast<double>(g[at]) * y[at];
      }
      exact[i] = y[i] * (g[i] - sum);
      largest = std::max(largest, std::abs(exact[i]));
    }
    expect_rounded_once(dx, exact, /*floor=*/1e-6 * largest);
  }
}

// (4, 3, 500), plain: statistics of what is stored, as exact as for floats.
class StoredNorm : public ::testing::Test {
 protected:
  static constexpr std::int64_t kBatch = 4, kChannels = 3, kInner = 500;
  static constexpr double kCount = kBatch * kInner;

  StoredNorm() {
    for (std::int64_t task = 0; task < plan.num_tasks(); ++task) {
      measure_moments(plan, plan.task(task), x.data(), totals.data());
    }
    for (std::size_t i = 0; i < x.size(); ++i) mean[channel(i)] += x[i];
    for (double& each : mean) each /= kCount;
    for (std::size_t i = 0; i < x.size(); ++i) {
      variance[channel(i)] += std::pow(x[i] - mean[channel(i)], 2) / kCount;
    }
  }
  static std::int64_t channel(std::size_t i) { return i / kInner % kChannels; }

  const NormPlan plan{*ChannelView::of(
      Layout::plain({kBatch, kChannels, kInner}, DataType::Float32))};
  const Halves x = random_halves(kBatch * kChannels * kInner, 3);
  std::vector<double> totals = Doubles(num_totals(plan, 3));
  Doubles mean = Doubles(kChannels), variance = Doubles(kChannels);
};

TEST_F(StoredNorm, StatisticsAreExact) {
  for (std::int64_t c = 0; c < kChannels; ++c) {
    const Moments moments = merge_moments(plan, totals.data(), c);
    EXPECT_NEAR(moments.mean, mean[c], 1e-7 * mean[c]);
    EXPECT_NEAR(moments.variance, variance[c], 1e-6 * variance[c]);
  }
}

TEST_F(StoredNorm, ResultIsRoundedOnce) {
  const Halves residual = random_halves(x.size(), 0, 2);
  Halves y(x.size());
  Floats center(kChannels), scale(kChannels), shift(kChannels);
  Affine<Half> affine;
  affine.x = x.data();
  affine.residual = residual.data();
  affine.y = y.data();
  affine.center = center.data();
  affine.scale = scale.data();
  affine.shift = shift.data();
  for (std::int64_t c = 0; c < kChannels; ++c) {
    const Moments moments = merge_moments(plan, totals.data(), c);
    affine.set(c, moments.mean, moments.variance, 0, nullptr, nullptr);
  }
  for (std::int64_t task = 0; task < plan.num_tasks(); ++task) {
    affine.run(plan, plan.task(task));
  }
  Doubles exact;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t c = channel(i);
    exact.push_back((x[i] - mean[c]) / std::sqrt(variance[c]) + residual[i]);
  }
  expect_rounded_once(y, exact, /*floor=*/2e-6);
}

TEST_F(StoredNorm, GradientSumsWhatIsKept) {
  const Halves g = random_halves(x.size(), 0, 2);
  const Halves more = random_halves(x.size(), 0, 3);
  Halves kept(x.size());
  const IncomingGradient<Half> in{.gradient = g.data(),
                                  .more = more.data(),
                                  .activated = x.data(),
                                  .negative_slope = 0.25f,
                                  .kept = kept.data()};
  Floats center(kChannels);
  for (std::int64_t c = 0; c < kChannels; ++c) center[c] = mean[c];
  for (std::int64_t task = 0; task < plan.num_tasks(); ++task) {
    measure_products(plan, plan.task(task), in, x.data(), center.data(),
                     totals.data());
  }
  Doubles exact, gradient(kChannels), product(kChannels);
  double magnitude = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double slope = x[i] > 0 ? 1 : 0.25;
    exact.push_back((static_cast<double>(g[i]) + more[i]) * slope);
    gradient[channel(i)] += kept[i];
    product[channel(i)] +=
        static_cast<double>(kept[i]) * (x[i] - center[channel(i)]);
    magnitude += std::abs(kept[i] * x[i]);
  }
  expect_rounded_once(kept, exact, /*floor=*/1e-6);
  for (std::int64_t c = 0; c < kChannels; ++c) {
    const Products sums = merge_products(plan, totals.data(), c);
    EXPECT_NEAR(sums.gradient, gradient[c], 1e-7 * magnitude);
    EXPECT_NEAR(sums.product, product[c], 1e-7 * magnitude);
  }
}

TEST(StoredTypes, RowsOfANormAreRoundedOnce) {
  constexpr std::int64_t kSize = 333;
  const Halves x = random_halves(kSize, 3), g = random_halves(kSize, 0, 2);
  double mean = 0, variance = 0, gradient = 0, product = 0;
  for (Half each : x) mean += each / double{kSize};
  for (Half each : x) variance += std::pow(each - mean, 2) / kSize;
  const double inverse = 1 / std::sqrt(variance);
  for (std::int64_t i = 0; i < kSize; ++i) {
    gradient += g[i] / double{kSize};
    product += g[i] * (x[i] - mean) * inverse / kSize;
  }
  Halves y(kSize), dx(kSize);
  const SamplePlan plan(SampleView({kSize}, {.axis = 0}), true);
  const SampleMoments moments = measure_piece(x.data(), kSize);
  SampleAffine<Half>{.x = x.data(), .y = y.data()}.run(
      plan, 0, {moments.mean, moments.variance(), 0}, 0, kSize);
  const auto near = static_cast<float>(mean);
  const RowGradient row(sum_products(g.data(), x.data(), nullptr, near, kSize),
                        near, kSize, near, static_cast<float>(variance), 0,
                        /*is_training=*/true);
  Doubles products(kSize), gradients(kSize), exact_y, exact_dx;
  ColumnSums(kSize, products.data(), gradients.data())
      .add_row(SampleElements<Half>{g.data(), x.data(), dx.data()}, row,
               nullptr);
  for (std::int64_t i = 0; i < kSize; ++i) {
    exact_y.push_back((x[i] - mean) * inverse);
    exact_dx.push_back(inverse * (g[i] - gradient - exact_y[i] * product));
    EXPECT_NEAR(products[i], g[i] * exact_y[i], 1e-6 * (1 + std::abs(g[i])));
    EXPECT_EQ(gradients[i], static_cast<float>(g[i]));
  }
  expect_rounded_once(y, exact_y, /*floor=*/1e-6);
  expect_rounded_once(dx, exact_dx, /*floor=*/1e-6);
}

// The loss is float32, its gradient stored as the prediction is.
TEST(StoredTypes, CrossEntropyIsOfFloats) {
  for (const std::int64_t classes : {40, 10}) {  // one by one, side by side
    LossPlan plan;
    plan.attrs.type = LossType::SoftmaxCrossEntropy;
    plan.attrs.reduction = ReductionType::None;
    plan.samples = plan.num_losses = 6;
    plan.classes = classes;
    const Halves y = random_halves(6 * classes);
    Floats labels(y.size()), losses(6), ones(6, 1.0f);
    for (int row = 0; row < 6; ++row) labels[row * classes + row] = 1;
    Halves dx(y.size());
    LossArgs<Half> args;
    args.prediction = y.data();
    args.labels = labels.data();
    args.result = losses.data();
    args.gradient = ones.data();
    args.dx = dx.data();
    ClassLosses().loss(plan, args);
    ClassLosses().gradient(plan, args);
    const SoftmaxView view({6, classes}, 1);
    Doubles exact = softmax_of(y, view, /*is_log=*/false);
    for (int row = 0; row < 6; ++row) {
      double& share = exact[row * classes + row];
      EXPECT_NEAR(losses[row], -std::log(share), -1e-6 * std::log(share));
      share -= 1;
    }
    expect_rounded_once(dx, exact, /*floor=*/1e-6);
  }
}

}  // namespace
}  // namespace traingraph::cpu
