// SPDX-License-Identifier: MIT
// Shapes, errors and gradient graphs of upsample; which samples it takes.
#include "ops/upsample_taps.h"
#include "support/op_program.h"

namespace traingraph {
namespace {

class Upsampling : public OpProgramTest {
 protected:
  static UpsampleAttrs to(Shape shape, SampleMode mode = SampleMode::Nearest,
                          bool aligns_corners = false) {
    return {shape, mode, aligns_corners};
  }
};

TEST_F(Upsampling, ReplacesTheLastExtents) {
  const ValueId image = input({2, 3, 4, 5});
  EXPECT_EQ(shape_of(OpKind::Upsample, to({8, 2}), {image}),
            (Shape{2, 3, 8, 2}));
  EXPECT_EQ(shape_of(OpKind::Upsample, to({7}), {image}), (Shape{2, 3, 4, 7}));
  EXPECT_EQ(shape_of(OpKind::UpsampleGradient, to({2, 9}), {image}),
            (Shape{2, 3, 2, 9}));
  EXPECT_EQ(shape_of(OpKind::Upsample, to({7}), {input({2, 3, 5})}),
            (Shape{2, 3, 7}));
}

TEST_F(Upsampling, RefusesWhatIsNoImage) {
  EXPECT_TRUE(contains(
      error_of<ShapeError>(OpKind::Upsample, to({8, 8}), inputs({{2, 3, 4}})),
      {"x (2, 3, 4) is no image", "expected (N, C, H, W)"}));
  EXPECT_TRUE(contains(
      error_of<ShapeError>(OpKind::Upsample, to({8}), inputs({{2, 3}})),
      {"(N, C, W) or (N, C, H, W)", "got (2, 3)"}));
  EXPECT_TRUE(contains(error_of<ShapeError>(OpKind::Upsample, to({8, 8}),
                                            inputs({{2, 3, 4, 4, 4}})),
                       {"is no image"}));
  EXPECT_TRUE(contains(error_of<ShapeError>(OpKind::Upsample, to({8}),
                                            inputs({{1, 1, 1LL << 31}})),
                       {"too large", "at most 2147483647"}));
}

TEST_F(Upsampling, RefusesBadAttributes) {
  const auto image = inputs({{2, 3, 4, 5}});
  const auto message = [&](const UpsampleAttrs& attrs) {
    return error_of<InvalidArgument>(OpKind::Upsample, attrs, image);
  };
  EXPECT_TRUE(contains(message(to({})), {"shape", "1 (width) or 2"}));
  EXPECT_TRUE(contains(message(to({2, 2, 2})),
                       {"got (2, 2, 2)", "one of its axes after the other"}));
  EXPECT_TRUE(contains(message(to({0, 2})), {"out of range", "got (0, 2)"}));
  EXPECT_TRUE(contains(message(to({4, -1})), {"got (4, -1)"}));
  EXPECT_TRUE(contains(message(to({1LL << 31, 1})), {"1 to 2147483647"}));
  EXPECT_TRUE(contains(message(to({8, 8}, SampleMode::Nearest, true)),
                       {"aligns_corners", "sample linearly"}));
  EXPECT_TRUE(contains(message(to({8, 8}, static_cast<SampleMode>(7))),
                       {"sample_mode", "got 7"}));
}

TEST_F(Upsampling, EachIsTheGradientOfTheOther) {
  const ValueId x = input({2, 3, 4, 5});
  const auto attrs = to({8, 7}, SampleMode::Linear, true);
  const ValueId y = append_one(OpKind::Upsample, attrs, {x});
  const ValueId seed = input({2, 3, 8, 7});
  const ValueId dx = gradients(y, seed, {x}).at(x);
  EXPECT_EQ(gradient_nodes(), (Lines{"upsample_gradient(%2) -> (2, 3, 4, 5)"}));
  EXPECT_EQ(attrs_of_producer<UpsampleAttrs>(dx),
            to({4, 5}, SampleMode::Linear, true));
  const ValueId again = gradients(dx, input({2, 3, 4, 5}), {seed}).at(seed);
  EXPECT_EQ(gradient_nodes(), (Lines{"upsample(%4) -> (2, 3, 8, 7)"}));
  EXPECT_EQ(attrs_of_producer<UpsampleAttrs>(again), attrs);
}

using Indices = std::vector<std::int32_t>;
using Weights = std::vector<float>;

TEST(UpsampleTaps, TakeTheLaterOfTwoThatAreAsNear) {
  const auto nearest = [](std::int64_t in, std::int64_t out) {
    return upsample_taps(in, out, SampleMode::Nearest, false).first;
  };
  EXPECT_EQ(nearest(2, 4), (Indices{0, 0, 1, 1}));
  EXPECT_EQ(nearest(4, 2), (Indices{1, 3}));
  EXPECT_EQ(nearest(4, 6), (Indices{0, 1, 1, 2, 3, 3}));
  // Where float32 rounds (2 i + 1) in / (2 out) down.
  const Indices many = nearest(1'000'001 * 2, 1'000'001 * 3);
  for (std::int64_t i = 1; i < std::ssize(many); i += 3) {
    ASSERT_EQ(many[i], (2 * i + 1) / 3) << i;
  }
}

TEST(UpsampleTaps, EndAtTheEnds) {
  const auto half = upsample_taps(2, 4, SampleMode::Linear, false);
  EXPECT_EQ(half.first, (Indices{0, 0, 0, 1}));
  EXPECT_EQ(half.second, (Indices{0, 1, 1, 1}));
  EXPECT_EQ(half.weight, (Weights{0, 0.25f, 0.75f, 0}));
  const auto aligned = upsample_taps(3, 5, SampleMode::Linear, true);
  EXPECT_EQ(aligned.first, (Indices{0, 0, 1, 1, 2}));
  EXPECT_EQ(aligned.second, (Indices{0, 1, 1, 2, 2}));
  EXPECT_EQ(aligned.weight, (Weights{0, 0.5f, 0, 0.5f, 0}));
  EXPECT_EQ(upsample_taps(5, 1, SampleMode::Linear, true).first, (Indices{0}));
}

TEST(UpsampleTaps, SharesAreTheAdjoint) {
  const UpsampleShares shares(upsample_taps(2, 4, SampleMode::Linear, false));
  EXPECT_EQ(shares.begin, (std::vector<std::int64_t>{0, 3, 6}));
  EXPECT_EQ(shares.from, (Indices{0, 1, 2, 1, 2, 3}));
  EXPECT_EQ(shares.weight, (Weights{1, 0.75f, 0.25f, 0.25f, 0.75f, 1}));
  // Samples that nothing reads have none.
  const UpsampleShares few(upsample_taps(4, 2, SampleMode::Nearest, false));
  EXPECT_EQ(few.begin, (std::vector<std::int64_t>{0, 0, 1, 1, 2}));
}

}  // namespace
}  // namespace traingraph
