// SPDX-License-Identifier: MIT
// Rewrites of what moves elements, and of arithmetic: what they make of a
// program, and what they leave alone.
#include "compiler/recognize_layers.h"

namespace traingraph {
namespace {

// --- Layout ---

TEST_F(RecognizeLayers, ReshapesJoin) {
  const ValueId x = input({2, 6});
  const ValueId y = reshape(reshape(x, {3, 4}), {4, 3});
  EXPECT_EQ(ops({y}), (Names{"reshape"}));
  EXPECT_EQ(maker(y).inputs[0], x);
}

TEST_F(RecognizeLayers, ReshapesCancel) {
  const ValueId x = input({2, 6});
  const ValueId y =
      activation(ActivationType::ReLU, reshape(reshape(x, {3, 4}), {2, 6}));
  EXPECT_EQ(ops({y}), (Names{"activation"}));
  EXPECT_EQ(maker(y).inputs[0], x);
}

TEST_F(RecognizeLayers, ANamedResultThatEqualsAnotherIsAView) {
  const ValueId x = input({2, 6});
  const ValueId y = transpose(transpose(x, {1, 0}), {1, 0});
  EXPECT_EQ(ops({y}), (Names{"reshape"}));
  EXPECT_EQ(maker(y).inputs[0], x);
}

TEST_F(RecognizeLayers, ANamedReshapeStays) {
  const ValueId x = input({2, 6});
  const ValueId between = reshape(x, {3, 4}), y = reshape(between, {4, 3});
  EXPECT_EQ(ops({between, y}), (Names{"reshape", "reshape"}));
}

TEST_F(RecognizeLayers, TransposesJoin) {
  const ValueId x = input({2, 3, 4});
  const ValueId y = transpose(transpose(x, {1, 2, 0}), {1, 2, 0});
  EXPECT_EQ(ops({y}), (Names{"transpose"}));
  EXPECT_EQ(attrs<TransposeAttrs>(y).axes, (Shape{2, 0, 1}));
}

TEST_F(RecognizeLayers, ATransposeOfUnitAxesMovesNothing) {
  const ValueId y = transpose(input({2, 1, 4, 1}), {0, 2, 3, 1});
  EXPECT_EQ(ops({y}), (Names{"reshape"}));
  EXPECT_EQ(program().shape(y), (Shape{2, 4, 1, 1}));
}

TEST_F(RecognizeLayers, ATransposeOfMergedMatricesIsOneOfMatrices) {
  const ValueId x = input({2, 3, 4, 5});
  const ValueId y =
      reshape(transpose(reshape(x, {6, 4, 5}), {0, 2, 1}), {2, 3, 5, 4});
  EXPECT_EQ(ops({y}), (Names{"transpose"}));
  EXPECT_EQ(attrs<TransposeAttrs>(y).axes, (Shape{0, 1, 3, 2}));
}

TEST_F(RecognizeLayers, ATransposeOfWhatWasMixedStays) {
  const ValueId x = input({2, 3, 4, 5});
  const ValueId y =
      reshape(transpose(reshape(x, {6, 5, 4}), {0, 2, 1}), {2, 3, 4, 5});
  EXPECT_EQ(ops({y}), (Names{"reshape", "transpose", "reshape"}));
}

TEST_F(RecognizeLayers, TransposesMoveUntilTheyCancel) {
  const ValueId x = input({2, 3, 4}), z = input({2, 3, 4});
  const ValueId sum =
      add(activation(ActivationType::ReLU, transpose(x, {2, 0, 1})),
          transpose(z, {2, 0, 1}));
  const ValueId joined =
      append(OpKind::Concatenate, AxisAttrs{0},
             {unary(ArithmeticOperation::Exp, sum), transpose(x, {2, 0, 1})});
  const ValueId y =
      unary(ArithmeticOperation::Cos, transpose(joined, {1, 2, 0}));
  EXPECT_EQ(ops({y}),
            (Names{"activation", "binary", "unary", "concatenate", "unary"}));
  EXPECT_EQ(attrs<AxisAttrs>(maker(y).inputs[0]).axis, 2);
}

TEST_F(RecognizeLayers, TransposesOfOneOperandOrOtherAxesStay) {
  const ValueId x = input({3, 3}), z = input({3, 3});
  const ValueId one = add(transpose(x, {1, 0}), z);
  const ValueId cube = input({3, 3, 3});
  const ValueId other =
      add(transpose(cube, {2, 0, 1}), transpose(cube, {1, 2, 0}));
  EXPECT_EQ(ops({one, other}),
            (Names{"transpose", "binary", "transpose", "transpose", "binary"}));
}

TEST_F(RecognizeLayers, SlicesOfAllOfAnAxisAreASplit) {
  const ValueId x = input({2, 6, 3});
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    return append(OpKind::Slice, SliceAttrs{{0, begin, 0}, {2, end, 3}, {}},
                  {x});
  };
  const ValueId b = part(4, 6), a = part(0, 4);
  EXPECT_EQ(ops({a, b}), (Names{"split"}));
  EXPECT_EQ(maker(a).outputs, (std::vector<ValueId>{a, b}));
  EXPECT_EQ(rewrites()[0].what, "split");
}

TEST_F(RecognizeLayers, SlicesWithGapsAndStepsStay) {
  const ValueId x = input({2, 6});
  const auto part = [&](std::int64_t begin, std::int64_t end,
                        std::int64_t step) {
    return append(OpKind::Slice, SliceAttrs{{0, begin}, {2, end}, {1, step}},
                  {x});
  };
  const ValueId a = part(0, 3, 1), b = part(4, 6, 1), even = part(0, 6, 2),
                odd = part(1, 6, 2);
  EXPECT_EQ(ops({a, b, even, odd}),
            (Names{"slice", "slice", "slice", "slice"}));
}

// --- Arithmetic ---

TEST_F(RecognizeLayers, ArithmeticWithNumbersIsALine) {
  const ValueId x = input({2, 3});
  const ValueId twice = binary(ArithmeticOperation::Divide, x, number(0.5f));
  const ValueId y = binary(ArithmeticOperation::Subtract, number(3), twice);
  EXPECT_EQ(ops({y}), (Names{"activation"}));
  EXPECT_EQ(attrs<ActivationAttrs>(y).a, -2);
  EXPECT_EQ(attrs<ActivationAttrs>(y).b, 3);
}

TEST_F(RecognizeLayers, ASumWithALargerFillStays) {
  const ValueId x = input({3});
  const ValueId fill =
      append(OpKind::Fill, FillAttrs{.shape = {2, 3}, .value = 1}, {});
  EXPECT_EQ(ops({add(x, fill)}), (Names{"fill", "binary"}));
}

TEST_F(RecognizeLayers, ADivisionByZeroStays) {
  const ValueId x = input({3});
  const ValueId y = binary(ArithmeticOperation::Divide, x, number(0));
  EXPECT_EQ(ops({y}), (Names{"fill", "binary"}));
}

TEST_F(RecognizeLayers, ASumByItsCountIsAMean) {
  const ValueId x = input({2, 4});
  const ValueId sum =
      append(OpKind::Reduce, ReduceAttrs{ReductionType::Sum, {1}}, {x});
  const ValueId y = multiply(sum, number(0.25f));
  EXPECT_EQ(ops({y}), (Names{"reduce"}));
  EXPECT_EQ(attrs<ReduceAttrs>(y).type, ReductionType::Mean);
}

TEST_F(RecognizeLayers, EqualNodesAreOne) {
  const ValueId x = input({2, 4});
  const ValueId y = add(unary(ArithmeticOperation::Exp, x),
                        unary(ArithmeticOperation::Exp, x));
  EXPECT_EQ(ops({y}), (Names{"unary", "binary"}));
}

TEST_F(RecognizeLayers, NodesOfOtherAttributesStay) {
  const ValueId x = input({2, 4});
  const ValueId y = add(unary(ArithmeticOperation::Exp, x),
                        unary(ArithmeticOperation::Exp2, x));
  EXPECT_EQ(ops({y}), (Names{"unary", "unary", "binary"}));
}

}  // namespace
}  // namespace traingraph
