// SPDX-License-Identifier: MIT
// Arithmetic of two images: scales, bias, bounds and broadcasting, with the
// gradients of both sources.
#include <cfloat>
#include <cmath>

#import "mpsnn_filter_support.h"

namespace {

struct Setting {
  double primary_scale = 1, secondary_scale = 1, bias = 0;
  double minimum = -FLT_MAX, maximum = FLT_MAX;
  // 0: broadcast.
  int primary[3] = {1, 1, 1}, secondary[3] = {1, 1, 1};
};

using Operation = std::function<double(double, double)>;

double element(const Tensor& t, const int (&strides)[3], std::int64_t c,
               std::int64_t y, std::int64_t x) {
  return t.at(c * strides[0], y * strides[1], x * strides[2]);
}

class ArithmeticTest : public FilterTest {
 protected:
  Formula formula(const Setting& s, const Operation& op, const Extent& result) {
    return [=](const Tensors& sources) {
      return tensor_of(result, [&](auto c, auto y, auto x) {
        const double a = element(sources[0], s.primary, c, y, x);
        const double b = element(sources[1], s.secondary, c, y, x);
        const double value =
            op(s.primary_scale * a, s.secondary_scale * b) + s.bias;
        return std::clamp(value, s.minimum, s.maximum);
      });
    };
  }

  static void set(MPSNNBinaryArithmeticNode* node, const Setting& s) {
    [node setPrimaryScale:float(s.primary_scale)];
    [node setSecondaryScale:float(s.secondary_scale)];
    [node setBias:float(s.bias)];
    [node setMinimumValue:float(s.minimum)];
    [node setMaximumValue:float(s.maximum)];
    [node setPrimaryStrideInFeatureChannels:s.primary[0]];
    [node setPrimaryStrideInPixelsY:s.primary[1]];
    [node setPrimaryStrideInPixelsX:s.primary[2]];
    [node setSecondaryStrideInFeatureChannels:s.secondary[0]];
    [node setSecondaryStrideInPixelsY:s.secondary[1]];
    [node setSecondaryStrideInPixelsX:s.secondary[2]];
  }

  /// One element along the axes that are broadcast.
  static Extent operand(const Extent& e, const int (&strides)[3]) {
    return {strides[0] ? e.channels : 1, strides[1] ? e.height : 1,
            strides[2] ? e.width : 1};
  }

  MPSNNBinaryArithmeticNode* node(Class kind, const Setting& s,
                                  const Extent& result, double low = -2) {
    MPSNNBinaryArithmeticNode* made =
        [kind nodeWithLeftSource:image(operand(result, s.primary))
                     rightSource:image(operand(result, s.secondary), low)];
    set(made, s);
    return made;
  }

  struct Kind {
    Class node;
    Operation operation;
  };
  const std::vector<Kind> kinds_{
      {[MPSNNAdditionNode class], std::plus<double>()},
      {[MPSNNSubtractionNode class], std::minus<double>()},
      {[MPSNNMultiplicationNode class], std::multiplies<double>()}};
};

TEST_F(ArithmeticTest, WithGradients) {
  for (const Kind& kind : kinds_) {
    SCOPED_TRACE(class_getName(kind.node));
    const Extent extent = random_extent();
    const Setting plain;
    expect_filter(node(kind.node, plain, extent),
                  formula(plain, kind.operation, extent));
    const Setting scaled{
        .primary_scale = 0.5, .secondary_scale = -3, .bias = 2};
    expect_filter(node(kind.node, scaled, extent),
                  formula(scaled, kind.operation, extent));
  }
}

TEST_F(ArithmeticTest, Broadcast) {
  for (const Kind& kind : kinds_) {
    for (int i = 0; i < 16; ++i) {
      SCOPED_TRACE(class_getName(kind.node));
      Setting s{.primary_scale = 2, .secondary_scale = 0.5};
      for (int axis = 0; axis < 3; ++axis) {
        s.primary[axis] = pick(0, 1);
        s.secondary[axis] = s.primary[axis] ? pick(0, 1) : 1;
      }
      const Extent extent = random_extent(4, 4);
      expect_filter(node(kind.node, s, extent),
                    formula(s, kind.operation, extent));
    }
  }
}

TEST_F(ArithmeticTest, DivisionAndBoundsForward) {
  const Extent extent = random_extent();
  const Setting s{
      .primary_scale = 2, .secondary_scale = 3, .bias = 0.5, .maximum = 1};
  expect_forward(node([MPSNNDivisionNode class], s, extent, 0.5),
                 formula(s, std::divides<double>(), extent));
  const Setting bounds{.minimum = -0.5, .maximum = 0.25};
  for (const Kind& kind : kinds_) {
    expect_forward(node(kind.node, bounds, extent),
                   formula(bounds, kind.operation, extent));
  }
}

TEST_F(ArithmeticTest, GradientsIgnoreBounds) {
  const Extent extent{2, 2, 2};
  MPSNNBinaryArithmeticNode* sum = node(
      [MPSNNAdditionNode class], { .minimum = -0.1, .maximum = 0.1 }, extent);
  const Formula unbounded = formula({}, std::plus<double>(), extent);
  MPSNNImageNode* g = incoming_of(sum, unbounded);
  NSArray* gradients =
      [sum gradientFiltersWithSources:[NSArray arrayWithObject:g]];
  for (MPSNNFilterNode* gradient in gradients) {
    const Tensors got = run([gradient resultImage]);
    for (int i = 0; i < kImages; ++i) {
      expect_close(got[i], values(g)[i], 0);
    }
  }
}

TEST_F(ArithmeticTest, Comparison) {
  const Extent extent{1, 1, 3};
  const Operation operations[] = {
      std::equal_to<double>(), std::not_equal_to<double>(),
      std::less<double>(),     std::less_equal<double>(),
      std::greater<double>(),  std::greater_equal<double>()};
  for (NSUInteger i = 0; i < 6; ++i) {
    MPSNNComparisonNode* made =
        [MPSNNComparisonNode nodeWithLeftSource:image_of(extent, {1, 2, 3})
                                    rightSource:image_of(extent, {2, 2, 2})];
    EXPECT_EQ([made comparisonType], MPSNNComparisonTypeEqual);
    [made setComparisonType:MPSNNComparisonType(i)];
    expect_forward(made, formula({}, operations[i], extent));
  }
}

TEST_F(ArithmeticTest, OneImageInBothRoles) {
  MPSNNImageNode* x = image({2, 2, 3});
  expect_filter([MPSNNMultiplicationNode nodeWithLeftSource:x rightSource:x],
                formula({}, std::multiplies<double>(), {2, 2, 3}));
}

TEST_F(ArithmeticTest, GradientNodeMadeByHand) {
  const Extent extent{2, 3, 2};
  MPSNNBinaryArithmeticNode* forward =
      node([MPSNNSubtractionNode class], {}, extent);
  const Formula difference = formula({}, std::minus<double>(), extent);
  MPSNNImageNode* g = incoming_of(forward, difference);
  MPSNNSubtractionGradientNode* gradient = [MPSNNSubtractionGradientNode
       nodeWithSourceGradient:g
                  sourceImage:[[forward sourceImages] objectAtIndex:1]
                gradientState:(MPSNNBinaryGradientStateNode*)
                                  [forward resultState]
      isSecondarySourceFilter:YES];
  EXPECT_TRUE([gradient isSecondarySourceFilter]);
  // The kernel wants the sign to be said.
  [gradient setPrimaryScale:-1];
  const Tensors got = run([gradient resultImage]);
  for (int i = 0; i < kImages; ++i) {
    expect_close(got[i], map(values(g)[i], [](double x) { return -x; }), 0);
  }
}

TEST_F(ArithmeticTest, Refuses) {
  MPSNNImageNode* x = image({2, 3, 4});
  MPSNNImageNode* y = image({2, 3, 4});
  MPSNNFilterNode* sum = [MPSNNAdditionNode nodeWithLeftSource:x rightSource:y];
  NSArray* one = [NSArray arrayWithObject:x];
  EXPECT_EQ([[sum gradientFiltersWithSource:x] count], 2u);
  EXPECT_EQ([(MPSNNAdditionNode*)sum gradientClass],
            [MPSNNAdditionGradientNode class]);
  void (^calls[])() = {^{
      [sum gradientFilterWithSources:one];
}
,
    ^{
      [sum gradientFilterWithSource:x];
    },
    ^{
      [MPSNNAdditionNode nodeWithSources:one];
    },
    ^{
      [MPSNNAdditionNode nodeWithLeftSource:x rightSource:(id)nothing_];
    },
    ^{
      [[MPSNNDivisionNode nodeWithLeftSource:x
                                 rightSource:y] gradientFiltersWithSources:one];
    },
    ^{
      [[MPSNNComparisonNode nodeWithLeftSource:x rightSource:y]
          gradientFiltersWithSources:one];
    },
};  // namespace
for (auto& call : calls) EXPECT_NE(raised(call), "");
MPSNNAdditionNode* other =
    [MPSNNAdditionNode nodeWithLeftSource:x rightSource:image({2, 3, 5})];
EXPECT_NE(refusal_of([other resultImage]), "");
MPSNNAdditionNode* strides = [MPSNNAdditionNode nodeWithLeftSource:x
                                                       rightSource:y];
[strides setPrimaryStrideInPixelsX:2];
EXPECT_NE(refusal_of([strides resultImage]), "");
}

}  // namespace
