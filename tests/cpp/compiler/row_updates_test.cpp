// SPDX-License-Identifier: MIT
// Which updates may be of rows, and which of these leave rows behind.
#include "compiler/row_updates.h"

#include <gtest/gtest.h>

#include "graph/op_def.h"

namespace traingraph {
namespace {

enum class Kind { None, RowsOnly, LeavesBehind };

class RowUpdates : public ::testing::Test {
 protected:
  static constexpr std::int64_t kCount = 8, kWidth = 3, kTokens = 4;

  ValueId variable(const char* name) {
    return program.add_value(Role::Variable, {{kCount, kWidth}}, name);
  }
  ValueId look_up(ValueId indices, EmbeddingAttrs attrs = {}) {
    program.position.phase = Phase::Forward;
    return program.append_one(OpKind::Embedding, attrs, {table, indices});
  }
  ValueId differentiate(ValueId indices) {
    program.position.phase = Phase::Gradient;
    const ValueId dy = program.add_value(
        Role::Input, {{program.shape(indices)[0], kWidth}}, "dy");
    return program.append_one(
        OpKind::EmbeddingGradient,
        EmbeddingGradientAttrs{.shape = Shape{kCount, kWidth}}, {dy, indices});
  }
  void update(OpKind op, Attributes attrs, std::vector<ValueId> slots) {
    program.position.phase = Phase::Update;
    std::vector<ValueId> inputs{table, gradient};
    inputs.insert(inputs.end(), slots.begin(), slots.end());
    inputs.insert(inputs.end(), {rates, scale});
    program.append(op, std::move(attrs), std::move(inputs));
  }
  void adam() {
    update(OpKind::AdamUpdate, AdamUpdateAttrs{}, {m, v, kNoValue});
  }
  void plain_sgd() { update(OpKind::SgdUpdate, SgdUpdateAttrs{}, {kNoValue}); }

  Kind found(std::vector<ValueId> kept = {}) const {
    const auto all = find_row_updates(program, kept);
    if (all.empty()) return Kind::None;
    EXPECT_EQ(all.size(), 1u);
    EXPECT_EQ(program.node(all[0].gradient).op->kind,
              OpKind::EmbeddingGradient);
    if (all[0].lookup < 0) return Kind::RowsOnly;
    EXPECT_EQ(program.node(all[0].lookup).op->kind, OpKind::Embedding);
    return Kind::LeavesBehind;
  }

  Program program;
  ValueId table = variable("table"), m = variable("m"), v = variable("v");
  ValueId ids =
      program.add_value(Role::Input, {{kTokens}, DataType::Int32}, "ids");
  ValueId rates = program.add_value(Role::Input, {{4}}, "rates");
  ValueId scale = kNoValue;
  ValueId y = look_up(ids);
  ValueId gradient = differentiate(ids);
};

TEST_F(RowUpdates, WhatMovesRowsLeavesThemBehind) {
  EXPECT_EQ(found(), Kind::None);
  adam();
  EXPECT_EQ(found(), Kind::LeavesBehind);
  EXPECT_EQ(found({y, kNoValue}), Kind::LeavesBehind);
}

TEST_F(RowUpdates, PlainSgdLeavesRowsAsTheyAre) {
  plain_sgd();
  EXPECT_EQ(found(), Kind::RowsOnly);
  EXPECT_EQ(found({table}), Kind::RowsOnly);
}

TEST_F(RowUpdates, MomentumAndDecayMoveThem) {
  update(OpKind::SgdUpdate, SgdUpdateAttrs{.momentum_scale = 0.9f}, {m});
  EXPECT_EQ(found(), Kind::LeavesBehind);
}

TEST_F(RowUpdates, WhoeverReadsTheGradientGetsAllOfIt) {
  plain_sgd();
  EXPECT_EQ(found({gradient}), Kind::None);
  program.append_one(OpKind::SquaredNorm, NoAttrs{}, {gradient});
  EXPECT_EQ(found(), Kind::None);
}

TEST_F(RowUpdates, WhoeverReadsTheTableOrASlotGetsAllOfIt) {
  adam();
  for (const ValueId kept : {table, m, v}) EXPECT_EQ(found({kept}), Kind::None);
  program.position.phase = Phase::Update;
  program.append_one(OpKind::SquaredNorm, NoAttrs{}, {table});
  EXPECT_EQ(found(), Kind::None);
}

TEST_F(RowUpdates, ATableThatIsLookedUpTwiceIsDense) {
  look_up(program.add_value(Role::Input, {{2}, DataType::Int32}, "others"));
  adam();
  EXPECT_EQ(found(), Kind::None);
}

TEST_F(RowUpdates, OtherRowsThanTheGradientsAreNotUpToNow) {
  gradient = differentiate(
      program.add_value(Role::Input, {{kTokens}, DataType::Int32}, "others"));
  adam();
  EXPECT_EQ(found(), Kind::None);
}

TEST_F(RowUpdates, ClippingByNormReadsTheGradient) {
  scale = program.add_value(Role::Input, {{1}}, "scale");
  plain_sgd();
  EXPECT_EQ(found(), Kind::None);
}

TEST_F(RowUpdates, ManyTokensDoNotPay) {
  const ValueId many = program.add_value(
      Role::Input, {{kCount / 2 + 1}, DataType::Int32}, "many");
  table = variable("another table");
  look_up(many);
  gradient = differentiate(many);
  adam();
  EXPECT_EQ(found(), Kind::None);
}

TEST_F(RowUpdates, ALookupThatChangesRowsIsDense) {
  table = variable("another table");
  look_up(ids, {.maximum_norm = 1});
  gradient = differentiate(ids);
  adam();
  EXPECT_EQ(found(), Kind::None);
}

}  // namespace
}  // namespace traingraph
