// SPDX-License-Identifier: MIT
// What rounding, overflow and ties would do to a lowering that took the short
// way.
#include <gtest/gtest.h>

#include <cmath>

#include "metal/lowering_support.h"
#include "ops/norm_sample.h"

namespace traingraph::testing {
namespace {

using Values = std::vector<double>;

TEST(LogSoftmax, DoesNotUnderflow) {
  const SoftmaxAttrs attrs{SoftmaxOperation::LogSoftmax, 1};
  const Operand x{{2, 3}, {1e4, 0, -1e4, -1e4, -1e4, -1e4}};
  const double third = -std::log(3.0);
  expect_alike(run_on_gpu(OpKind::Softmax, attrs, {x}),
               {0, -1e4, -2e4, third, third, third}, 1e-6);
}

TEST(LogSoftmax, HasAGradientWhereTheProbabilityIsNone) {
  const SoftmaxAttrs attrs{SoftmaxOperation::LogSoftmax, 1};
  const Operand g{{1, 3}, {1, 1, 1}}, y{{1, 3}, {0, -1e4, -2e4}};
  expect_alike(run_on_gpu(OpKind::SoftmaxGradient, attrs, {g, y}), {-2, 1, 1},
               1e-6);
}

TEST(Softmax, DoesNotOverflow) {
  for (std::int64_t axis : {0, 4}) {
    const SoftmaxAttrs attrs{SoftmaxOperation::Softmax, axis};
    Shape shape{1, 1, 1, 1, 1};
    shape[static_cast<int>(axis)] = 4;
    expect_alike(
        run_on_gpu(OpKind::Softmax, attrs, {{shape, {1e4, 1e4, -1e4, 0}}}),
        {0.5, 0.5, 0, 0}, 1e-6);
  }
}

TEST(SoftmaxCrossEntropy, KeepsLargeLogits) {
  const LossAttrs attrs{.type = LossType::SoftmaxCrossEntropy,
                        .reduction = ReductionType::None};
  const Operand y{{2, 3}, {1e4, 0, -1e4, -1e4, 0, 1e4}};
  const Operand t{{2, 3}, {0, 0, 1, 0, 0, 1}};
  expect_alike(run_on_gpu(OpKind::Loss, attrs, {y, t}), {2e4, 0}, 1e-6);
  expect_alike(run_on_gpu(OpKind::LossGradient, attrs, {{{2}, {1}}, y, t}),
               {1, 0, -1, 0, 0, 0}, 1e-6);
}

TEST(SigmoidCrossEntropy, KeepsLargeLogits) {
  const LossAttrs attrs{.type = LossType::SigmoidCrossEntropy,
                        .reduction = ReductionType::None};
  const Operand y{{4}, {1e4, 1e4, -1e4, -1e4}}, t{{4}, {1, 0, 1, 0}};
  expect_alike(run_on_gpu(OpKind::Loss, attrs, {y, t}), {0, 1e4, 1e4, 0}, 1e-6);
}

// A mean that were computed as E[x^2] - E[x]^2 would lose these digits.
TEST(BatchNorm, KeepsASmallVarianceAroundALargeMean) {
  const BatchNormAttrs attrs{.epsilon = 1e-7f};
  const Operand x{{4, 1}, {4096, 4097, 4096, 4097}}, none{{1}, {0}};
  const auto y = run_on_gpu(OpKind::BatchNorm, attrs,
                            {x, {{1}, {1}}, {{1}, {0}}, none, none});
  expect_alike(y, {-1, 1, -1, 1}, 1e-5);
}

// Statistics over axes that are not among the last four.
TEST(BatchNorm, KnowsEveryRank) {
  for (int rank = 2; rank <= 8; ++rank) {
    SCOPED_TRACE(rank);
    Shape shape = Shape::filled(rank, 2);
    shape[1] = 3;
    const Operand x{shape, {1, 5, -2, 0.5, 3, -4, 2.5}};
    const Operand g{shape, {1, -1, 0.5, 2, -3}};
    const Operand gamma{{3}, {1, 2, 0.5}}, beta{{3}, {0, 1, -1}};
    const Operand mean{{3}, {0.5, 1, -1}}, variance{{3}, {2, 1, 4}};
    const auto expect_devices_agree = [](OpKind op, const auto& operands) {
      const Results cpu =
          run_op_on(DeviceType::CPU, op, BatchNormAttrs{}, operands);
      const Results gpu =
          run_op_on(DeviceType::GPU, op, BatchNormAttrs{}, operands);
      for (std::size_t r = 0; r < cpu.size(); ++r) {
        expect_alike(gpu.at(r), cpu[r], 1e-5);
      }
    };
    const std::vector<Operand> forward{x, gamma, beta, mean, variance};
    const std::vector<Operand> back{g, x, gamma, mean, variance};
    expect_devices_agree(OpKind::BatchNorm, forward);
    expect_devices_agree(OpKind::BatchNormGradient, back);
  }
}

TEST(SampleNorm, KeepsASmallVarianceAroundALargeMean) {
  const SampleNormAttrs by_element{.epsilon = 1e-7f};
  const SampleNormAttrs by_group{.groups = 1, .epsilon = 1e-7f};
  const Operand x{{2, 4}, {4096, 4097, 4096, 4097, -9, -7, -9, -7}};
  for (const SampleNormAttrs& attrs : {by_element, by_group}) {
    const Operand gamma{{4}, {1, 1, 2, 2}}, beta{{4}, {0, 0, 1, 1}};
    const auto y = run_on_gpu(OpKind::SampleNorm, attrs, {x, gamma, beta});
    expect_alike(y, {-1, 1, -1, 3, -1, 1, -1, 3}, 1e-5);
  }
}

TEST(SampleNorm, KnowsEveryRank) {
  for (int rank = 1; rank <= 8; ++rank) {
    for (int axis = 0; axis < rank; ++axis) {
      SCOPED_TRACE(std::to_string(rank) + " " + std::to_string(axis));
      Shape shape = Shape::filled(rank, 2);
      shape[axis] = 4;
      const Operand x{shape, {1, 5, -2, 0.5, 3, -4, 2.5}};
      const Operand g{shape, {1, -1, 0.5, 2, -3}};
      for (std::int64_t groups : {0, 2}) {
        const SampleNormAttrs attrs{.axis = axis, .groups = groups};
        const Operand gamma{sample_parameters_shape(shape, attrs), {1, 2, 3}};
        const Shape rows = sample_statistics_shape(shape, attrs);
        const Operand mean{rows, {0.5, 1, -1}}, variance{rows, {2, 1, 4}};
        const auto expect_devices_agree = [&](OpKind op, const auto& operands) {
          const Results cpu = run_op_on(DeviceType::CPU, op, attrs, operands);
          const Results gpu = run_op_on(DeviceType::GPU, op, attrs, operands);
          for (std::size_t r = 0; r < cpu.size(); ++r) {
            expect_alike(gpu.at(r), cpu[r], 1e-5);
          }
        };
        expect_devices_agree(OpKind::SampleNorm,
                             std::vector<Operand>{x, gamma, gamma});
        expect_devices_agree(OpKind::SampleNormGradient,
                             std::vector<Operand>{g, x, gamma, mean, variance});
      }
    }
  }
}

/// Float32 has 24 bits; level 1 of MPSGraph's optimisation may keep 11.
TEST(Precision, IsThatOfFloat32) {
  const double x = 1 + 0x1p-20;
  EXPECT_EQ(
      run_on_gpu(OpKind::MatMul, MatMulAttrs{}, {{{1, 1}, {x}}, {{1, 1}, {1}}}),
      Values{x});
  EXPECT_EQ(
      run_on_gpu(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Subtract},
                 {{{1}, {x}}, {{1}, {1}}}),
      Values{0x1p-20});
}

TEST(Ties, GoToTheFirstSampleOfAWindow) {
  const Pool2dAttrs attrs{.kernel_size = {2, 2}, .strides = {1, 1}};
  const Shape image{1, 1, 3, 3}, pooled{1, 1, 2, 2};
  Program program;
  const ValueId x = program.add_value(Role::Input, {image}, "x");
  const ValueId g = program.add_value(Role::Input, {pooled}, "g");
  const auto y = program.append(OpKind::MaxPool2d, attrs, {x}, "pool");
  const ValueId dx =
      program.append(OpKind::MaxPool2dGradient, attrs, {g, x, y[1]}, "back")[0];
  ProgramRun run(program, {dx}, DeviceType::GPU);
  run.set(x, std::vector<float>(9, 3));
  run.set(g, std::vector<float>{1, 2, 4, 8});
  run.run();
  EXPECT_EQ(run.get(dx), (std::vector<float>{1, 2, 0, 4, 8, 0, 0, 0, 0}));
}

TEST(Ties, HaveTheFirstIndex) {
  const Operand x{{6}, {1, 7, -2, 7, -2, 7}};
  EXPECT_EQ(
      run_on_gpu(OpKind::Reduce, ReduceAttrs{ReductionType::ArgMax, {0}}, {x}),
      Values{1});
  EXPECT_EQ(
      run_on_gpu(OpKind::Reduce, ReduceAttrs{ReductionType::ArgMin, {0}}, {x}),
      Values{2});
}

TEST(Rounding, TakesHalvesToEven) {
  EXPECT_EQ(
      run_on_gpu(OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Round},
                 {{{6}, {0.5, 1.5, 2.5, -0.5, -1.5, 3.5}}}),
      (Values{0, 2, 2, 0, -2, 4}));
}

// Zeros that pad must not win over negative samples.
TEST(MaxPooling, IgnoresPadding) {
  const Pool2dAttrs attrs{.kernel_size = {3, 3}, .padding = {1, 1, 1, 1}};
  EXPECT_EQ(
      run_on_gpu(OpKind::MaxPool2d, attrs, {{{1, 1, 2, 2}, {-4, -3, -2, -1}}}),
      (Values{-1, -1, -1, -1}));
}

TEST(AveragePooling, CountsPaddingOnlyWhenAsked) {
  AveragePool2dAttrs attrs;
  attrs.kernel_size = {2, 2};
  attrs.padding = {1, 0, 1, 0};
  const Operand x{{1, 1, 2, 2}, {4, 8, 12, 16}};
  attrs.count_includes_padding = false;
  EXPECT_EQ(run_on_gpu(OpKind::AveragePool2d, attrs, {x}),
            (Values{4, 6, 8, 10}));
  attrs.count_includes_padding = true;
  EXPECT_EQ(run_on_gpu(OpKind::AveragePool2d, attrs, {x}),
            (Values{1, 3, 4, 10}));
}

}  // namespace
}  // namespace traingraph::testing
