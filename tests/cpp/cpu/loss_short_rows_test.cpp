// SPDX-License-Identifier: MIT
// Softmax cross-entropy of few classes, whose samples are computed side by
// side, against the definition in double and against any other grouping.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

struct Batch {
  std::int64_t samples, classes;
  Values y, t;

  Batch(std::int64_t samples, std::int64_t classes)
      : samples(samples),
        classes(classes),
        y(random_values(samples * classes, 1)),
        t(random_values(samples * classes, 2)) {
    for (double& logit : y) logit *= 5;
  }
  Shape shape() const { return {samples, classes}; }

  Values losses(double smoothing) const {
    Values result;
    for (std::int64_t n = 0; n < samples; ++n) {
      const double* logits = y.data() + n * classes;
      double sum = 0, loss = 0;
      for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(logits[c]);
      for (std::int64_t c = 0; c < classes; ++c) {
        const double label = t[n * classes + c] * (1 - smoothing) +
                             smoothing / static_cast<double>(classes);
        loss -= label * (logits[c] - std::log(sum));
      }
      result.push_back(loss);
    }
    return result;
  }

  Values slopes() const {
    Values result(y.size());
    for (std::int64_t n = 0; n < samples; ++n) {
      double sum = 0, labels = 0;
      for (std::int64_t c = 0; c < classes; ++c) {
        sum += std::exp(y[n * classes + c]);
        labels += t[n * classes + c];
      }
      for (std::int64_t c = 0; c < classes; ++c) {
        const std::int64_t at = n * classes + c;
        result[at] = std::exp(y[at]) / sum * labels - t[at];
      }
    }
    return result;
  }
};

constexpr LossAttrs attrs(float smoothing = 0) {
  LossAttrs each;
  each.type = LossType::SoftmaxCrossEntropy;
  each.reduction = ReductionType::None;
  each.label_smoothing = smoothing;
  return each;
}

TEST(ShortRows, AreRightForAllNumbersOfClassesAndSamples) {
  for (const std::int64_t classes : {1, 2, 3, 4, 7, 10, 16, 31, 32, 33, 50}) {
    for (const std::int64_t samples : {1, 5, 15, 16, 17, 100}) {
      const Batch batch(samples, classes);
      SCOPED_TRACE(batch.shape().to_string());
      for (const float smoothing : {0.0f, 0.25f}) {
        OpRun loss(OpKind::Loss, attrs(smoothing));
        loss.input(batch.shape(), batch.y).input(batch.shape(), batch.t).run();
        expect_near(loss.result(0), batch.losses(smoothing), 2e-5);
      }
      OpRun gradient(OpKind::LossGradient, attrs());
      gradient.input({samples}, Values(samples, 1.0))
          .input(batch.shape(), batch.y)
          .input(batch.shape(), batch.t)
          .run();
      expect_near(gradient.result(0), batch.slopes(), 5e-6);
    }
  }
}

TEST(ShortRows, NotANumberStaysInItsSample) {
  Batch batch(20, 10);
  batch.y[3 * 10 + 4] = NAN;
  for (std::int64_t c = 0; c < 10; ++c) {
    batch.t[4 * 10 + c] = c == 1;
    batch.t[5 * 10 + c] = c == 1;
  }
  // A class that cannot be, without label and with it.
  batch.y[4 * 10 + 2] = -INFINITY;
  batch.y[5 * 10 + 1] = -INFINITY;
  OpRun loss(OpKind::Loss, attrs());
  loss.input(batch.shape(), batch.y).input(batch.shape(), batch.t).run();
  const Values got = loss.result(0);
  for (std::int64_t n = 0; n < 20; ++n) {
    EXPECT_EQ(std::isnan(got[n]), n == 3) << n;
    EXPECT_EQ(std::isinf(got[n]), n == 5) << n;
  }
}

}  // namespace
}  // namespace traingraph::testing
