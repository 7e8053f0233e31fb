// SPDX-License-Identifier: MIT
// Shapes, slots and errors of the optimizer updates.
#include "support/op_program.h"

namespace traingraph {
namespace {

class Update : public OpProgramTest {
 protected:
  ValueId slot() { return variable({3, 4}); }
  ValueId gradient() { return input({3, 4}); }
  ValueId hyperparameters() { return input({4}); }
  ValueId scalar() { return input({1}); }
};

TEST_F(Update, HasNoResultsAndWritesItsSlots) {
  EXPECT_TRUE(append(OpKind::SgdUpdate, SgdUpdateAttrs{},
                     {slot(), gradient(), kNoValue, hyperparameters()})
                  .empty());
  EXPECT_TRUE(append(OpKind::AdamUpdate, AdamUpdateAttrs{.uses_amsgrad = true},
                     {slot(), gradient(), slot(), slot(), slot(),
                      hyperparameters(), scalar()})
                  .empty());
  const Node& adam = program_.nodes().back();
  for (int i : {0, 2, 3, 4}) EXPECT_TRUE(mutates(adam, i)) << i;
  for (int i : {1, 5, 6}) EXPECT_FALSE(mutates(adam, i)) << i;
  EXPECT_FALSE(mutates(program_.nodes().front(), 2));
}

TEST_F(Update, SlotsHaveTheShapeOfTheParameter) {
  EXPECT_TRUE(contains(
      error_of<ShapeError>(OpKind::SgdUpdate, SgdUpdateAttrs{},
                           {slot(), input({12}), kNoValue, hyperparameters()}),
      {"\"gradient\" must have the shape of \"parameter\"", "(3, 4)", "(12)"}));
  EXPECT_TRUE(contains(
      error_of<ShapeError>(OpKind::AdamUpdate, AdamUpdateAttrs{},
                           {slot(), gradient(), slot(), variable({4, 3}),
                            kNoValue, hyperparameters()}),
      {"\"velocity\"", "got (4, 3)"}));
}

TEST_F(Update, RatesAndScaleHaveFixedShapes) {
  EXPECT_TRUE(
      contains(error_of<ShapeError>(OpKind::SgdUpdate, SgdUpdateAttrs{},
                                    {slot(), gradient(), kNoValue, scalar()}),
               {"\"hyperparameters\"", "expected (4), got (1)"}));
  EXPECT_TRUE(contains(
      error_of<ShapeError>(
          OpKind::SgdUpdate, SgdUpdateAttrs{},
          {slot(), gradient(), kNoValue, hyperparameters(), hyperparameters()}),
      {"\"scale\"", "expected (1), got (4)"}));
}

TEST_F(Update, AttributesAskForTheirSlots) {
  EXPECT_TRUE(
      contains(error_of<InvalidArgument>(
                   OpKind::SgdUpdate, SgdUpdateAttrs{.momentum_scale = 0.9f},
                   {slot(), gradient(), kNoValue, hyperparameters()}),
               {"\"momentum\" is missing", "momentum_scale"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(
          OpKind::AdamUpdate, AdamUpdateAttrs{.uses_amsgrad = true},
          {slot(), gradient(), slot(), slot(), kNoValue, hyperparameters()}),
      {"\"maximum_velocity\" is missing", "uses_amsgrad"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(
          OpKind::RmspropUpdate, RmspropUpdateAttrs{.is_centered = true},
          {slot(), gradient(), slot(), slot(), kNoValue, hyperparameters()}),
      {"\"gradient_average\" is missing", "is_centered"}));
}

TEST_F(Update, WritesVariablesOnly) {
  EXPECT_TRUE(
      contains(error_of<InvalidArgument>(
                   OpKind::SgdUpdate, SgdUpdateAttrs{},
                   {gradient(), gradient(), kNoValue, hyperparameters()}),
               {"\"parameter\"", "expected a variable, got an input"}));
}

TEST_F(Update, RefusesBadAttributes) {
  const std::vector<ValueId> sgd{slot(), gradient(), slot(), hyperparameters()};
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(
          OpKind::SgdUpdate,
          SgdUpdateAttrs{.clips_by_value = true, .gradient_clip_min = 2}, sgd),
      {"clipping range is empty", "got 2 and 1"}));
  EXPECT_NO_THROW(
      append(OpKind::SgdUpdate, SgdUpdateAttrs{.gradient_clip_min = 2}, sgd));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(OpKind::SgdUpdate,
                                SgdUpdateAttrs{.momentum_scale = -1}, sgd),
      {"momentum_scale", "got -1"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(
          OpKind::AdamUpdate, AdamUpdateAttrs{.beta2 = 1},
          {slot(), gradient(), slot(), slot(), kNoValue, hyperparameters()}),
      {"beta2", "below 1", "got 1"}));
  EXPECT_TRUE(contains(
      error_of<InvalidArgument>(
          OpKind::RmspropUpdate, RmspropUpdateAttrs{.epsilon = -1},
          {slot(), gradient(), slot(), kNoValue, kNoValue, hyperparameters()}),
      {"epsilon", "got -1"}));
}

TEST_F(Update, ClipScaleTakesAnyNumberOfNorms) {
  EXPECT_EQ(shape_of(OpKind::ClipScale, ClipScaleAttrs{},
                     {hyperparameters(), scalar(), scalar(), scalar()}),
            (Shape{1}));
  EXPECT_TRUE(
      contains(error_of<ShapeError>(OpKind::ClipScale, ClipScaleAttrs{},
                                    {hyperparameters(), scalar(), gradient()}),
               {"\"squared_norms\"", "expected (1), got (3, 4)"}));
  // And what each is the norm of, as a row.
  EXPECT_EQ(shape_of(OpKind::ClipScale, ClipScaleAttrs{},
                     {hyperparameters(), scalar(), scalar(), input({1, 6}),
                      input({1, 9})}),
            (Shape{1}));
  EXPECT_TRUE(contains(error_of<ShapeError>(OpKind::ClipScale, ClipScaleAttrs{},
                                            {hyperparameters(), scalar(),
                                             input({1, 6}), input({1, 9})}),
                       {"do not pair", "a gradient for each of 1", "got 2"}));
  EXPECT_TRUE(contains(error_of<InvalidArgument>(
                           OpKind::ClipScale, ClipScaleAttrs{.maximum_norm = 0},
                           {hyperparameters(), scalar()}),
                       {"maximum_norm", "above 0"}));
}

TEST_F(Update, AccumulationWritesItsAccumulator) {
  const ValueId factors = input({2});
  append(OpKind::AccumulateGradient, NoAttrs{}, {slot(), gradient(), factors});
  EXPECT_TRUE(mutates(program_.nodes().back(), 0));
  EXPECT_TRUE(
      contains(error_of<ShapeError>(OpKind::AccumulateGradient, NoAttrs{},
                                    {slot(), gradient(), hyperparameters()}),
               {"\"factors\"", "expected (2), got (4)"}));
  EXPECT_TRUE(
      contains(error_of<ShapeError>(OpKind::AccumulateGradient, NoAttrs{},
                                    {slot(), input({4, 3}), factors}),
               {"\"gradient\" must have the shape of \"accumulator\""}));
}

TEST_F(Update, IsNotDifferentiable) {
  for (OpKind op :
       {OpKind::SgdUpdate, OpKind::AdamUpdate, OpKind::RmspropUpdate,
        OpKind::ClipScale, OpKind::AccumulateGradient}) {
    EXPECT_EQ(op_def(op).gradient_rule, nullptr);
  }
}

}  // namespace
}  // namespace traingraph
