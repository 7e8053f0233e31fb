// SPDX-License-Identifier: MIT
// Softmax, the losses and their gradients against the definitions in double and
// central differences of these.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/loss_options.h"
#include "support/run_op.h"

namespace traingraph::testing {
namespace {

// float32 arithmetic over a few hundred elements.
constexpr double kTolerance = 2e-5;

// Softmax.

Values softmax(const Values& x, const Shape& shape, int axis, bool is_log) {
  std::int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  Values y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) / inner % shape[axis];
    double sum = 0;
    for (std::int64_t k = 0; k < shape[axis]; ++k) {
      sum += std::exp(x[i + (k - at) * inner] - x[i]);
    }
    y[i] = is_log ? -std::log(sum) : 1 / sum;
  }
  return y;
}

TEST(Softmax, EveryAxisBothOperationsAndGradients) {
  // The middle axis has more columns than one block.
  const Shape shape{3, 4, 70};
  const Values x = random_values(840, 1), g = random_values(840, 2);
  for (int axis = 0; axis < 3; ++axis) {
    for (const bool is_log : {false, true}) {
      SCOPED_TRACE(axis * 2 + is_log);
      const SoftmaxAttrs attrs{
          is_log ? SoftmaxOperation::LogSoftmax : SoftmaxOperation::Softmax,
          axis};
      const Values y = softmax(x, shape, axis, is_log);
      OpRun forward(OpKind::Softmax, attrs);
      forward.input(shape, x).run();
      // oneDNN's vectorised logarithm is off by up to 5e-6.
      expect_near(forward.result(0), y, is_log ? 1e-5 : 1e-6);
      OpRun backward(OpKind::SoftmaxGradient, attrs);
      backward.input(shape, g).input(shape, y).run();
      const Values expected = derivative(x, [&](const Values& v) {
        const Values y = softmax(v, shape, axis, is_log);
        return std::inner_product(g.begin(), g.end(), y.begin(), 0.0);
      });
      expect_near(backward.result(0), expected, 1e-5);
    }
  }
}

TEST(Softmax, LargeLogitsDoNotOverflow) {
  OpRun run(OpKind::Softmax, SoftmaxAttrs{});
  run.input({1, 3}, {1000, 1000, -1000}).run();
  expect_near(run.result(0), {0.5, 0.5, 0}, 1e-6);
  OpRun log(OpKind::Softmax, SoftmaxAttrs{SoftmaxOperation::LogSoftmax, 1});
  log.input({1, 2}, {0, -500}).run();
  expect_near(log.result(0), {0, -500}, 1e-4);
}

// Losses.

struct LossCase {
  LossType type;
  Shape shape;
  Shape weights;  // empty: no weights
  // Weight of element loss i is number weight_of[i] of the weights.
  std::vector<int> weight_of;
};

/// Element losses, before any weight, straight from the definitions.
Values element_losses(const LossAttrs& attrs, const Shape& shape,
                      const Values& ys, const Values& ts) {
  using enum LossType;
  const double s = attrs.label_smoothing, delta = attrs.delta;
  const std::int64_t n = shape.num_elements();
  const bool has_classes = attrs.type == SoftmaxCrossEntropy ||
                           attrs.type == CategoricalCrossEntropy;
  if (has_classes) {
    const std::int64_t classes = shape[1], inner = n / (shape[0] * classes);
    const double count = attrs.class_count > 1 ? attrs.class_count : classes;
    Values losses(n / classes);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t sample = i / (classes * inner), at = i % inner;
      double likelihood = std::log(ys[i]);
      if (attrs.type == SoftmaxCrossEntropy) {
        double sum = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
          sum += std::exp(ys[(sample * classes + c) * inner + at] - ys[i]);
        }
        likelihood = -std::log(sum);
      }
      losses[sample * inner + at] -= (ts[i] * (1 - s) + s / count) * likelihood;
    }
    return losses;
  }
  if (attrs.type == CosineDistance) {
    Values losses(shape[0], 1.0);
    for (std::int64_t i = 0; i < n; ++i) {
      losses[i / (n / shape[0])] -= ys[i] * ts[i];
    }
    return losses;
  }
  Values losses(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const double y = ys[i], t = ts[i], d = std::fabs(y - t);
    const double e = attrs.epsilon, smooth = t * (1 - s) + s / 2;
    losses[i] = attrs.type == MeanAbsoluteError  ? d
                : attrs.type == MeanSquaredError ? d * d
                : attrs.type == SigmoidCrossEntropy
                    ? std::max(y, 0.0) - y * smooth +
                          std::log1p(std::exp(-std::fabs(y)))
                : attrs.type == Hinge ? std::max(0.0, 1 - (2 * t - 1) * y)
                : attrs.type == Huber
                    ? (d <= delta ? d * d / 2 : delta * (d - delta / 2))
                : attrs.type == Log
                    ? -t * std::log(y + e) - (1 - t) * std::log(1 - y + e)
                    : t * (std::log(t) - y);
  }
  return losses;
}

class Loss : public ::testing::TestWithParam<LossCase> {};

TEST_P(Loss, ValueAndGradientMatchTheDefinition) {
  const auto& [type, case_shape, weights_shape, case_weight_of] = GetParam();
  // What lambdas capture: with OpenMP, clang 16 captures no parts of a binding.
  const auto& shape = case_shape;
  const auto& weight_of = case_weight_of;
  const std::int64_t n = shape.num_elements();
  Values y = random_values(n, 11), t = random_values(n, 12);
  const bool is_probability =
      type == LossType::CategoricalCrossEntropy || type == LossType::Log;
  for (double& v : t) v = (v + 2) / 4;
  for (double& v : y) v = is_probability ? (v + 2) / 5 + 0.0625 : v;
  const Values weights = random_values(
      weights_shape.empty() ? 0 : weights_shape.num_elements(), 13);

  for (const auto reduction :
       {ReductionType::None, ReductionType::Sum, ReductionType::Mean}) {
    SCOPED_TRACE(std::string(to_string(type)) + " " +
                 std::string(to_string(reduction)) + weights_shape.to_string());
    const LossAttrs attrs = without_unused(LossAttrs{.type = type,
                                                     .reduction = reduction,
                                                     .weight = 1.5f,
                                                     .label_smoothing = 0.25f,
                                                     .epsilon = 1e-3f,
                                                     .delta = 0.75f});
    const auto loss = [&](const Values& y) {
      Values losses = element_losses(attrs, shape, y, t);
      for (std::size_t i = 0; i < losses.size(); ++i) {
        losses[i] *= attrs.weight;
        if (!weights.empty()) losses[i] *= weights[weight_of[i]];
      }
      if (reduction == ReductionType::None) return losses;
      const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
      const bool is_mean = reduction == ReductionType::Mean;
      return Values{is_mean ? sum / static_cast<double>(losses.size()) : sum};
    };
    const Values expected = loss(y);
    OpRun forward(OpKind::Loss, attrs);
    forward.input(shape, y).input(shape, t);
    if (!weights.empty()) forward.input(weights_shape, weights);
    forward.run();
    expect_near(forward.result(), expected, kTolerance);

    const Values g = random_values(expected.size(), 14);
    OpRun backward(OpKind::LossGradient, attrs);
    backward.input(forward.result_shape(), g).input(shape, y).input(shape, t);
    if (!weights.empty()) backward.input(weights_shape, weights);
    backward.run();
    expect_near(backward.result(),
                derivative(y,
                           [&](const Values& y) {
                             const Values losses = loss(y);
                             return std::inner_product(g.begin(), g.end(),
                                                       losses.begin(), 0.0);
                           }),
                5e-5);
  }
}

std::vector<LossCase> loss_cases() {
  std::vector<LossCase> cases;
  for (int type = 0;
       type <= static_cast<int>(LossType::KullbackLeiblerDivergence); ++type) {
    const auto loss = static_cast<LossType>(type);
    const bool has_classes = loss == LossType::SoftmaxCrossEntropy ||
                             loss == LossType::CategoricalCrossEntropy;
    cases.push_back({loss, {3, 4, 1, 5}, {}, {}});
    cases.push_back({loss, {3, 4}, {1}, std::vector<int>(12)});
    if (has_classes) {
      cases.push_back({loss, {2, 3, 2}, {2, 1, 1}, {0, 0, 1, 1}});
      cases.push_back({loss, {2, 3, 2}, {2, 1, 2}, {0, 1, 2, 3}});
      cases.push_back({loss, {2, 3, 3}, {3}, {0, 1, 2, 0, 1, 2}});
      cases.push_back({loss, {3, 4}, {3, 1}, {0, 1, 2}});
      cases.push_back({loss, {2, 3, 70}, {}, {}});  // more than one block
    } else if (loss == LossType::CosineDistance) {
      cases.push_back({loss, {3, 4, 2}, {3}, {0, 1, 2}});
      cases.push_back({loss, {3, 4, 2}, {3, 1, 1}, {0, 1, 2}});
    } else {
      cases.push_back({loss, {2, 3}, {2, 1}, {0, 0, 0, 1, 1, 1}});
      cases.push_back({loss, {2, 3}, {3}, {0, 1, 2, 0, 1, 2}});
      cases.push_back({loss, {2, 3}, {2, 3}, {0, 1, 2, 3, 4, 5}});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Cases, Loss, ::testing::ValuesIn(loss_cases()));

Values loss_of(const LossAttrs& attrs, Shape shape, Values y, Values t) {
  OpRun run(OpKind::Loss, attrs);
  run.input(shape, y).input(shape, t).run();
  return run.result();
}

Values slope_of(const LossAttrs& attrs, Shape shape, Values y, Values t) {
  OpRun run(OpKind::LossGradient, attrs);
  run.input({1}, {1}).input(shape, y).input(shape, t).run();
  return run.result();
}

TEST(LossEdges, SlopesAtKinks) {
  const auto sum = ReductionType::Sum;
  expect_near(
      slope_of({LossType::MeanAbsoluteError, sum}, {3}, {1, 2, 3}, {2, 2, 2}),
      {-1, 0, 1}, 0);
  expect_near(slope_of({LossType::Hinge, sum}, {3}, {1, 0.5, -1}, {1, 1, 0}),
              {0, -1, 0}, 0);
  expect_near(slope_of({LossType::Huber, sum}, {3}, {3, 0.5, -1}, {0, 0, 0}),
              {1, 0.5, -1}, 0);
}

TEST(LossEdges, StableForLargeLogits) {
  const LossAttrs softmax{.type = LossType::SoftmaxCrossEntropy};
  expect_near(loss_of(softmax, {1, 2}, {1000, 0}, {0, 1}), {1000}, 1e-6);
  expect_near(slope_of(softmax, {1, 2}, {1000, 0}, {0, 1}), {1, -1}, 1e-6);
  const double infinity = std::numeric_limits<double>::infinity();
  expect_near(loss_of(softmax, {1, 2}, {0, -infinity}, {1, 0}), {0}, 0);
  const LossAttrs sigmoid{.type = LossType::SigmoidCrossEntropy};
  expect_near(loss_of(sigmoid, {2}, {500, -500}, {0, 1}), {500}, 1e-6);
  expect_near(slope_of(sigmoid, {2}, {500, -500}, {0, 1}), {0.5, -0.5}, 1e-6);
  const LossAttrs categorical{.type = LossType::CategoricalCrossEntropy};
  expect_near(loss_of(categorical, {1, 2}, {1, 0}, {1, 0}), {0}, 0);
  expect_near(slope_of(categorical, {1, 2}, {1, 0}, {1, 0}), {-1, 0}, 0);
}

TEST(LossEdges, ClassCountReplacesTheAxisSize) {
  LossAttrs attrs{.type = LossType::SoftmaxCrossEntropy,
                  .label_smoothing = 0.5f,
                  .class_count = 4};
  // t' = {0.625, 0.125}; both classes have log-likelihood -ln 2.
  expect_near(loss_of(attrs, {1, 2}, {0, 0}, {1, 0}), {0.75 * std::log(2)},
              1e-6);
}

TEST(LossEdges, LongMeansAreExact) {
  const std::int64_t n = 300001;
  const LossAttrs attrs{.type = LossType::MeanSquaredError};
  Values y(n, 1.0);
  y[0] = 8192;  // 2^26 + (n - 1) has more digits than a float
  expect_near(loss_of(attrs, {n}, y, Values(n)),
              {(67108864.0 + 300000) / static_cast<double>(n)}, 1e-7);
}

}  // namespace
}  // namespace traingraph::testing
