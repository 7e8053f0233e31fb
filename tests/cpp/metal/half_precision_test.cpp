// SPDX-License-Identifier: MIT
// Floats of 16 bits on the GPU: which nodes compute in them, that the others
// do in float32 and round once, and what a system without bfloat16 says.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "emulator/hardware_faults.h"
#include "metal/kernel_table.h"
#include "metal/lowering_support.h"
#include "metal/metal_backend.h"
#include "support/half_rounding.h"
#include "traingraph/error.h"

namespace traingraph::testing {
namespace {

using enum DataType;

constexpr DataType kHalves[] = {Float16, BFloat16};

/// Does the op compute in the type of these inputs?
bool is_native(OpKind op, const Attributes& attrs,
               const std::vector<Shape>& in) {
  Program program;
  std::vector<ValueId> inputs;
  for (const Shape& shape : in) {
    inputs.push_back(
        program.add_value(Role::Input, {shape, BFloat16}, "input"));
  }
  program.append(op, attrs, inputs, "node");
  return metal::computes_in_half(program, program.node(0));
}

Convolution2dGradientAttrs gradient_to(const Shape& shape,
                                       std::int64_t groups) {
  Convolution2dGradientAttrs attrs;
  attrs.shape = shape;
  attrs.groups = groups;
  return attrs;
}

PadAttrs padding(PaddingType type) {
  return {.type = type, .before = {0, 0, 1, 1}, .after = {0, 0, 1, 1}};
}

TEST(HalfPrecision, IsForProductsMovesAndWhatRoundsOnce) {
  const Shape x{2, 4, 5, 5};
  EXPECT_TRUE(is_native(OpKind::MatMul, MatMulAttrs{}, {{2, 3}, {3, 4}}));
  EXPECT_FALSE(
      is_native(OpKind::MatMul, MatMulAttrs{0.125f}, {{2, 3}, {3, 4}}));
  EXPECT_TRUE(is_native(OpKind::Convolution2d, Convolution2dAttrs{},
                        {x, {3, 4, 2, 2}}));
  EXPECT_TRUE(is_native(OpKind::Convolution2dInputGradient, gradient_to(x, 1),
                        {{2, 3, 4, 4}, {3, 4, 2, 2}}));
  EXPECT_TRUE(is_native(OpKind::Reshape, ShapeAttrs{{200}}, {x}));
  EXPECT_TRUE(is_native(OpKind::PadGradient, padding(PaddingType::Zero), {x}));
  EXPECT_TRUE(is_native(OpKind::Binary,
                        ArithmeticAttrs{ArithmeticOperation::Add}, {x, x}));
  EXPECT_TRUE(is_native(OpKind::Activation,
                        ActivationAttrs{ActivationType::ReLU, 0}, {x}));
  EXPECT_TRUE(
      is_native(OpKind::Reduce, ReduceAttrs{ReductionType::Max, {1}}, {x}));
}

TEST(HalfPrecision, IsNotForSums) {
  const Shape x{2, 4, 5, 5};
  EXPECT_FALSE(is_native(OpKind::Convolution2dWeightsGradient,
                         gradient_to({3, 4, 2, 2}, 1), {{2, 3, 4, 4}, x}));
  // Two results per channel are added up.
  EXPECT_FALSE(is_native(OpKind::Convolution2dInputGradient, gradient_to(x, 4),
                         {{2, 8, 4, 4}, {8, 1, 2, 2}}));
  EXPECT_TRUE(is_native(OpKind::Convolution2dInputGradient, gradient_to(x, 4),
                        {{2, 4, 4, 4}, {4, 1, 2, 2}}));
  for (const auto type : {ReductionType::Sum, ReductionType::Mean}) {
    EXPECT_FALSE(is_native(OpKind::Reduce, ReduceAttrs{type, {1}}, {x}));
  }
  EXPECT_FALSE(
      is_native(OpKind::PadGradient, padding(PaddingType::Reflect), {x}));
  EXPECT_FALSE(is_native(OpKind::Softmax, SoftmaxAttrs{}, {x}));
  EXPECT_FALSE(is_native(OpKind::Activation,
                         ActivationAttrs{ActivationType::Sigmoid}, {x}));
  // A slope that float16 does not hold.
  EXPECT_FALSE(is_native(OpKind::Activation,
                         ActivationAttrs{ActivationType::ReLU, 0.1f}, {x}));
}

TEST(HalfPrecision, SumsBeyondTheTypeAreRoundedOnce) {
  // 2048 + 63: float16 alone would stay at 2048, bfloat16 at 256.
  std::vector<double> x(64, 1);
  x[0] = 2048;
  for (const DataType type : kHalves) {
    const auto sum =
        run_on_gpu(OpKind::Reduce, ReduceAttrs{ReductionType::Sum, {0}},
                   {{{64}, x, type}});
    EXPECT_EQ(sum.at(0), round_to(type, 2111));
    const auto mean =
        run_on_gpu(OpKind::Reduce, ReduceAttrs{ReductionType::Mean, {0}},
                   {{{2}, {65000, 65024}, type}});
    EXPECT_EQ(
        mean.at(0),
        round_to(type, (round_to(type, 65000) + round_to(type, 65024)) / 2));
  }
}

TEST(HalfPrecision, NothingOverflowsBeforeTheResult) {
  // e^12 and the sum of squares are beyond float16.
  const std::vector<double> x{12, 12.5};
  const auto softmax = run_on_gpu(OpKind::Softmax, SoftmaxAttrs{.axis = 1},
                                  {{{1, 2}, x, Float16}});
  const double first = 1 / (1 + std::exp(0.5));
  EXPECT_EQ(softmax.at(0), round_to(Float16, first));
  const auto norm = run_on_gpu(OpKind::SquaredNorm, NoAttrs{},
                               {{{4}, {300, 400, 500, 600}, Float16}});
  EXPECT_EQ(norm.at(0), 860000);
}

TEST(HalfPrecision, ResultsBeyondTheRangeAreInfinite) {
  const Attributes product = MatMulAttrs{};
  const auto z = run_on_gpu(
      OpKind::MatMul, product,
      {{{2, 2}, {256, 0, 256, 1}, Float16}, {{2, 1}, {255.875, 16}, Float16}});
  EXPECT_EQ(z.at(0), 65504);
  EXPECT_EQ(z.at(1), std::numeric_limits<double>::infinity());
}

TEST(HalfPrecision, EpsilonsAreNotLost) {
  // 1e-12 is 0 in float16: the quotient would be infinite.
  BatchNormAttrs attrs;
  attrs.training = false;
  attrs.epsilon = 1e-7f;
  const auto y = run_on_gpu(OpKind::BatchNorm, attrs,
                            {{{1, 1, 1}, {0.25}, Float16},
                             {{1}, {1}},
                             {{1}, {0}},
                             {{1}, {0}},
                             {{1}, {0}}});
  EXPECT_EQ(y.at(0), round_to(Float16, 0.25 / std::sqrt(double{1e-7f})));
}

TEST(HalfPrecision, SumsOfTilesAreRoundedOnce) {
  const auto gpu =
      gpu_with([](metal::GpuLimits& limits) { limits.max_matmul_extent = 8; });
  // Eight products of 1 in each of 64 tiles, and one of 2048.
  std::vector<double> x(512, 1);
  x[0] = 2048;
  for (const DataType type : kHalves) {
    const auto z = run_op_in(gpu, OpKind::MatMul, MatMulAttrs{},
                             {{{1, 512}, x, type}, {{512, 1}, {1}, type}});
    EXPECT_EQ(z.at(0).at(0), round_to(type, 2048 + 511));
  }
  // The sum of the first tile is beyond float16.
  std::vector<double> y(16, 100);
  std::fill(y.begin() + 8, y.end(), -50);
  const auto z = run_op_in(gpu, OpKind::MatMul, MatMulAttrs{},
                           {{{1, 16}, {100}, Float16}, {{16, 1}, y, Float16}});
  EXPECT_EQ(z.at(0).at(0), 40000);
}

TEST(HalfPrecision, ScaledProductsAreRoundedOnce) {
  // 180000, without the scale, is beyond float16; the bias comes after it.
  MatMulAttrs attrs;
  attrs.alpha = 0.125f;
  const Operand x{{1, 8}, {150}, Float16}, y{{8, 1}, {150}, Float16};
  EXPECT_EQ(run_on_gpu(OpKind::MatMul, attrs, {x, y}).at(0),
            round_to(Float16, 22500));
  EXPECT_EQ(
      run_on_gpu(OpKind::MatMul, attrs, {x, y, {{1}, {3}, Float16}}).at(0),
      round_to(Float16, 22503));
  // It would be 0 without the scale.
  attrs.alpha = 1e6f;
  const Operand small{{1, 1}, {0x1p-14}, Float16};
  EXPECT_EQ(run_on_gpu(OpKind::MatMul, attrs, {small, small}).at(0),
            round_to(Float16, 1e6 * 0x1p-28));
}

TEST(HalfPrecision, CastsRoundToEven) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> x{2049,    2051,    65519, 65520, -65520, 257,
                              0x1p-24, 0x1p-25, 3e38,  -0.1,  3.4e38, infinity};
  const auto count = static_cast<std::int64_t>(x.size());
  for (const DataType type : kHalves) {
    const auto y = run_on_gpu(OpKind::Cast, CastAttrs{type}, {{{count}, x}});
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(y.at(i), round_to(type, static_cast<float>(x[i]))) << x[i];
    }
  }
}

TEST(HalfPrecision, CastsToIntegersSaturate) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> x{-2.75, 300, 65504, infinity, -infinity, NAN};
  const Operand operand{{6}, x, Float16};
  EXPECT_EQ(run_on_gpu(OpKind::Cast, CastAttrs{Int32}, {operand}),
            (std::vector<double>{-2, 300, 65504, 2147483647, -2147483648, 0}));
  EXPECT_EQ(run_on_gpu(OpKind::Cast, CastAttrs{UInt8}, {operand}),
            (std::vector<double>{0, 255, 255, 255, 0, 0}));
  EXPECT_EQ(run_on_gpu(OpKind::Cast, CastAttrs{Boolean}, {operand}),
            (std::vector<double>{1, 1, 1, 1, 1, 1}));
}

TEST(HalfPrecision, BFloat16NeedsMacOs14) {
  const auto gpu = gpu_with([](metal::GpuLimits& limits) {
    limits = metal::limits_of({.macos = {13, 6}});
  });
  EXPECT_FALSE(gpu->target().computes_in(BFloat16));
  EXPECT_TRUE(gpu->target().computes_in(Float16));
  Program program;
  const ValueId x = program.add_value(Role::Input, {{4}, BFloat16}, "x");
  program.append(OpKind::Reshape, ShapeAttrs{{2, 2}}, {x}, "node");
  const std::string reason =
      gpu->target().reason_unsupported(program, program.node(0));
  EXPECT_NE(reason.find("bfloat16 from macOS 14 on"), std::string::npos)
      << reason;
}

TEST(HalfPrecision, ASystemWithoutBFloat16RefusesIt) {
  const emulator::Imitation imitation({.lacks_bfloat16 = true});
  const Operand x{{2}, {1, 2}, BFloat16};
  EXPECT_THROW(run_on_gpu(OpKind::Reshape, ShapeAttrs{{2, 1}}, {x}), Error);
  EXPECT_EQ(
      run_on_gpu(OpKind::Reshape, ShapeAttrs{{2, 1}}, {{{2}, {1, 2}, Float16}}),
      (std::vector<double>{1, 2}));
}

}  // namespace
}  // namespace traingraph::testing
