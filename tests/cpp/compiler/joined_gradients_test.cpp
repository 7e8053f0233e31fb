// SPDX-License-Identifier: MIT
// Which gradients are computed by the update that reads them.
#include "compiler/joined_gradients.h"

#include <gtest/gtest.h>

#include "graph/op_def.h"

namespace traingraph {
namespace {

class JoinedGradients : public ::testing::Test {
 protected:
  static constexpr std::int64_t kCount = 8, kWidth = 3, kTokens = 4;

  ValueId variable(Shape shape, const char* name) {
    return program.add_value(Role::Variable, {shape}, name);
  }
  ValueId differentiate() {
    program.position.phase = Phase::Gradient;
    const ValueId dy =
        program.add_value(Role::Input, {{kTokens, kWidth}}, "dy");
    return program.append_one(
        OpKind::EmbeddingGradient,
        EmbeddingGradientAttrs{.shape = Shape{kCount, kWidth}}, {dy, ids});
  }
  ValueId slice(ValueId of, Phase phase, std::int64_t stride) {
    program.position.phase = phase;
    return program.append_one(
        OpKind::Slice,
        SliceAttrs{.start = {2}, .end = {2 + 3 * stride}, .stride = {stride}},
        {of});
  }
  void adam(ValueId parameter, ValueId gradient) {
    program.position.phase = Phase::Update;
    const Shape shape = program.shape(parameter);
    program.append(OpKind::AdamUpdate, AdamUpdateAttrs{},
                   {parameter, gradient, variable(shape, "m"),
                    variable(shape, "v"), kNoValue, hyperparameters, kNoValue});
  }
  std::size_t num_found(bool joins_phases,
                        const std::vector<ValueId>& kept = {}) const {
    return find_joined_gradients(program, kept, joins_phases).size();
  }

  Program program;
  ValueId table = variable({kCount, kWidth}, "table");
  ValueId ids =
      program.add_value(Role::Input, {{kTokens}, DataType::Int32}, "ids");
  ValueId hyperparameters =
      program.add_value(Role::Input, {{4}}, "hyperparameters");
};

TEST_F(JoinedGradients, OfAnEmbeddingInAStep) {
  const ValueId gradient = differentiate();
  EXPECT_EQ(num_found(true), 0u);
  adam(table, gradient);
  const auto found = find_joined_gradients(program, {}, /*joins_phases=*/true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0], program.value(gradient).producer);
  EXPECT_EQ(num_found(/*joins_phases=*/false), 0u);
  EXPECT_EQ(num_found(true, {table, kNoValue}), 1u);
}

TEST_F(JoinedGradients, NoneThatTheHostOrANodeReadsToo) {
  const ValueId gradient = differentiate();
  adam(table, gradient);
  EXPECT_EQ(num_found(true, {gradient}), 0u);
  program.append_one(OpKind::SquaredNorm, NoAttrs{}, {gradient});
  EXPECT_EQ(num_found(true), 0u);
}

TEST_F(JoinedGradients, NoSumOfTwoEmbeddings) {
  const ValueId one = differentiate(), other = differentiate();
  adam(table,
       program.append_one(OpKind::Binary, ArithmeticAttrs{}, {one, other}));
  EXPECT_EQ(num_found(true), 0u);
}

TEST_F(JoinedGradients, RangesOfTheUpdatesPhase) {
  const ValueId whole = program.add_value(Role::Input, {{8}}, "g");
  const ValueId part = variable({3}, "part");
  adam(part, slice(whole, Phase::Update, /*stride=*/1));
  EXPECT_EQ(num_found(true), 1u);
  EXPECT_EQ(num_found(false), 1u);
  adam(part, slice(whole, Phase::Gradient, 1));
  adam(part, slice(whole, Phase::Update, 2));
  EXPECT_EQ(num_found(true), 1u);
}

}  // namespace
}  // namespace traingraph
