// SPDX-License-Identifier: MIT
// Softmax and the losses at their edges: kinks, large logits, long means.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

TEST(Softmax, LargeLogitsDoNotOverflow) {
  OpRun run(OpKind::Softmax, SoftmaxAttrs{});
  run.input({1, 3}, {1000, 1000, -1000}).run();
  expect_near(run.result(0), {0.5, 0.5, 0}, 1e-6);
  OpRun log(OpKind::Softmax, SoftmaxAttrs{SoftmaxOperation::LogSoftmax, 1});
  log.input({1, 2}, {0, -500}).run();
  expect_near(log.result(0), {0, -500}, 1e-4);
}

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
