// SPDX-License-Identifier: MIT
// Arithmetic, comparisons, logic, selection and activations of the emulator.
#include "ops_support.h"

#include <cmath>
#include <limits>

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct UnaryCase {
  SEL selector;
  double x, y;
};

TEST_F(OpsTest, UnaryValues) {
  const UnaryCase cases[] = {
      {@selector(identityWithTensor:name:), 3, 3},
      {@selector(exponentWithTensor:name:), 1, 2.718281828},
      {@selector(exponentBase2WithTensor:name:), 3, 8},
      {@selector(exponentBase10WithTensor:name:), 2, 100},
      {@selector(logarithmWithTensor:name:), 2, 0.693147181},
      {@selector(logarithmBase2WithTensor:name:), 8, 3},
      {@selector(logarithmBase10WithTensor:name:), 1000, 3},
      {@selector(logarithmWithTensor:name:), 0, -kInfinity},
      {@selector(logarithmWithTensor:name:), -1, kNaN},
      {@selector(squareWithTensor:name:), -3, 9},
      {@selector(squareRootWithTensor:name:), 9, 3},
      {@selector(reverseSquareRootWithTensor:name:), 4, 0.5},
      {@selector(reciprocalWithTensor:name:), 4, 0.25},
      {@selector(absoluteWithTensor:name:), -2, 2},
      {@selector(negativeWithTensor:name:), 2, -2},
      {@selector(signWithTensor:name:), -5, -1},
      {@selector(signWithTensor:name:), 0, 0},
      {@selector(signbitWithTensor:name:), -5, 1},
      {@selector(ceilWithTensor:name:), 1.2, 2},
      {@selector(floorWithTensor:name:), -1.2, -2},
      {@selector(roundWithTensor:name:), 2.5, 3},
      {@selector(rintWithTensor:name:), 2.5, 2},
      {@selector(truncateWithTensor:name:), -1.7, -1},
      {@selector(sinWithTensor:name:), 1, 0.841470985},
      {@selector(cosWithTensor:name:), 1, 0.540302306},
      {@selector(tanWithTensor:name:), 1, 1.557407725},
      {@selector(sinhWithTensor:name:), 1, 1.175201194},
      {@selector(coshWithTensor:name:), 1, 1.543080635},
      {@selector(tanhWithTensor:name:), 1, 0.761594156},
      {@selector(asinWithTensor:name:), 0.5, 0.523598776},
      {@selector(acosWithTensor:name:), 0.5, 1.047197551},
      {@selector(atanWithTensor:name:), 1, 0.785398163},
      {@selector(asinhWithTensor:name:), 1, 0.881373587},
      {@selector(acoshWithTensor:name:), 2, 1.316957897},
      {@selector(atanhWithTensor:name:), 0.5, 0.549306144},
      {@selector(isInfiniteWithTensor:name:), kInfinity, 1},
      {@selector(isFiniteWithTensor:name:), kInfinity, 0},
      {@selector(isNaNWithTensor:name:), kNaN, 1},
      {@selector(erfWithTensor:name:), 0.5, 0.520499878},
      {@selector(reLUWithTensor:name:), -2, 0},
      {@selector(reLUWithTensor:name:), 2, 2},
      {@selector(sigmoidWithTensor:name:), 1, 0.731058579},
  };
  for (const UnaryCase& c : cases) {
    SCOPED_TRACE(sel_getName(c.selector));
    MPSGraphTensor* y = [graph performSelector:c.selector
                                    withObject:feed({c.x})
                                    withObject:nil];
    expect_near(run(y), {c.y});
  }
}

struct BinaryCase {
  SEL selector;
  double a, b, y;
};

MPSGraphTensor* call(MPSGraph* graph, SEL selector, MPSGraphTensor* a,
                     MPSGraphTensor* b) {
  using Method = MPSGraphTensor* (*)(id, SEL, id, id, id);
  const auto method = reinterpret_cast<Method>(
      reinterpret_cast<void (*)()>([graph methodForSelector:selector]));
  return method(graph, selector, a, b, nil);
}

#define SELECTOR(op) @selector(op##WithPrimaryTensor:secondaryTensor:name:)

TEST_F(OpsTest, BinaryValues) {
  const BinaryCase cases[] = {
      {SELECTOR(addition), 1, 2, 3},
      {SELECTOR(subtraction), 1, 2, -1},
      {SELECTOR(multiplication), 3, 2, 6},
      {SELECTOR(division), 1, 0, kInfinity},
      {SELECTOR(division), 3, 2, 1.5},
      {SELECTOR(divisionNoNaN), 1, 0, 0},
      {SELECTOR(divisionNoNaN), 3, 2, 1.5},
      {SELECTOR(modulo), -5, 3, -2},
      {SELECTOR(floorModulo), -5, 3, 1},
      {SELECTOR(floorModulo), 5, -3, -1},
      {SELECTOR(power), 2, -2, 0.25},
      {SELECTOR(minimum), 1, 2, 1},
      {SELECTOR(minimum), kNaN, 2, 2},
      {SELECTOR(maximum), 1, 2, 2},
      {SELECTOR(minimumWithNaNPropagation), 1, kNaN, kNaN},
      {SELECTOR(maximumWithNaNPropagation), kNaN, 1, kNaN},
      {SELECTOR(maximumWithNaNPropagation), 1, 2, 2},
      {SELECTOR(atan2), 1, -1, 2.356194490},
      {SELECTOR(equal), 1, 1, 1},
      {SELECTOR(equal), kNaN, kNaN, 0},
      {SELECTOR(notEqual), 1, 1, 0},
      {SELECTOR(lessThan), 1, 2, 1},
      {SELECTOR(lessThanOrEqualTo), 2, 2, 1},
      {SELECTOR(greaterThan), 1, 2, 0},
      {SELECTOR(greaterThanOrEqualTo), 2, 2, 1},
  };
  for (const BinaryCase& c : cases) {
    SCOPED_TRACE(sel_getName(c.selector));
    expect_near(run(call(graph, c.selector, feed({c.a}), feed({c.b}))), {c.y});
  }
}

TEST_F(OpsTest, LogicValues) {
  MPSGraphTensor* a = feed({4}, {0, 0, 1, 1}, MPSDataTypeBool);
  MPSGraphTensor* b = feed({4}, {0, 1, 0, 1}, MPSDataTypeBool);
  const std::pair<SEL, Values> cases[] = {
      {SELECTOR(logicalAND), {0, 0, 0, 1}},
      {SELECTOR(logicalOR), {0, 1, 1, 1}},
      {SELECTOR(logicalNAND), {1, 1, 1, 0}},
      {SELECTOR(logicalNOR), {1, 0, 0, 0}},
      {SELECTOR(logicalXOR), {0, 1, 1, 0}},
      {SELECTOR(logicalXNOR), {1, 0, 0, 1}},
  };
  for (const auto& [selector, expected] : cases) {
    MPSGraphTensor* y = call(graph, selector, a, b);
    EXPECT_EQ([y dataType], MPSDataTypeBool);
    EXPECT_EQ(run(y), expected) << sel_getName(selector);
  }
  EXPECT_EQ(run([graph notWithTensor:b name:nil]), (Values{1, 0, 1, 0}));
}

TEST_F(OpsTest, IntegersDivideTowardsZero) {
  MPSGraphTensor* a = feed({2}, {-7, 7}, MPSDataTypeInt32);
  MPSGraphTensor* b = feed({1}, {2}, MPSDataTypeInt32);
  EXPECT_EQ(run(call(graph, SELECTOR(division), a, b)), (Values{-3, 3}));
}

TEST_F(OpsTest, BroadcastsFromTheLastAxis) {
  MPSGraphTensor* a = feed({2, 1}, {10, 20});
  MPSGraphTensor* b = feed({3}, {1, 2, 3});
  MPSGraphTensor* y = call(graph, SELECTOR(addition), a, b);
  EXPECT_EQ(shape(y), (Lengths{2, 3}));
  EXPECT_EQ(run(y), (Values{11, 12, 13, 21, 22, 23}));
}

TEST_F(OpsTest, SelectAndClamp) {
  MPSGraphTensor* predicate = feed({2, 1}, {1, 0}, MPSDataTypeBool);
  MPSGraphTensor* a = feed({2}, {1, 2});
  MPSGraphTensor* b = feed({1}, {9});
  MPSGraphTensor* y = [graph selectWithPredicateTensor:predicate
                                   truePredicateTensor:a
                                  falsePredicateTensor:b
                                                  name:nil];
  EXPECT_EQ(run(y), (Values{1, 2, 9, 9}));
  MPSGraphTensor* clamped = [graph clampWithTensor:feed({-5, 0.5, 5})
                                    minValueTensor:feed({-1})
                                    maxValueTensor:feed({1})
                                              name:nil];
  EXPECT_EQ(run(clamped), (Values{-1, 0.5, 1}));
}

TEST_F(OpsTest, ActivationGradients) {
  MPSGraphTensor* x = feed({-1.5, -0.5, 0.25, 2});
  MPSGraphTensor* g = feed({1, -2, 3, 0.5});
  MPSGraphTensor* alpha = feed({0.1});
  expect_gradient([graph reLUGradientWithIncomingGradient:g
                                             sourceTensor:x
                                                     name:nil],
                  x, [graph reLUWithTensor:x name:nil], g);
  expect_gradient([graph sigmoidGradientWithIncomingGradient:g
                                                sourceTensor:x
                                                        name:nil],
                  x, [graph sigmoidWithTensor:x name:nil], g);
  MPSGraphTensor* leaky = [graph leakyReLUWithTensor:x alpha:0.1 name:nil];
  expect_near(run(leaky), {-0.15, -0.05, 0.25, 2});
  expect_near(run([graph leakyReLUWithTensor:x alphaTensor:alpha name:nil]),
              run(leaky));
  expect_gradient([graph leakyReLUGradientWithIncomingGradient:g
                                                  sourceTensor:x
                                                   alphaTensor:alpha
                                                          name:nil],
                  x, leaky, g);
}

TEST_F(OpsTest, ReLUGradientIsZeroAtZero) {
  MPSGraphTensor* y = [graph reLUGradientWithIncomingGradient:feed({1})
                                                 sourceTensor:feed({0})
                                                         name:nil];
  EXPECT_EQ(run(y), Values{0});
}

TEST_F(OpsTest, Softmax) {
  MPSGraphTensor* x = feed({2, 3}, {0, 0, 0, 1, 2, 3});
  MPSGraphTensor* y = [graph softMaxWithTensor:x axis:-1 name:nil];
  expect_near(run(y), {1 / 3.0, 1 / 3.0, 1 / 3.0, 0.090030573, 0.244728471,
                       0.665240956});
  MPSGraphTensor* g = feed({2, 3}, scattered(6));
  expect_gradient([graph softMaxGradientWithIncomingGradient:g
                                                sourceTensor:x
                                                        axis:1
                                                        name:nil],
                  x, y, g);
}

TEST_F(OpsTest, LogarithmOfSoftmaxUnderflows) {
  MPSGraphTensor* y = [graph softMaxWithTensor:feed({0, 200}) axis:0 name:nil];
  expect_near(run([graph logarithmWithTensor:y name:nil]), {-kInfinity, 0});
}

TEST_F(OpsTest, ElementwiseRefusals) {
  MPSGraphTensor* x = feed({2}, {1, 2});
  MPSGraphTensor* three = feed({1, 2, 3});
  MPSGraphTensor* integer = feed({2}, {1, 2}, MPSDataTypeInt32);
  MPSGraphTensor* boolean = feed({2}, {1, 0}, MPSDataTypeBool);
  const auto refuses = [&](SEL selector, MPSGraphTensor* a, MPSGraphTensor* b) {
    return !refusal([&] { call(graph, selector, a, b); }).empty();
  };
  EXPECT_TRUE(refuses(SELECTOR(addition), x, nil));
  EXPECT_TRUE(refuses(SELECTOR(addition), nil, x));
  EXPECT_TRUE(refuses(SELECTOR(addition), x, integer));
  EXPECT_TRUE(refuses(SELECTOR(addition), x, three));
  EXPECT_TRUE(refuses(SELECTOR(addition), boolean, boolean));
  EXPECT_TRUE(refuses(SELECTOR(atan2), integer, integer));
  EXPECT_TRUE(refuses(SELECTOR(logicalAND), x, x));
  EXPECT_FALSE(refuses(SELECTOR(equal), boolean, boolean));
  EXPECT_FALSE(refuses(SELECTOR(maximum), integer, integer));
  EXPECT_NE(refusal([&] { [graph exponentWithTensor:integer name:nil]; }), "");
  EXPECT_NE(refusal([&] { [graph notWithTensor:x name:nil]; }), "");
  EXPECT_NE(refusal([&] { [graph softMaxWithTensor:x axis:1 name:nil]; }), "");
  EXPECT_NE(refusal([&] {
              [graph reLUGradientWithIncomingGradient:three
                                         sourceTensor:x
                                                 name:nil];
            }),
            "");
  EXPECT_NE(refusal([&] {
              [graph selectWithPredicateTensor:x
                           truePredicateTensor:x
                          falsePredicateTensor:x
                                          name:nil];
            }),
            "");
  MPSGraph* other = [[[MPSGraph alloc] init] autorelease];
  EXPECT_NE(refusal([&] { [other reLUWithTensor:x name:nil]; }), "");
  EXPECT_NE(refusal([&] {
              [graph reLUWithTensor:[graph placeholderWithShape:nil name:nil]
                               name:nil];
            }),
            "");
}

}  // namespace
