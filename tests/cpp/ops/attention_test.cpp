// SPDX-License-Identifier: MIT
// What the cases of attention cannot show: queries that see no key, values that
// are not finite, scores that are large.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/run_op.h"
#include "support/test_device.h"

namespace traingraph::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kQueries = 3, kKeys = 20, kWidth = 5;
constexpr std::int64_t kHeads = 2;
const AttentionAttrs kTwoHeads{.head_count = 2};

struct Sources {
  Values query = random_values(2 * kQueries * 2 * kWidth, 1);
  Values key = random_values(2 * kKeys * 2 * kWidth, 2);
  Values value = random_values(2 * kKeys * 2 * kWidth, 3);

  OpRun& add_to(OpRun& run) const {
    return run.input({2, kQueries, 2 * kWidth}, query)
        .input({2, kKeys, 2 * kWidth}, key)
        .input({2, kKeys, 2 * kWidth}, value);
  }
};

struct Outcome {
  Values output, log_sum;
};

using AddMask = void (*)(OpRun&);

void hide_keys_of_sample_0(OpRun& run) {
  Values mask(2 * kKeys, 0);
  std::fill_n(mask.begin(), kKeys, 1);
  run.input({2, kKeys}, mask, DataType::Boolean);
}

void hide_keys_of_query_1(OpRun& run) {
  Values mask(kQueries * kKeys, 0);
  std::fill_n(mask.begin() + kKeys, kKeys, 1);
  run.no_input().input({1, kQueries, kKeys}, mask, DataType::Boolean);
}

void hide_keys_of_query_1_by_adding(OpRun& run) {
  Values mask(kQueries * kKeys, 0);
  std::fill_n(mask.begin() + kKeys, kKeys, -kInfinity);
  run.no_input().input({1, kQueries, kKeys}, mask);
}

Outcome attend(const Sources& sources, AddMask add_mask) {
  OpRun run(OpKind::Attention, kTwoHeads);
  sources.add_to(run);
  add_mask(run);
  run.run();
  return {run.result(0), run.result(1)};
}

/// The largest value of a sample and query, over all heads.
double largest_of(const Values& rows, std::int64_t sample, std::int64_t query) {
  double largest = 0;
  for (std::int64_t i = 0; i < 2 * kWidth; ++i) {
    const double x = rows[(sample * kQueries + query) * 2 * kWidth + i];
    largest = std::isnan(x) ? x : std::fmax(largest, std::abs(x));
    if (std::isnan(largest)) return largest;
  }
  return largest;
}

double log_sum_of(const Outcome& outcome, std::int64_t sample,
                  std::int64_t head, std::int64_t query) {
  return outcome.log_sum[(sample * kHeads + head) * kQueries + query];
}

class Unseeing : public ::testing::TestWithParam<AddMask> {
 protected:
  bool sees(std::int64_t sample, std::int64_t query) const {
    return GetParam() == hide_keys_of_sample_0 ? sample != 0 : query != 1;
  }
};

TEST_P(Unseeing, QueriesHaveOutputZero) {
  if (!computes()) GTEST_SKIP() << "nothing is computed";
  const Outcome outcome = attend({}, GetParam());
  for (std::int64_t sample : {0, 1}) {
    for (std::int64_t query = 0; query < kQueries; ++query) {
      const double largest = largest_of(outcome.output, sample, query);
      const double log_sum = log_sum_of(outcome, sample, 1, query);
      if (sees(sample, query)) {
        EXPECT_GT(largest, 0);
        EXPECT_TRUE(std::isfinite(log_sum));
      } else {
        EXPECT_EQ(largest, 0);
        EXPECT_EQ(log_sum, -kInfinity);
      }
    }
  }
}

TEST_P(Unseeing, QueriesHaveGradientZero) {
  if (!computes()) GTEST_SKIP() << "nothing is computed";
  const Sources sources;
  const Outcome outcome = attend(sources, GetParam());
  OpRun run(OpKind::AttentionGradient, kTwoHeads);
  run.input({2, kQueries, 2 * kWidth},
            random_values(2 * kQueries * 2 * kWidth, 4));
  sources.add_to(run)
      .input({2, kQueries, 2 * kWidth}, outcome.output)
      .input({2, kHeads, kQueries}, outcome.log_sum);
  GetParam()(run);
  run.run();
  for (std::int64_t sample : {0, 1}) {
    for (std::int64_t query = 0; query < kQueries; ++query) {
      const double largest = largest_of(run.result(0), sample, query);
      EXPECT_TRUE(std::isfinite(largest));
      EXPECT_EQ(largest > 0, sees(sample, query));
    }
  }
  for (int result : {1, 2, 3}) {
    for (double x : run.result(result)) ASSERT_TRUE(std::isfinite(x));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Unseeing,
                         ::testing::Values(hide_keys_of_sample_0,
                                           hide_keys_of_query_1,
                                           hide_keys_of_query_1_by_adding));

/// One sample, one head; more keys than a tile has, of which query i sees one.
struct OneVisible {
  static constexpr std::int64_t kLength = 600, kSize = 37;
  Values query = random_values(kLength * kSize, 1);
  Values key = random_values(kLength * kSize, 2);
  Values value = random_values(kLength * kSize, 3);
  Values gradient = random_values(kLength * kSize, 4);
  Values mask = Values(kLength * kLength, 1);
  AttentionAttrs attrs{.head_count = 1};

  OneVisible() {
    for (std::int64_t i = 0; i < kLength; ++i) {
      mask[i * kLength + i * 7 % kLength] = 0;
    }
    for (Values* x : {&query, &key}) {
      for (double& each : *x) each *= 1e6;
    }
  }

  void add_sources(OpRun& run) const {
    for (const Values* x : {&query, &key, &value}) {
      run.input({1, kLength, kSize}, *x);
    }
  }
  void add_mask(OpRun& run) const {
    run.no_input().input({1, kLength, kLength}, mask, DataType::Boolean);
    if (attrs.dropout > 0) run.input({4}, {1, 2, 3, 4}, DataType::Int32);
  }

  /// Everything but the values' gradient is 0.
  void expect_zeros() const {
    OpRun forward(OpKind::Attention, attrs);
    add_sources(forward);
    add_mask(forward);
    forward.run();
    OpRun run(OpKind::AttentionGradient, attrs);
    run.input({1, kLength, kSize}, gradient);
    add_sources(run);
    run.input({1, kLength, kSize}, forward.result(0))
        .input({1, 1, kLength}, forward.result(1));
    add_mask(run);
    run.run();
    for (int result : {0, 1, 3}) {
      for (double x : run.result(result)) ASSERT_EQ(x, 0) << result;
    }
    const Values of_values = run.result(2);
    EXPECT_GT(*std::ranges::max_element(of_values), 0);
  }
};

TEST(Attention, OneVisibleKeyLeavesNothingToQueriesAndKeys) {
  if (!computes()) GTEST_SKIP() << "nothing is computed";
  OneVisible().expect_zeros();
}

TEST(Attention, OneVisibleKeyThatMayBeDroppedDoesNeither) {
  if (!computes()) GTEST_SKIP() << "nothing is computed";
  OneVisible net;
  net.attrs.dropout = 0.3f;
  net.attrs.seed = 5;
  net.expect_zeros();
}

TEST(Attention, MaskedKeysMayHoldAnything) {
  if (!computes()) GTEST_SKIP() << "nothing is computed";
  Sources sources;
  const auto last_masked = [](OpRun& run) {
    Values mask(2 * kKeys, 0);
    mask[kKeys - 1] = mask[2 * kKeys - 1] = 1;
    run.input({2, kKeys}, mask, DataType::Boolean);
  };
  const Outcome before = attend(sources, last_masked);
  std::fill(sources.key.end() - 2 * kWidth, sources.key.end(), NAN);
  EXPECT_EQ(attend(sources, last_masked).output, before.output);
}

TEST(Attention, WhatIsNotANumberStaysInItsRow) {
  if (!computes()) GTEST_SKIP() << "nothing is computed";
  Sources sources;
  sources.query[2 * kWidth] = NAN;  // sample 0, query 1, head 0
  const Outcome outcome = attend(sources, [](OpRun&) {});
  for (std::int64_t sample : {0, 1}) {
    for (std::int64_t query = 0; query < kQueries; ++query) {
      EXPECT_EQ(std::isnan(largest_of(outcome.output, sample, query)),
                sample == 0 && query == 1);
    }
  }
  EXPECT_TRUE(std::isnan(log_sum_of(outcome, 0, 0, 1)));
  EXPECT_FALSE(std::isnan(log_sum_of(outcome, 0, 1, 1)));
}

TEST(Attention, LargeScoresDoNotOverflow) {
  if (!computes()) GTEST_SKIP() << "nothing is computed";
  // Whole numbers: scores are exact, 0 to 19 times 1000 times a head's width.
  Sources sources;
  for (double& x : sources.query) x = 1;
  for (std::int64_t i = 0; i < std::ssize(sources.key); ++i) {
    sources.key[i] = 1000.0 * static_cast<double>(i / (2 * kWidth) % kKeys);
  }
  OpRun run(OpKind::Attention, AttentionAttrs{.head_count = 2, .scale = 1});
  sources.add_to(run).run();
  for (std::int64_t i = 0; i < 2 * kQueries * 2 * kWidth; ++i) {
    const std::int64_t sample = i / (kQueries * 2 * kWidth);
    const std::int64_t last = (sample * kKeys + kKeys - 1) * 2 * kWidth;
    EXPECT_EQ(run.result(0)[i], sources.value[last + i % (2 * kWidth)]);
  }
  for (double x : run.result(1)) EXPECT_EQ(x, 19 * 1000 * kWidth);
}

}  // namespace
}  // namespace traingraph::testing
