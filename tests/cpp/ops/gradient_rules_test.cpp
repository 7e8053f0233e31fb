// SPDX-License-Identifier: MIT
// Every gradient rule without a kernel: the graph that differentiate() builds
// for one op, evaluated by the reference, against central differences of the
// op itself.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "autodiff/gradient.h"
#include "graph/op_def.h"
#include "ops/elementwise_parameters.h"
#include "ops/loss_options.h"
#include "support/reference.h"
#include "traingraph/enum_table.h"

namespace traingraph::testing {
namespace {

// Two levels of central differences in float64 where a rule uses a nonlinear
// gradient op; 1e-9 is typical.
constexpr double kRuleTolerance = 2e-7;

RefTensor random_tensor(const Shape& shape, double low, double high,
                        unsigned seed) {
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  RefTensor x = zeros(shape);
  for (double& element : x.data) element = uniform(engine);
  return x;
}

/// Seeds every non-opaque result in turn and compares the gradients of
/// `wanted` inputs.
void check_gradients(OpKind op, const Attributes& attrs, const RefTensors& in,
                     const std::vector<int>& wanted, int result = 0,
                     const std::vector<DataType>& types = {}) {
  SCOPED_TRACE(op_def(op).name);
  Program program;
  std::vector<ValueId> inputs;
  RefValues values;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!in[i].is_present()) {
      inputs.push_back(kNoValue);
      continue;
    }
    const DataType type = i < types.size() ? types[i] : DataType::Float32;
    inputs.push_back(
        program.add_value(Role::Variable, {in[i].shape, type}, "input"));
    values[inputs.back()] = in[i];
  }
  const ValueId y = program.append(op, attrs, inputs).at(result);
  const RefTensor seed = random_tensor(program.shape(y), -1, 1, 99);
  const Program forward = program;
  const ValueId incoming = program.add_value(Role::Input, {seed.shape}, "seed");
  std::vector<ValueId> wanted_values;
  for (int i : wanted) wanted_values.push_back(inputs.at(i));
  const GradientMap map = differentiate(
      program,
      {.seeds = {{y, incoming}}, .wanted = wanted_values, .stopped = {}});
  RefValues all = values;
  all[incoming] = seed;
  all = evaluate_program(program, all);
  for (int i : wanted) {
    SCOPED_TRACE("input " + std::to_string(i));
    ASSERT_TRUE(map.contains(inputs[i]));
    const RefTensor& got = all.at(map.at(inputs[i]));
    const RefTensor expected =
        numerical_gradient(forward, values, inputs[i], y, seed);
    ASSERT_EQ(got.shape, expected.shape);
    ASSERT_EQ(program.shape(map.at(inputs[i])), expected.shape);
    for (std::size_t k = 0; k < expected.data.size(); ++k) {
      EXPECT_NEAR(got.data[k], expected.data[k],
                  kRuleTolerance * std::max(1.0, std::abs(expected.data[k])))
          << "element " << k;
    }
  }
}

RefTensor tensor(const Shape& shape, unsigned seed = 1) {
  return random_tensor(shape, -1, 1, seed);
}
RefTensor positive(const Shape& shape, unsigned seed = 1) {
  return random_tensor(shape, 0.2, 0.8, seed);
}

TEST(GradientRules, Activation) {
  for (const auto& [type, name, doc, num_operands] :
       EnumTable<ActivationType>::kCases) {
    SCOPED_TRACE(std::string(name));
    check_gradients(OpKind::Activation, without_unused({type, 0.3f, 0.9f}),
                    {tensor({3, 5})}, {0});
  }
}

TEST(GradientRules, Unary) {
  for (const auto& [operation, name, doc, num_operands] :
       EnumTable<ArithmeticOperation>::kCases) {
    if (num_operands != 1) continue;
    SCOPED_TRACE(std::string(name));
    const double offset = operation == ArithmeticOperation::Acosh ? 1 : 0;
    check_gradients(OpKind::Unary, ArithmeticAttrs{operation},
                    {random_tensor({7}, 0.2 + offset, 0.8 + offset, 1)}, {0});
  }
}

TEST(GradientRules, Binary) {
  for (const auto& [operation, name, doc, num_operands] :
       EnumTable<ArithmeticOperation>::kCases) {
    if (num_operands != 2) continue;
    SCOPED_TRACE(std::string(name));
    check_gradients(OpKind::Binary, ArithmeticAttrs{operation},
                    {positive({2, 1, 3}, 1), positive({4, 1}, 2)}, {0, 1});
  }
}

TEST(GradientRules, SelectAndDropout) {
  check_gradients(OpKind::Select, NoAttrs{},
                  {{{3}, {1, 0, 1}}, tensor({2, 1}, 2), tensor({3}, 3)}, {1, 2},
                  0, {DataType::Boolean});
  check_gradients(OpKind::Dropout, DropoutAttrs{.rate = 0.5f, .seed = 3},
                  {tensor({4, 5}), zeros({4})}, {0}, 0,
                  {DataType::Float32, DataType::Int32});
}

TEST(GradientRules, MatMul) {
  for (bool transposes_x : {false, true}) {
    for (bool transposes_y : {false, true}) {
      const MatMulAttrs attrs{0.7f, transposes_x, transposes_y};
      const Shape x = transposes_x ? Shape{2, 1, 4, 3} : Shape{2, 1, 3, 4};
      const Shape y = transposes_y ? Shape{3, 5, 4} : Shape{3, 4, 5};
      check_gradients(OpKind::MatMul, attrs,
                      {tensor(x, 1), tensor(y, 2), tensor({5}, 3)}, {0, 1, 2});
      check_gradients(
          OpKind::MatMul, attrs,
          {tensor(transposes_x ? Shape{4, 3} : Shape{3, 4}, 1), tensor(y, 2)},
          {0, 1});
    }
  }
}

constexpr Convolution2dAttrs kConvolution{.strides = {2, 1},
                                          .dilation_rates = {1, 2},
                                          .padding = {1, 0, 2, 1},
                                          .groups = 2};

Convolution2dGradientAttrs gradient_attrs(const Shape& shape) {
  return {kConvolution.strides, kConvolution.dilation_rates,
          kConvolution.padding, kConvolution.groups, shape};
}

TEST(GradientRules, Convolution) {
  check_gradients(
      OpKind::Convolution2d, kConvolution,
      {tensor({2, 4, 6, 6}, 1), tensor({6, 2, 3, 2}, 2), tensor({6}, 3)},
      {0, 1, 2});
}

TEST(GradientRules, ConvolutionGradients) {
  const RefTensor gradient = tensor({2, 6, 3, 7}, 1);
  check_gradients(OpKind::Convolution2dInputGradient,
                  gradient_attrs({2, 4, 6, 6}),
                  {gradient, tensor({6, 2, 3, 2}, 2)}, {0, 1});
  check_gradients(OpKind::Convolution2dWeightsGradient,
                  gradient_attrs({6, 2, 3, 2}),
                  {gradient, tensor({2, 4, 6, 6}, 2)}, {0, 1});
}

TEST(GradientRules, Pooling) {
  check_gradients(OpKind::MaxPool2d,
                  Pool2dAttrs{{3, 2}, {2, 1}, {1, 2}, {1, 1, 0, 1}},
                  {tensor({2, 2, 5, 6})}, {0});
  for (bool includes_padding : {false, true}) {
    check_gradients(OpKind::AveragePool2d,
                    AveragePool2dAttrs{
                        {3, 2}, {2, 1}, {1, 2}, {1, 1, 0, 1}, includes_padding},
                    {tensor({2, 2, 5, 6})}, {0});
    check_gradients(OpKind::AveragePool2dGradient,
                    AveragePool2dGradientAttrs{{3, 2},
                                               {2, 1},
                                               {1, 2},
                                               {1, 1, 0, 1},
                                               includes_padding,
                                               {2, 2, 5, 6}},
                    {tensor({2, 2, 3, 5})}, {0});
  }
}

TEST(GradientRules, BatchNorm) {
  for (const Shape& shape : {Shape{3, 2, 2, 3}, Shape{6, 2}}) {
    const RefTensors in{tensor(shape, 1), tensor({2}, 2), tensor({2}, 3),
                        tensor({2}, 4), positive({2}, 5)};
    const RefTensors plain{in[0], {}, {}, in[3], in[4]};
    for (bool training : {true, false}) {
      const BatchNormAttrs attrs{.epsilon = 0.1f, .training = training};
      check_gradients(OpKind::BatchNorm, attrs, in, {0, 1, 2});
      check_gradients(OpKind::BatchNorm, attrs, plain, {0});
    }
    for (int statistic : {1, 2}) {
      check_gradients(OpKind::BatchNorm, BatchNormAttrs{}, in, {0}, statistic);
    }
  }
}

TEST(GradientRules, SampleNorm) {
  const RefTensor x = tensor({2, 4, 2, 3}, 1);
  const RefTensors grouped{x, tensor({4}, 2), tensor({4}, 3)};
  const RefTensors layer{x, tensor({2, 3}, 2), tensor({2, 3}, 3)};
  const RefTensors running{x, grouped[1], grouped[2], tensor({2}, 4),
                           positive({2}, 5)};
  for (bool training : {true, false}) {
    const SampleNormAttrs by_group{
        .groups = 2, .epsilon = 0.1f, .training = training};
    const SampleNormAttrs by_element{
        .axis = 2, .epsilon = 0.1f, .training = training};
    check_gradients(OpKind::SampleNorm, by_group, grouped, {0, 1, 2});
    check_gradients(OpKind::SampleNorm, by_group, running, {0, 1, 2});
    check_gradients(OpKind::SampleNorm, by_element, layer, {0, 1, 2});
    check_gradients(OpKind::SampleNorm, by_element, {x}, {0});
    for (int statistic : {1, 2}) {
      check_gradients(OpKind::SampleNorm, by_group, grouped, {0}, statistic);
      check_gradients(OpKind::SampleNorm, by_element, layer, {0}, statistic);
    }
  }
}

TEST(GradientRules, Softmax) {
  for (auto operation :
       {SoftmaxOperation::Softmax, SoftmaxOperation::LogSoftmax}) {
    for (std::int64_t axis : {0, 1, 2}) {
      check_gradients(OpKind::Softmax, SoftmaxAttrs{operation, axis},
                      {tensor({2, 3, 4})}, {0});
    }
  }
}

TEST(GradientRules, Reduce) {
  for (auto type :
       {ReductionType::None, ReductionType::Sum, ReductionType::Mean,
        ReductionType::Max, ReductionType::Min, ReductionType::L1Norm}) {
    SCOPED_TRACE(std::string(to_string(type)));
    for (const Shape& axes : {Shape{}, Shape{1}, Shape{2, 0}}) {
      check_gradients(OpKind::Reduce, ReduceAttrs{type, axes},
                      {tensor({2, 3, 4})}, {0});
    }
  }
  check_gradients(OpKind::BroadcastTo, ShapeAttrs{{2, 3, 4}}, {tensor({3, 1})},
                  {0});
  check_gradients(OpKind::SquaredNorm, NoAttrs{}, {tensor({2, 3})}, {0});
  for (bool is_exclusive : {false, true}) {
    for (bool reverse : {false, true}) {
      check_gradients(OpKind::CumulativeSum,
                      CumulativeSumAttrs{1, is_exclusive, reverse},
                      {tensor({2, 3, 4})}, {0});
    }
  }
}

TEST(GradientRules, Upsample) {
  for (auto mode : {SampleMode::Nearest, SampleMode::Linear}) {
    check_gradients(OpKind::Upsample, UpsampleAttrs{{5, 7}, mode},
                    {tensor({2, 2, 3, 4})}, {0});
    check_gradients(OpKind::UpsampleGradient, UpsampleAttrs{{4}, mode},
                    {tensor({2, 2, 6})}, {0});
  }
}

TEST(GradientRules, Layout) {
  check_gradients(OpKind::Reshape, ShapeAttrs{{4, -1}}, {tensor({2, 6})}, {0});
  check_gradients(OpKind::Transpose, TransposeAttrs{{2, 0, 1}},
                  {tensor({2, 3, 4})}, {0});
  check_gradients(OpKind::Concatenate, AxisAttrs{1},
                  {tensor({2, 3}, 1), tensor({2, 1}, 2), tensor({2, 2}, 3)},
                  {0, 1, 2});
  for (int result : {0, 1}) {
    check_gradients(OpKind::Split, SplitAttrs{{1, 3}, 1}, {tensor({2, 4})}, {0},
                    result);
  }
  check_gradients(OpKind::Slice, SliceAttrs{{0, 1}, {3, 6}, {2, 3}},
                  {tensor({3, 7})}, {0});
  check_gradients(OpKind::SliceGradient,
                  SliceGradientAttrs{{0, 1}, {3, 6}, {2, 3}, {3, 7}},
                  {tensor({2, 2})}, {0});
  for (auto type :
       {PaddingType::Zero, PaddingType::Reflect, PaddingType::Symmetric,
        PaddingType::Constant, PaddingType::Replicate}) {
    const float value = type == PaddingType::Constant ? 3 : 0;
    const PadAttrs attrs{type, {1, 2}, {0, 1}, value};
    check_gradients(OpKind::Pad, attrs, {tensor({2, 4})}, {0});
    check_gradients(OpKind::PadGradient, attrs, {tensor({3, 7})}, {0});
  }
}

TEST(GradientRules, Loss) {
  for (int type = 0;
       type <= static_cast<int>(LossType::KullbackLeiblerDivergence); ++type) {
    for (auto reduction :
         {ReductionType::None, ReductionType::Sum, ReductionType::Mean}) {
      const LossAttrs attrs =
          without_unused(LossAttrs{.type = static_cast<LossType>(type),
                                   .reduction = reduction,
                                   .weight = 1.5f,
                                   .label_smoothing = 0.2f,
                                   .delta = 0.3f});
      SCOPED_TRACE(std::string(to_string(attrs.type)));
      check_gradients(OpKind::Loss, attrs,
                      {positive({2, 3, 2}, 1), positive({2, 3, 2}, 2)}, {0});
      check_gradients(OpKind::Loss, attrs,
                      {positive({2, 3, 2}, 1), positive({2, 3, 2}, 2),
                       positive({2, 1, 1}, 3)},
                      {0});
    }
  }
}

}  // namespace
}  // namespace traingraph::testing
