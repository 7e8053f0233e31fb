// SPDX-License-Identifier: MIT
// Gather, scatter and embedding on the CPU: what no case of the table shows.
#include <gtest/gtest.h>

#include <cmath>

#include "support/run_op.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

constexpr DataType kInt = DataType::Int64;

Values positions(std::int64_t count, std::int64_t size, std::uint64_t seed) {
  Values at = random_values(count, seed);
  for (double& x : at) {
    x = static_cast<double>(static_cast<std::int64_t>((x + 2) * 1024) % size);
  }
  return at;
}

TEST(GatherKernels, RefusePositionsOutside) {
  const Values table(10), rows(6);
  for (const double outside : {5.0, -1.0, 4294967296.0, -9e15}) {
    const Values at{0, 4, outside};
    const auto error_of = [&](OpRun run) {
      try {
        run.run();
      } catch (const InvalidArgument& error) {
        return error.info();
      }
      return ErrorInfo{};
    };
    const auto expect_refused = [&](const ErrorInfo& error, const char* op) {
      EXPECT_EQ(error.op, op);
      EXPECT_EQ(error.node, "node");
      EXPECT_EQ(error.expected, "0 to 4");
      EXPECT_EQ(error.got, std::to_string(static_cast<long long>(outside)));
      EXPECT_EQ(error.what, "element 2 of \"input\" is no position");
    };
    expect_refused(error_of(OpRun(OpKind::Gather, AxisAttrs{0})
                                .input({5, 2}, table)
                                .input({3}, at, kInt)),
                   "gather");
    expect_refused(error_of(OpRun(OpKind::Scatter, ScatterAttrs{0})
                                .input({3, 2}, rows)
                                .input({3}, at, kInt)
                                .input({5, 2}, table)),
                   "scatter");
    expect_refused(error_of(OpRun(OpKind::ScatterGradient, AxisAttrs{0})
                                .input({5, 2}, table)
                                .input({3}, at, kInt)),
                   "scatter_gradient");
    expect_refused(error_of(OpRun(OpKind::Embedding, EmbeddingAttrs{})
                                .variable({5, 2}, table)
                                .input({3}, at, kInt)),
                   "embedding");
    expect_refused(error_of(OpRun(OpKind::EmbeddingGradient,
                                  EmbeddingGradientAttrs{.shape = {5, 2}})
                                .input({3, 2}, rows)
                                .input({3}, at, kInt)),
                   "embedding_gradient");
  }
}

/// Large enough for all threads.
TEST(GatherKernels, AddUpInTheOrderOfTheSources) {
  constexpr std::int64_t kCount = 2000, kSize = 37, kWidth = 96;
  Values source = random_values(kCount * kWidth, 1);
  for (double& x : source) x = static_cast<float>(x * 1.1);
  const Values at = positions(kCount, kSize, 2);
  const Values data = random_values(kSize * kWidth, 3);
  std::vector<float> sums(data.begin(), data.end()), zeros(data.size());
  for (std::int64_t k = 0; k < kCount; ++k) {
    for (std::int64_t i = 0; i < kWidth; ++i) {
      const auto to = static_cast<std::int64_t>(at[k]) * kWidth + i;
      sums[to] += static_cast<float>(source[k * kWidth + i]);
      zeros[to] += static_cast<float>(source[k * kWidth + i]);
    }
  }
  OpRun scatter(OpKind::Scatter, ScatterAttrs{0, ReductionType::Sum});
  scatter.input({kCount, kWidth}, source)
      .input({kCount}, at, kInt)
      .input({kSize, kWidth}, data)
      .run();
  EXPECT_EQ(scatter.result(), Values(sums.begin(), sums.end()));
  OpRun embedding(OpKind::EmbeddingGradient,
                  EmbeddingGradientAttrs{.shape = {kSize, kWidth}});
  embedding.input({kCount, kWidth}, source).input({kCount}, at, kInt).run();
  EXPECT_EQ(embedding.result(), Values(zeros.begin(), zeros.end()));
}

TEST(GatherKernels, LargeElementsAndSlices) {
  constexpr std::int64_t kOuter = 3, kSize = 500, kCount = 700, kInner = 40;
  const Values x = random_values(kOuter * kSize * kInner, 4);
  const Values named = positions(kOuter * kCount * kInner, kSize, 5);
  OpRun elements(OpKind::Gather, AxisAttrs{1});
  elements.input({kOuter, kSize, kInner}, x)
      .input({kOuter, kCount, kInner}, named, kInt)
      .run();
  const Values rows(named.begin(), named.begin() + kCount);
  OpRun slices(OpKind::Gather, AxisAttrs{1});
  slices.input({kOuter, kSize, kInner}, x).input({kCount}, rows, kInt).run();
  const Values got = elements.result(), got_rows = slices.result();
  for (std::int64_t at = 0; at < kOuter * kCount * kInner; ++at) {
    const std::int64_t i = at % kInner, j = at / kInner % kCount;
    const std::int64_t o = at / (kInner * kCount);
    const auto from = [&](double index) {
      return x[(o * kSize + static_cast<std::int64_t>(index)) * kInner + i];
    };
    ASSERT_EQ(got[at], from(named[at])) << at;
    ASSERT_EQ(got_rows[at], from(rows[j])) << at;
  }
}

/// Powers of the elements are not numbers of double; the norm is one of float.
TEST(GatherKernels, NormsOfHighOrder) {
  for (const float p : {20.0f, 1000.0f}) {
    OpRun embedding(
        OpKind::Embedding,
        EmbeddingAttrs{.maximum_norm = 1, .p_norm = p, .training = false});
    embedding.input({3, 2}, {2.5, 0.5, 1e-20, 0, 1e20, 1})
        .input({3}, {0, 1, 2}, kInt)
        .run();
    const Values got = embedding.result();
    const Values expected{1, 0.2, 1e-20, 0, 1, 1e-20};
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], 1e-6 * expected[i]) << p << " " << i;
    }
  }
}

/// Its source is its data: the result must not be written over what is read.
TEST(GatherKernels, ScatterOfItsOwnData) {
  Program program;
  const ValueId x = program.add_value(Role::Input, {{4}}, "x");
  const ValueId at = program.add_value(Role::Input, {{4}, kInt}, "at");
  const ValueId y = program.append_one(
      OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Floor}, {x}, "y");
  const ValueId z =
      program.append_one(OpKind::Scatter, ScatterAttrs{0}, {y, at, y}, "z");
  ProgramRun run(program, {z});
  run.set(x, std::vector<float>{1, 2, 3, 4});
  run.set(at, std::vector<std::int64_t>{1, 2, 3, 0});
  for (bool in_place : {false, true}) {
    run.run(in_place);
    EXPECT_EQ(run.get(z), (std::vector<float>{4, 1, 2, 3}));
  }
}

}  // namespace
}  // namespace traingraph::testing
