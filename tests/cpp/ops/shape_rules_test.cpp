// SPDX-License-Identifier: MIT
// Shapes, errors and batch replacement of the elementwise, matmul, reduce and
// layout families, and the helpers that all families share.
#include "ops/shape_rules.h"

#include <gtest/gtest.h>

#include "ops/registry.h"

namespace traingraph {
namespace {

struct Input {
  Shape shape;
  DataType type = DataType::Float32;
};

std::vector<TensorDescriptor> infer(OpKind op, Attributes attrs,
                                    std::vector<Input> inputs) {
  Program program;
  std::vector<ValueId> ids;
  for (const Input& input : inputs) {
    ids.push_back(
        program.add_value(Role::Input, {input.shape, input.type}, "input"));
  }
  std::vector<TensorDescriptor> results;
  for (ValueId id : program.append(op, attrs, ids, "node")) {
    results.push_back(program.desc(id));
  }
  return results;
}

Shape shape_of(OpKind op, Attributes attrs, std::vector<Input> inputs) {
  return infer(op, std::move(attrs), std::move(inputs)).at(0).shape;
}

template <class ErrorType>
std::string message_of(OpKind op, Attributes attrs, std::vector<Input> inputs) {
  try {
    infer(op, std::move(attrs), std::move(inputs));
  } catch (const ErrorType& error) {
    EXPECT_EQ(error.op(), op_def(op).name);
    EXPECT_EQ(error.node(), "node");
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Registry, HoldsEveryRowOfTheTable) {
  ASSERT_EQ(op_defs().size(), static_cast<std::size_t>(kNumOps));
  for (const OpDef& op : op_defs()) {
    EXPECT_EQ(&op_def(op.kind), &op);
    EXPECT_EQ(find_op(op.name), &op);
    EXPECT_NE(op.shape_rule, nullptr) << op.name;
  }
  EXPECT_EQ(find_op("fused_everything"), nullptr);
  EXPECT_TRUE(op_def(OpKind::AllGather).is_host);
  EXPECT_EQ(find_op("all_gather"), nullptr);
  const int behind = static_cast<int>(OpKind::ReduceMoments) + 1;
  EXPECT_THROW(op_def(static_cast<OpKind>(behind)), InvalidArgument);
}

TEST(Broadcast, FollowsNumPy) {
  EXPECT_EQ(broadcast_shapes({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast_shapes({1}, {5, 6}), (Shape{5, 6}));
  EXPECT_EQ(broadcast_shapes({2, 3}, {2}), std::nullopt);
}

TEST(ReducedShape, KeepsTheRank) {
  EXPECT_EQ(reduced_shape({2, 3, 4}, {2, 0}), (Shape{1, 3, 1}));
  EXPECT_EQ(reduced_shape({2, 3}, {}), (Shape{1, 1}));
}

// Elementwise.

TEST(Elementwise, BinaryBroadcasts) {
  EXPECT_EQ(shape_of(OpKind::Binary, ArithmeticAttrs{}, {{{4, 1}}, {{3}}}),
            (Shape{4, 3}));
  EXPECT_EQ(message_of<ShapeError>(OpKind::Binary, ArithmeticAttrs{},
                                   {{{4, 2}}, {{3}}}),
            "[binary \"node\"] shapes do not broadcast: expected sizes that "
            "are equal or 1, from the last axis, got x (4, 2) and y (3).");
}

TEST(Elementwise, ArityIsChecked) {
  EXPECT_EQ(
      message_of<InvalidArgument>(OpKind::Unary, ArithmeticAttrs{}, {{{4}}}),
      "[unary \"node\"] operation has the wrong arity: expected an operation "
      "of one operand, got add. Use binary.");
  EXPECT_EQ(message_of<InvalidArgument>(
                OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Sqrt},
                {{{4}}, {{4}}}),
            "[binary \"node\"] operation has the wrong arity: expected an "
            "operation of two operands, got sqrt. Use unary.");
}

TEST(Elementwise, ActivationGradientNeedsEqualShapes) {
  EXPECT_EQ(message_of<ShapeError>(OpKind::ActivationGradient,
                                   ActivationAttrs{}, {{{4, 1}}, {{4}}}),
            "[activation_gradient \"node\"] input \"gradient\" must have the "
            "shape of \"x\": expected (4), got (4, 1).");
}

TEST(Elementwise, CompareGivesBoolean) {
  const auto result =
      infer(OpKind::Compare, CompareAttrs{},
            {{{4, 1}, DataType::Int64}, {{5}, DataType::Int64}});
  EXPECT_EQ(result[0], (TensorDescriptor{{4, 5}, DataType::Boolean}));
}

TEST(Elementwise, CompareChecksDataTypes) {
  EXPECT_EQ(message_of<DTypeError>(OpKind::Compare, CompareAttrs{},
                                   {{{4}}, {{4}, DataType::Int32}}),
            "[compare \"node\"] input \"y\" must have the data type of \"x\": "
            "expected float32, got int32. Convert one with cast.");
  EXPECT_EQ(message_of<DTypeError>(OpKind::Compare,
                                   CompareAttrs{ComparisonOperation::LogicalOR},
                                   {{{4}}, {{4}}}),
            "[compare \"node\"] input \"x\" has the wrong data type: expected "
            "bool, got float32. Convert it with cast or astype().");
  EXPECT_EQ(message_of<InvalidArgument>(
                OpKind::Compare, CompareAttrs{ComparisonOperation::LogicalNOT},
                {{{4}, DataType::Boolean}, {{4}, DataType::Boolean}}),
            "[compare \"node\"] operation has the wrong arity: expected an "
            "operation of two operands, got logical_not. Use logical_not.");
}

TEST(Elementwise, SelectBroadcastsAllThree) {
  EXPECT_EQ(shape_of(OpKind::Select, NoAttrs{},
                     {{{4, 1, 1}, DataType::Boolean}, {{3, 1}}, {{2}}}),
            (Shape{4, 3, 2}));
}

TEST(Elementwise, CastAndFillTakeTheirTypeFromTheAttributes) {
  const auto result = infer(OpKind::Cast, CastAttrs{DataType::Int32}, {{{4}}});
  EXPECT_EQ(result[0], (TensorDescriptor{{4}, DataType::Int32}));
  const FillAttrs fill{.shape = {2, 3}, .data_type = DataType::Boolean};
  EXPECT_EQ(infer(OpKind::Fill, fill, {})[0],
            (TensorDescriptor{{2, 3}, DataType::Boolean}));
  EXPECT_EQ(message_of<InvalidArgument>(OpKind::Fill, FillAttrs{}, {}),
            "[fill \"node\"] shape is no shape of a tensor: expected one or "
            "more sizes of at least 1, got ().");
}

TEST(Elementwise, DropoutChecksRateAndState) {
  const Input state{{4}, DataType::Int32};
  EXPECT_EQ(shape_of(OpKind::Dropout, DropoutAttrs{}, {{{5, 6}}, state}),
            (Shape{5, 6}));
  EXPECT_EQ(message_of<InvalidArgument>(
                OpKind::Dropout, DropoutAttrs{.rate = 1}, {{{5}}, state}),
            "[dropout \"node\"] rate is not a probability: expected at least 0 "
            "and below 1, got 1.");
  EXPECT_EQ(message_of<ShapeError>(OpKind::Dropout, DropoutAttrs{},
                                   {{{5}}, {{2}, DataType::Int32}}),
            "[dropout \"node\"] input \"random_state\" has the wrong shape: "
            "expected (4), got (2).");
}

TEST(Elementwise, DropoutIsTheIdentityAtInference) {
  const OpDef& op = op_def(OpKind::Dropout);
  Attributes attrs = DropoutAttrs{.rate = 0.25f, .seed = 3};
  EXPECT_FALSE(op.is_identity(attrs));
  op.inference_form(attrs);
  EXPECT_TRUE(op.is_identity(attrs));
  EXPECT_EQ(std::get<DropoutAttrs>(attrs).seed, 3);
}

// Matmul.

TEST(MatMul, TransposesAndBroadcastsLeadingAxes) {
  const MatMulAttrs both{.transposes_x = true, .transposes_y = true};
  EXPECT_EQ(shape_of(OpKind::MatMul, both, {{{5, 1, 4, 2}}, {{6, 3, 4}}}),
            (Shape{5, 6, 2, 3}));
  EXPECT_EQ(
      shape_of(OpKind::MatMul, MatMulAttrs{}, {{{7, 2, 4}}, {{4, 3}}, {{3}}}),
      (Shape{7, 2, 3}));
}

TEST(MatMul, NamesWhatDisagrees) {
  EXPECT_EQ(
      message_of<ShapeError>(OpKind::MatMul, MatMulAttrs{}, {{{4}}, {{4, 3}}}),
      "[matmul \"node\"] input \"x\" has the wrong rank: expected at least 2 "
      "axes, got 1 axis (4).");
  EXPECT_EQ(message_of<ShapeError>(OpKind::MatMul, MatMulAttrs{},
                                   {{{2, 4}}, {{3, 4}}}),
            "[matmul \"node\"] the inner sizes of x (2, 4) and y (3, 4) "
            "differ: expected 4, got 3. Check transposes_x and transposes_y.");
  EXPECT_EQ(message_of<ShapeError>(OpKind::MatMul, MatMulAttrs{},
                                   {{{2, 4}}, {{4, 3}}, {{2}}}),
            "[matmul \"node\"] input \"bias\" has the wrong shape: expected "
            "(3), got (2).");
}

// Reduce.

TEST(Reduce, KeepsReducedAxesWithSizeOne) {
  EXPECT_EQ(shape_of(OpKind::Reduce, ReduceAttrs{ReductionType::Mean, {2, 0}},
                     {{{2, 3, 4}}}),
            (Shape{1, 3, 1}));
  EXPECT_EQ(shape_of(OpKind::Reduce, ReduceAttrs{}, {{{2, 3}}}), (Shape{1, 1}));
  EXPECT_EQ(shape_of(OpKind::Reduce, ReduceAttrs{ReductionType::None, {0}},
                     {{{2, 3}}}),
            (Shape{2, 3}));
}

TEST(Reduce, ArgMaxGivesIndicesOfOneAxis) {
  const ReduceAttrs arg{ReductionType::ArgMax, {1}};
  EXPECT_EQ(infer(OpKind::Reduce, arg, {{{2, 3}}})[0],
            (TensorDescriptor{{2, 1}, DataType::Int32}));
  const ReduceAttrs two{ReductionType::ArgMin, {0, 1}};
  EXPECT_EQ(message_of<InvalidArgument>(OpKind::Reduce, two, {{{2, 3}}}),
            "[reduce \"node\"] arg_min has the wrong number of axes: expected "
            "exactly 1, got 2.");
}

TEST(Reduce, ChecksAxesAndTypes) {
  const ReduceAttrs outside{ReductionType::Sum, {2}};
  EXPECT_EQ(message_of<InvalidArgument>(OpKind::Reduce, outside, {{{2, 3}}}),
            "[reduce \"node\"] axes is not an axis: expected 0 to 1, got 2.");
  const ReduceAttrs twice{ReductionType::Sum, {1, 1}};
  EXPECT_EQ(message_of<InvalidArgument>(OpKind::Reduce, twice, {{{2, 3}}}),
            "[reduce \"node\"] axes names an axis twice: expected distinct "
            "axes, got (1, 1).");
  const ReduceAttrs any{ReductionType::Any, {1}};
  EXPECT_EQ(message_of<DTypeError>(OpKind::Reduce, any, {{{2, 3}}}),
            "[reduce \"node\"] input \"x\" has the wrong data type: expected "
            "bool, got float32. Convert it with cast or astype().");
}

TEST(Reduce, BroadcastToAndSquaredNorm) {
  const ShapeAttrs target{{5, 2, 3}};
  EXPECT_EQ(shape_of(OpKind::BroadcastTo, target, {{{2, 1}}}),
            (Shape{5, 2, 3}));
  EXPECT_EQ(message_of<ShapeError>(OpKind::BroadcastTo, target, {{{4}}}),
            "[broadcast_to \"node\"] input \"x\" does not broadcast to "
            "(5, 2, 3): expected sizes that are equal or 1, from the last "
            "axis, got (4).");
  EXPECT_EQ(shape_of(OpKind::SquaredNorm, NoAttrs{}, {{{5, 2}}}), (Shape{1}));
}

// Layout.

TEST(Layout, ReshapeResolvesOneFreeSize) {
  EXPECT_EQ(shape_of(OpKind::Reshape, ShapeAttrs{{2, -1}}, {{{2, 3, 4}}}),
            (Shape{2, 12}));
  const char* const tail =
      "cannot reshape x (2, 3): expected positive sizes, at most one of them "
      "-1, of 6 elements, got ";
  for (const Shape& bad : {Shape{4, -1}, Shape{-1, -1}, Shape{5}, Shape{},
                           Shape{0, -1}, Shape{-2, -3}}) {
    EXPECT_EQ(
        message_of<ShapeError>(OpKind::Reshape, ShapeAttrs{bad}, {{{2, 3}}}),
        std::string("[reshape \"node\"] ") + tail + bad.to_string() + ".");
  }
}

TEST(Layout, TransposeTakesAPermutation) {
  EXPECT_EQ(shape_of(OpKind::Transpose, TransposeAttrs{{2, 0, 1}},
                     {{{2, 3, 4}, DataType::UInt8}}),
            (Shape{4, 2, 3}));
  EXPECT_EQ(message_of<InvalidArgument>(OpKind::Transpose, TransposeAttrs{{0}},
                                        {{{2, 3}}}),
            "[transpose \"node\"] axes has the wrong length: expected 2 "
            "axes, got (0).");
  EXPECT_THROW(infer(OpKind::Transpose, TransposeAttrs{{1, 1}}, {{{2, 3}}}),
               InvalidArgument);
}

TEST(Layout, ConcatenateAddsUpOneAxis) {
  EXPECT_EQ(shape_of(OpKind::Concatenate, AxisAttrs{1},
                     {{{2, 3}}, {{2, 1}}, {{2, 4}}}),
            (Shape{2, 8}));
  EXPECT_EQ(message_of<ShapeError>(OpKind::Concatenate, AxisAttrs{1},
                                   {{{2, 3}}, {{3, 3}}}),
            "[concatenate \"node\"] input 1 does not fit beside input 0 on "
            "axis 1: expected the sizes of (2, 3) on every other axis, got "
            "(3, 3).");
  EXPECT_EQ(message_of<InvalidArgument>(OpKind::Concatenate, AxisAttrs{2},
                                        {{{2, 3}}}),
            "[concatenate \"node\"] axis is not an axis: expected 0 to 1, got "
            "2.");
  EXPECT_THROW(
      infer(OpKind::Concatenate, AxisAttrs{0}, {{{2}}, {{2}, DataType::Int32}}),
      DTypeError);
}

TEST(Layout, SplitGivesOneResultPerLength) {
  const auto parts = infer(OpKind::Split, SplitAttrs{{1, 2, 3}, 0}, {{{6, 2}}});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].shape, (Shape{3, 2}));
  EXPECT_EQ(
      message_of<ShapeError>(OpKind::Split, SplitAttrs{{1, 2}, 0}, {{{6, 2}}}),
      "[split \"node\"] lengths do not add up to axis 0 of x (6, 2): expected "
      "6, got 3 from (1, 2).");
}

TEST(Layout, SliceCountsItsSteps) {
  EXPECT_EQ(
      shape_of(OpKind::Slice, SliceAttrs{{1, 0}, {8, 3}, {3, 2}}, {{{9, 3}}}),
      (Shape{3, 2}));
  EXPECT_EQ(shape_of(OpKind::Slice, SliceAttrs{{1}, {3}, {}}, {{{3}}}),
            (Shape{2}));
  EXPECT_EQ(message_of<InvalidArgument>(OpKind::Slice, SliceAttrs{{1}, {4}, {}},
                                        {{{3}}}),
            "[slice \"node\"] the range on axis 0 is empty or outside: "
            "expected 0 <= start < end <= 3, got start 1, end 4.");
  EXPECT_THROW(infer(OpKind::Slice, SliceAttrs{{1}, {2}, {0}}, {{{3}}}),
               InvalidArgument);
  EXPECT_THROW(infer(OpKind::Slice, SliceAttrs{{0}, {2}, {}}, {{{3, 3}}}),
               InvalidArgument);
}

TEST(Layout, SliceGradientGivesTheWholeShape) {
  const SliceGradientAttrs attrs{{1}, {8}, {3}, {9}};
  EXPECT_EQ(shape_of(OpKind::SliceGradient, attrs, {{{3}}}), (Shape{9}));
  EXPECT_EQ(message_of<ShapeError>(OpKind::SliceGradient, attrs, {{{4}}}),
            "[slice_gradient \"node\"] input \"gradient\" has the wrong shape: "
            "expected (3), got (4).");
}

TEST(Layout, PadChecksWhatItMirrors) {
  const PadAttrs zero{
      .type = PaddingType::Zero, .before = {0, 5}, .after = {1, 0}};
  EXPECT_EQ(shape_of(OpKind::Pad, zero, {{{2, 3}}}), (Shape{3, 8}));
  EXPECT_EQ(shape_of(OpKind::PadGradient, zero, {{{3, 8}}}), (Shape{2, 3}));
  const PadAttrs reflect{
      .type = PaddingType::Reflect, .before = {3}, .after = {0}};
  EXPECT_EQ(shape_of(OpKind::Pad, reflect, {{{4}}}), (Shape{7}));
  EXPECT_EQ(message_of<InvalidArgument>(OpKind::Pad, reflect, {{{3}}}),
            "[pad \"node\"] reflect padding is too large on axis 0 of size 3: "
            "expected at most 2, got 3.");
  const PadAttrs symmetric{
      .type = PaddingType::Symmetric, .before = {3}, .after = {0}};
  EXPECT_EQ(shape_of(OpKind::Pad, symmetric, {{{3}}}), (Shape{6}));
  EXPECT_EQ(message_of<ShapeError>(OpKind::PadGradient, symmetric, {{{3}}}),
            "[pad_gradient \"node\"] padding leaves nothing of axis 0: "
            "expected a size above 3, got 3.");
  const PadAttrs negative{.before = {-1}, .after = {0}};
  EXPECT_THROW(infer(OpKind::Pad, negative, {{{3}}}), InvalidArgument);
}

// Batch replacement.

}  // namespace
}  // namespace traingraph
