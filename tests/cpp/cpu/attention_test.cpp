// SPDX-License-Identifier: MIT
// Attention on the CPU: the same bits on any number of threads, and the random
// words that are drawn side by side.
#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "cpu/cpu_context.h"
#include "cpu/dropout_words.h"
#include "graph/program.h"
#include "support/run_program.h"

namespace traingraph::testing {
namespace {

using Floats = std::vector<float>;

/// Forward and gradient of more queries and keys than tiles, with dropout and a
/// mask that is trained.
struct Attention {
  Attention() {
    const AttentionAttrs attrs{.head_count = 3, .dropout = 0.2f, .seed = 5};
    for (const Shape& shape :
         {Shape{2, 150, 60}, Shape{2, 600, 60}, Shape{2, 600, 30},
          Shape{1, 150, 600}, Shape{2, 150, 30}}) {
      inputs.push_back(program.add_value(Role::Input, {shape}, "input"));
    }
    state = program.add_value(Role::Input, {{4}, DataType::Int32}, "state");
    const auto [query, key, value, mask, gradient] =
        std::tuple(inputs[0], inputs[1], inputs[2], inputs[3], inputs[4]);
    results = program.append(OpKind::Attention, attrs,
                             {query, key, value, kNoValue, mask, state});
    for (ValueId each :
         program.append(OpKind::AttentionGradient, attrs,
                        {gradient, query, key, value, results[0], results[1],
                         kNoValue, mask, state, kNoValue, results[2]})) {
      results.push_back(each);
    }
  }

  std::vector<Floats> run(int threads) const {
    ProgramRun run(program, results, cpu::make_context(threads));
    std::mt19937 engine(3);
    std::normal_distribution<float> normal;
    for (ValueId id : inputs) {
      Floats contents(program.shape(id).num_elements());
      for (float& x : contents) x = normal(engine);
      run.set(id, contents);
    }
    run.set(state, std::vector<std::int32_t>{1, 2, 3, 4});
    run.run();
    EXPECT_TRUE(run.has_intact_guards());
    std::vector<Floats> contents;
    for (ValueId id : results) contents.push_back(run.get(id));
    return contents;
  }

  Program program;
  std::vector<ValueId> inputs, results;
  ValueId state = kNoValue;
};

TEST(CpuAttention, DoesNotDependOnThreads) {
  const Attention attention;
  const auto expected = attention.run(1);
  for (int threads : {2, 3, 7}) {
    EXPECT_EQ(attention.run(threads), expected) << threads << " threads";
  }
}

/// Results of a causal mask, of which nothing is computed where it hides all,
/// are those of a mask that hides as much without saying so.
std::vector<Floats> masked(float hidden, const Shape& mask_shape, float dropout,
                           std::int64_t window) {
  const std::int64_t queries = mask_shape[1], keys = mask_shape[2];
  const AttentionAttrs attrs{
      .head_count = 2, .dropout = dropout, .seed = dropout != 0 ? 5 : 0};
  Program program;
  std::vector<ValueId> inputs;
  for (const Shape& shape : {Shape{2, queries, 24}, Shape{2, keys, 24},
                             Shape{2, keys, 40}, Shape{2, queries, 40}}) {
    inputs.push_back(program.add_value(Role::Input, {shape}, "input"));
  }
  const ValueId mask = program.add_value(Role::Input, {mask_shape}, "mask");
  const ValueId state =
      program.add_value(Role::Input, {{4}, DataType::Int32}, "state");
  auto results =
      program.append(OpKind::Attention, attrs,
                     {inputs[0], inputs[1], inputs[2], kNoValue, mask, state});
  const auto gradients =
      program.append(OpKind::AttentionGradient, attrs,
                     {inputs[3], inputs[0], inputs[1], inputs[2], results[0],
                      results[1], kNoValue, mask, state, kNoValue, results[2]});
  results.insert(results.end(), gradients.begin(), gradients.end());
  ProgramRun run(program, results, cpu::make_context(2));
  std::mt19937 engine(9);
  std::normal_distribution<float> normal;
  for (ValueId id : inputs) {
    Floats contents(program.shape(id).num_elements());
    for (float& x : contents) x = normal(engine);
    run.set(id, contents);
  }
  Floats contents(mask_shape.num_elements());
  for (std::size_t i = 0; i < contents.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t query = at / keys % queries + keys - queries;
    const bool is_seen = at % keys <= query && at % keys > query - window;
    contents[i] = is_seen ? 0.25f : hidden;
  }
  run.set(mask, contents);
  run.set(state, std::vector<std::int32_t>{1, 2, 3, 4});
  run.run();
  EXPECT_TRUE(run.has_intact_guards());
  std::vector<Floats> got;
  for (ValueId id : results) got.push_back(run.get(id));
  return got;
}

TEST(CpuAttention, SkipsWhatMasksHideAndKeepsTheBits) {
  // Beyond the range of exponentials, but not said to be masked.
  constexpr float kTiny = -1e30f;
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  for (const std::int64_t window : {std::int64_t{10'000}, std::int64_t{70}}) {
    for (const float dropout : {0.0f, 0.3f}) {
      for (const Shape& mask : {Shape{1, 200, 200}, Shape{1, 130, 600},
                                Shape{4, 65, 1100}, Shape{1, 7, 9}}) {
        SCOPED_TRACE(mask.to_string() + ", " + std::to_string(window));
        EXPECT_EQ(masked(kHidden, mask, dropout, window),
                  masked(kTiny, mask, dropout, window));
      }
    }
  }
}

TEST(CpuAttention, DrawsTheWordsOfDropout) {
  const formulas::RandomState state{.seed = 12ull << 32 | 11,
                                    .step = 14ull << 32 | 13};
  for (const std::int64_t seed : {std::int64_t{0}, std::int64_t{-7}}) {
    const auto stream = formulas::dropout_stream(
        static_cast<std::uint64_t>(seed), 1 << 20, state);
    // The second group goes beyond 32 bits.
    for (const std::uint64_t first :
         {std::uint64_t{40}, (std::uint64_t{1} << 32) - 3}) {
      float kept[4 * cpu::kDropoutBlocks];
      cpu::draw_kept(stream, first, 0.3f, 1.5f, kept);
      for (int i = 0; i < 4 * cpu::kDropoutBlocks; ++i) {
        const auto block = formulas::dropout_block(stream, first + i / 4);
        const float drawn = formulas::to_unit_float(block.words[i % 4]);
        ASSERT_EQ(kept[i], drawn >= 0.3f ? 1.5f : 0) << i;
      }
    }
  }
}

}  // namespace
}  // namespace traingraph::testing
