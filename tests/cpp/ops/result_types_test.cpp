// SPDX-License-Identifier: MIT
// Which data types results have: what follows floats of 16 bits, and what stays
// float32 beside them.
#include <gtest/gtest.h>

#include "ops/case_program.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace traingraph::testing {
namespace {

/// The type of result `r`; `inputs` are the types of the inputs.
DataType expected_type(const OpCase& c, std::size_t r,
                       const std::vector<DataType>& inputs) {
  switch (c.op) {
    case OpKind::Compare:
      return DataType::Boolean;
    case OpKind::Cast:
      return std::get<CastAttrs>(c.attrs).data_type;
    case OpKind::Fill:
      return std::get<FillAttrs>(c.attrs).data_type;
    case OpKind::Loss:
    case OpKind::YoloLoss:
    case OpKind::CtcLoss:
    case OpKind::SquaredNorm:
    case OpKind::BatchNormMoments:
    case OpKind::BatchNormGradientSums:
    case OpKind::ClipScale:
    case OpKind::UpdateLossScale:
      return DataType::Float32;
    case OpKind::BatchNorm:
    case OpKind::BatchNormGradient:
    case OpKind::BatchNormApply:
    case OpKind::SampleNorm:
    case OpKind::SampleNormGradient:
    case OpKind::Attention:
      return r == 0 ? inputs[0] : DataType::Float32;
    case OpKind::AttentionGradient:
      return r < 3 ? inputs[1] : DataType::Float32;
    case OpKind::Select:
    case OpKind::LossGradient:
    case OpKind::YoloLossGradient:
    case OpKind::CtcLossGradient:
      return inputs[1];
    default:
      return inputs[0];
  }
}

TEST(ResultTypes, FollowTheirInputUnlessTheOpSaysOtherwise) {
  int num_checked = 0;
  for (const DataType type : {DataType::Float16, DataType::BFloat16}) {
    for (const OpCase& in_float32 : op_cases()) {
      // Looks at the type itself.
      if (in_float32.op == OpKind::Reduce) continue;
      const OpCase c = stored_as(in_float32, type);
      SCOPED_TRACE(describe(c));
      const CaseProgram built = build(c);
      std::vector<DataType> types;
      for (ValueId id : built.inputs) {
        types.push_back(id == kNoValue ? DataType::Float32
                                       : built.program.desc(id).data_type);
      }
      for (std::size_t r = 0; r < built.results.size(); ++r) {
        const ValueId id = built.results[r];
        if (built.program.value(id).is_opaque) continue;
        ASSERT_EQ(built.program.desc(id).data_type, expected_type(c, r, types));
        ++num_checked;
      }
    }
  }
  EXPECT_GT(num_checked, 1000);
}

/// A gradient rule's program with one input.
class OneInput : public GradContext {
 public:
  explicit OneInput(TensorDescriptor desc)
      : x(program_.add_value(Role::Input, desc, "x")) {}

  const Node& node() const override { return node_; }
  Program& program() override { return program_; }
  bool wants(int) const override { return true; }
  ValueId result_gradient(int) const override { return kNoValue; }
  void set(int, ValueId) override {}

 private:
  Program program_;
  Node node_;

 public:
  const ValueId x;
};

TEST(ResultTypes, WhatGradientsAreFilledWithHasTheTypeOfItsModel) {
  OneInput ctx({{4, 3}, DataType::Int32});
  const auto desc = [&](ValueId id) { return ctx.program().desc(id); };
  EXPECT_EQ(desc(grad::fill_like(ctx, ctx.x, 2)), desc(ctx.x));
  EXPECT_EQ(desc(grad::scalar_like(ctx, ctx.x, 2)),
            (TensorDescriptor{{1}, DataType::Int32}));
  EXPECT_EQ(grad::cast(ctx, ctx.x, DataType::Int32), ctx.x);
  EXPECT_EQ(desc(grad::cast(ctx, ctx.x, DataType::Float32)),
            (TensorDescriptor{{4, 3}, DataType::Float32}));
}

}  // namespace
}  // namespace traingraph::testing
