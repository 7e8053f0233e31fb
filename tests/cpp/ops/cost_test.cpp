// SPDX-License-Identifier: MIT
// What ops say that they cost: what reports, the units of a GPU and the threads
// of a CPU follow.
#include "ops/cost.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/op_def.h"
#include "ops/case_program.h"

namespace traingraph::testing {
namespace {

NodeCost cost_of(OpKind op, const Attributes& attrs,
                 const std::vector<TensorDescriptor>& inputs) {
  Program program;
  std::vector<ValueId> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const InputDef& def = input_def(op_def(op), static_cast<int>(i));
    values.push_back(program.add_value(
        def.is_mutated ? Role::Variable : Role::Input, inputs[i], "x"));
  }
  program.append(op, attrs, values, "node");
  return estimate_cost(program, program.node(0));
}

double flops_of(OpKind op, const Attributes& attrs,
                const std::vector<TensorDescriptor>& inputs) {
  return cost_of(op, attrs, inputs).flops;
}

/// Is each element of the results one of an input, or a constant?
bool only_moves(const OpCase& op_case) {
  switch (op_case.op) {
    case OpKind::BroadcastTo:
    case OpKind::Cast:
    case OpKind::Concatenate:
    case OpKind::Fill:
    case OpKind::Gather:
    case OpKind::Pad:
    case OpKind::Reshape:
    case OpKind::ScatterGradient:
    case OpKind::Select:
    case OpKind::Slice:
    case OpKind::SliceGradient:
    case OpKind::Split:
    case OpKind::StopGradient:
    case OpKind::Transpose:
      return true;
    case OpKind::Activation:
    case OpKind::Dropout:
    case OpKind::Reduce:
      return op_def(op_case.op).is_identity(op_case.attrs);
    case OpKind::Embedding:
      return std::get<EmbeddingAttrs>(op_case.attrs).maximum_norm <= 0;
    case OpKind::PadGradient: {
      const PaddingType type = std::get<PadAttrs>(op_case.attrs).type;
      return type == PaddingType::Zero || type == PaddingType::Constant;
    }
    case OpKind::Scatter:
      return std::get<ScatterAttrs>(op_case.attrs).reduction_type ==
             ReductionType::None;
    case OpKind::Upsample:
      return std::get<UpsampleAttrs>(op_case.attrs).sample_mode ==
             SampleMode::Nearest;
    default:
      return false;
  }
}

TEST(Cost, OnlyMovesHaveNoArithmetic) {
  for (const OpCase& op_case : op_cases()) {
    SCOPED_TRACE(describe(op_case));
    const CaseProgram built = build(op_case);
    const NodeCost cost =
        estimate_cost(built.program, built.program.node(built.node));
    EXPECT_EQ(cost.flops == 0, only_moves(op_case));
    EXPECT_GT(cost.bytes, 0);
  }
}

TEST(Cost, OfProductsIsTheirMultiplicationsAndAdditions) {
  EXPECT_EQ(flops_of(OpKind::MatMul, MatMulAttrs{}, {{{2, 3}}, {{3, 5}}}),
            2 * 2 * 3 * 5);
  EXPECT_EQ(flops_of(OpKind::MatMul, MatMulAttrs{.transposes_x = true},
                     {{{7, 3, 2}}, {{3, 5}}}),
            7 * 2 * 2 * 3 * 5);
  Convolution2dAttrs grouped;
  grouped.groups = 2;
  EXPECT_EQ(flops_of(OpKind::Convolution2d, grouped,
                     {{{2, 4, 5, 5}}, {{6, 2, 3, 3}}}),
            2 * (2 * 6 * 3 * 3) * (2 * 3 * 3));
}

TEST(Cost, OfPaddingsGradientIsThatOfItsSums) {
  const Shape padded{20, 40};
  PadAttrs attrs{.type = PaddingType::Zero, .before = {1, 2}, .after = {3, 4}};
  EXPECT_EQ(flops_of(OpKind::PadGradient, attrs, {{padded}}), 0);
  attrs.type = PaddingType::Constant;
  EXPECT_EQ(flops_of(OpKind::PadGradient, attrs, {{padded}}), 0);
  attrs.type = PaddingType::Reflect;
  EXPECT_EQ(flops_of(OpKind::PadGradient, attrs, {{padded}}), 3200);
}

TEST(Cost, OfWhatPicksElementsIsThatOfMoves) {
  const TensorDescriptor condition{{4, 5}, DataType::Boolean};
  EXPECT_EQ(flops_of(OpKind::Select, NoAttrs{}, {condition, {{4, 5}}, {{1}}}),
            0);
  const TensorDescriptor indices{{4, 2}, DataType::Int32};
  EXPECT_EQ(flops_of(OpKind::ScatterGradient, AxisAttrs{.axis = 1},
                     {{{4, 5}}, indices}),
            0);
  ScatterAttrs scatter{.axis = 1};
  EXPECT_EQ(flops_of(OpKind::Scatter, scatter, {{{4, 2}}, indices, {{4, 5}}}),
            0);
  scatter.reduction_type = ReductionType::Sum;
  EXPECT_EQ(flops_of(OpKind::Scatter, scatter, {{{4, 2}}, indices, {{4, 5}}}),
            4 * 4 * 5);
}

TEST(Cost, OfUpsamplingIsThatOfItsSums) {
  UpsampleAttrs attrs;
  attrs.shape = {4, 6};
  attrs.sample_mode = SampleMode::Nearest;
  EXPECT_EQ(flops_of(OpKind::Upsample, attrs, {{{1, 2, 2, 3}}}), 0);
  attrs.sample_mode = SampleMode::Linear;
  EXPECT_EQ(flops_of(OpKind::Upsample, attrs, {{{1, 2, 2, 3}}}), 4 * 2 * 4 * 6);
}

TEST(Cost, OfAnIdentityIsThatOfAMove) {
  EXPECT_EQ(flops_of(OpKind::Activation, ActivationAttrs{ActivationType::None},
                     {{{8}}}),
            0);
  EXPECT_EQ(flops_of(OpKind::Dropout, DropoutAttrs{.rate = 0},
                     {{{8}}, {{4}, DataType::Int32}}),
            0);
  EXPECT_EQ(
      flops_of(OpKind::Reduce, ReduceAttrs{ReductionType::None, {0}}, {{{8}}}),
      0);
}

TEST(Cost, OfLookingUpIsThatOfTheRows) {
  const TensorDescriptor table{{1000, 8}}, tokens{{3, 2}, DataType::Int32};
  EmbeddingAttrs attrs;
  const NodeCost plain = cost_of(OpKind::Embedding, attrs, {table, tokens});
  EXPECT_EQ(plain.flops, 0);
  EXPECT_EQ(plain.bytes, 4 * (2 * 3 * 2 * 8 + 3 * 2));
  attrs.maximum_norm = 1;
  EXPECT_EQ(flops_of(OpKind::Embedding, attrs, {table, tokens}), 4 * 3 * 2 * 8);
}

TEST(Cost, OfASliceIsThatOfItsPart) {
  const SliceAttrs attrs{.start = {100, 0}, .end = {110, 8}, .stride = {}};
  EXPECT_EQ(cost_of(OpKind::Slice, attrs, {{{1000, 8}}}).bytes, 2 * 4 * 10 * 8);
}

}  // namespace
}  // namespace traingraph::testing
