// SPDX-License-Identifier: MIT
// NaN, infinities and casts out of range mean the same on both devices: a
// network that diverged must not go on as if nothing had happened.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "metal/lowering_support.h"
#include "ops/elementwise_parameters.h"

namespace traingraph::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// The CPU's approximations of exp and log.
constexpr double kTolerance = 1e-5;

const std::vector<double> kExtremes{kNaN, kInfinity, -kInfinity, 1e30, -1e30,
                                    0,    -0.0,      0.5,        -0.5};
constexpr std::int64_t kCount = 9;

void expect_devices_agree(OpKind op, const Attributes& attrs,
                          const std::vector<Operand>& operands) {
  const Results cpu = run_op_on(DeviceType::CPU, op, attrs, operands);
  const Results gpu = run_op_on(DeviceType::GPU, op, attrs, operands);
  ASSERT_EQ(cpu.size(), gpu.size());
  for (std::size_t r = 0; r < cpu.size(); ++r) {
    expect_alike(gpu[r], cpu[r], kTolerance);
  }
}

/// All pairs of extremes.
std::vector<Operand> pairs() {
  return {{{kCount, 1}, kExtremes}, {{1, kCount}, kExtremes}};
}

// What is left out below is in docs/differences.md.
TEST(NonFinite, ActivationsAgree) {
  for (int i = 0; i <= static_cast<int>(ActivationType::Clamp); ++i) {
    const auto type = static_cast<ActivationType>(i);
    if (type == ActivationType::GELU) continue;
    for (float a : {0.0f, 0.25f}) {
      if (a == 0 && type == ActivationType::CELU) continue;  // divides by it
      SCOPED_TRACE(std::string(to_string(type)) + " " + std::to_string(a));
      const ActivationAttrs attrs = without_unused({type, a, 6});
      expect_devices_agree(OpKind::Activation, attrs, {{{kCount}, kExtremes}});
    }
  }
}

TEST(NonFinite, GradientsOfActivationsAgree) {
  for (int i = 0; i <= static_cast<int>(ActivationType::Clamp); ++i) {
    const auto type = static_cast<ActivationType>(i);
    if (type == ActivationType::ELU) continue;
    SCOPED_TRACE(to_string(type));
    const ActivationAttrs attrs = without_unused({type, 0.25f, 6});
    expect_devices_agree(OpKind::ActivationGradient, attrs,
                         {{{kCount}, {2}}, {{kCount}, kExtremes}});
  }
}

TEST(NonFinite, ReluKeepsNaN) {
  const auto y = run_on_gpu(OpKind::Activation,
                            ActivationAttrs{ActivationType::ReLU, 0, 0},
                            {{{3}, {kNaN, -kInfinity, kInfinity}}});
  expect_alike(y, {kNaN, 0, kInfinity}, 0);
}

TEST(NonFinite, ArithmeticAgrees) {
  using enum ArithmeticOperation;
  for (auto operation : {Add, Subtract, Multiply, Divide, MultiplyNoNaN,
                         DivideNoNaN, Min, Max, Pow}) {
    SCOPED_TRACE(to_string(operation));
    expect_devices_agree(OpKind::Binary, ArithmeticAttrs{operation}, pairs());
  }
  for (auto operation :
       {Floor, Round, Ceil, Sqrt, Exp2, Log, Log2, Tanh, Atan, Asinh, Rsqrt}) {
    SCOPED_TRACE(to_string(operation));
    expect_devices_agree(OpKind::Unary, ArithmeticAttrs{operation},
                         {{{kCount}, kExtremes}});
  }
}

TEST(NonFinite, ComparisonsAgree) {
  using enum ComparisonOperation;
  for (auto operation :
       {Equal, NotEqual, Less, Greater, LessOrEqual, GreaterOrEqual}) {
    SCOPED_TRACE(to_string(operation));
    expect_devices_agree(OpKind::Compare, CompareAttrs{operation}, pairs());
  }
}

TEST(NonFinite, ReductionsAgree) {
  using enum ReductionType;
  for (auto type : {Sum, Mean, Max, Min, ArgMax, ArgMin, L1Norm}) {
    for (std::int64_t axis : {0, 1}) {
      SCOPED_TRACE(std::string(to_string(type)) + " " + std::to_string(axis));
      expect_devices_agree(OpKind::Reduce, ReduceAttrs{type, {axis}},
                           {{{4, 3},
                             {1, kNaN, kInfinity, 2, -kInfinity, kInfinity,
                              kInfinity, kNaN, kNaN, -1, 5, -kInfinity}}});
    }
  }
}

TEST(NonFinite, TheFirstNaNIsTheExtremum) {
  for (auto type : {ReductionType::ArgMax, ReductionType::ArgMin}) {
    EXPECT_EQ(run_on_gpu(OpKind::Reduce, ReduceAttrs{type, {0}},
                         {{{5}, {kInfinity, -kInfinity, kNaN, 9, kNaN}}}),
              std::vector<double>{2});
  }
}

// On the CPU only the last axis is oneDNN's, which spares what is finite.
TEST(NonFinite, SoftmaxAgreesAndLeavesNothingOfARow) {
  for (auto operation :
       {SoftmaxOperation::Softmax, SoftmaxOperation::LogSoftmax}) {
    for (double bad : {kNaN, kInfinity}) {
      const SoftmaxAttrs attrs{operation, 1};
      const Operand x{{1, 3, 2}, {1, -kInfinity, bad, 2, 3, 4}};
      expect_devices_agree(OpKind::Softmax, attrs, {x});
      const auto row =
          run_on_gpu(OpKind::Softmax, attrs, {{{1, 3}, {1, bad, 2}}});
      expect_alike(row, {kNaN, kNaN, kNaN}, 0);
    }
  }
}

TEST(NonFinite, ClassLossesAgree) {
  const Operand logits{{2, 3}, {1e4, -1e4, 0, 1, -kInfinity, 2}};
  const Operand labels{{2, 3}, {0.5, 0.25, 0.25, 1, 0, 0}};
  const LossAttrs attrs{.type = LossType::SoftmaxCrossEntropy,
                        .reduction = ReductionType::None};
  expect_devices_agree(OpKind::Loss, attrs, {logits, labels});
  expect_devices_agree(OpKind::LossGradient, attrs,
                       {{{2}, {1}}, logits, labels});
}

TEST(NonFinite, ElementLossesAgree) {
  using enum LossType;
  for (auto type : {MeanAbsoluteError, MeanSquaredError, SigmoidCrossEntropy,
                    Hinge, Huber}) {
    SCOPED_TRACE(to_string(type));
    const LossAttrs attrs{.type = type, .reduction = ReductionType::None};
    const Operand y{{kCount}, kExtremes}, t{{kCount}, {0, 1}};
    expect_devices_agree(OpKind::Loss, attrs, {y, t});
    expect_devices_agree(OpKind::LossGradient, attrs, {{{kCount}, {1}}, y, t});
  }
}

TEST(Casts, SaturateAndMakeZeroOfNaN) {
  Operand x{{14},
            {kNaN, -kInfinity, -1e30, 2147483648.0, 2147483520.0, -0x1p31,
             -0x1p63, 127, 128, -128.5, -1.5, 255.5, 256, 0.5}};
  // The emulator's numbers are doubles, which cannot hold the largest int64.
  expect_devices_agree(OpKind::Cast, CastAttrs{DataType::Int64}, {x});
  x.shape = {17};
  for (double large : {kInfinity, 1e30, 0x1p63}) x.values.push_back(large);
  for (DataType type :
       {DataType::Int32, DataType::Int8, DataType::UInt8, DataType::Boolean}) {
    SCOPED_TRACE(to_string(type));
    expect_devices_agree(OpKind::Cast, CastAttrs{type}, {x});
  }
}

TEST(Casts, KeepFloatsThatFit) {
  EXPECT_EQ(run_on_gpu(OpKind::Cast, CastAttrs{DataType::Int32},
                       {{{5}, {1.9, -1.9, 2147483520, -2147483648.0, 0}}}),
            (std::vector<double>{1, -1, 2147483520, -2147483648.0, 0}));
}

}  // namespace
}  // namespace traingraph::testing
