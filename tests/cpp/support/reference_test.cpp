// SPDX-License-Identifier: MIT
// The oracle against numbers worked out by hand, and its linear gradient ops
// against central differences of their forward op.
#include "support/reference.h"

#include <gtest/gtest.h>

#include <cmath>

namespace traingraph::testing {
namespace {

using Data = std::vector<double>;

constexpr double kExact = 1e-12;
constexpr double kNumerical = 1e-8;  // central differences in float64

Data run(OpKind op, const Attributes& attrs, RefTensors in, int result = 0) {
  return evaluate(op, attrs, in).at(result).data;
}

void expect_near(const Data& got, const Data& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
  }
}

/// Distinct values of both signs, none near 0.
RefTensor ramp(const Shape& shape, double phase = 0) {
  RefTensor x = zeros(shape);
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const double t = std::sin(1.7 * static_cast<double>(i) + phase);
    x.data[i] = t + (t < 0 ? -0.25 : 0.25);
  }
  return x;
}

TEST(Reference, Activations) {
  const RefTensor x{{4}, {-2, -0.5, 0.5, 4}};
  const auto y = [&](ActivationType type, float a, float b) {
    return run(OpKind::Activation, ActivationAttrs{type, a, b}, {x});
  };
  expect_near(y(ActivationType::ReLUN, 0.5f, 3), {-1, -0.25, 0.5, 3}, kExact);
  expect_near(y(ActivationType::HardSigmoid, 0.25f, 0.5f), {0, 0.375, 0.625, 1},
              kExact);
  expect_near(y(ActivationType::SoftPlus, 0.5f, 2),
              {0.0090749640222, 0.15663084375, 0.65663084375, 4.00016770314},
              1e-10);
  expect_near(
      y(ActivationType::GELU, 1, 1),
      {-0.0455002638964, -0.154268769371, 0.345731230629, 3.99987331503},
      1e-10);
  expect_near(y(ActivationType::SELU, 1, 1),
              {-1.5201664686, -0.691758187803, 0.525350493678, 4.20280394942},
              1e-10);
}

TEST(Reference, ArithmeticBroadcastsAndRoundsToEven) {
  expect_near(
      run(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Subtract},
          {{{2, 1}, {1, 2}}, {{3}, {10, 20, 30}}}),
      {-9, -19, -29, -8, -18, -28}, kExact);
  expect_near(run(OpKind::Unary, ArithmeticAttrs{ArithmeticOperation::Round},
                  {{{4}, {0.5, 1.5, 2.5, -0.5}}}),
              {0, 2, 2, 0}, kExact);
  expect_near(
      run(OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::MultiplyNoNaN},
          {{{2}, {NAN, 3}}, {{2}, {0, 2}}}),
      {0, 6}, kExact);
}

TEST(Reference, Logic) {
  const RefTensor x{{4}, {0, 0, 1, 1}};
  const RefTensor y{{4}, {0, 1, 0, 1}};
  const auto z = [&](ComparisonOperation operation) {
    return run(OpKind::Compare, CompareAttrs{operation}, {x, y});
  };
  EXPECT_EQ(z(ComparisonOperation::LogicalNAND), (Data{1, 1, 1, 0}));
  EXPECT_EQ(z(ComparisonOperation::LogicalXOR), (Data{0, 1, 1, 0}));
  EXPECT_EQ(z(ComparisonOperation::GreaterOrEqual), (Data{1, 0, 1, 1}));
  EXPECT_EQ(run(OpKind::LogicalNot, NoAttrs{}, {x}), (Data{1, 1, 0, 0}));
  EXPECT_EQ(run(OpKind::Select, NoAttrs{}, {x, {{1}, {5}}, y}),
            (Data{0, 1, 5, 5}));
}

TEST(Reference, DropoutScalesWhatItKeeps) {
  const RefTensor ones = filled({4096}, 1);
  const RefTensor state{{4}, {-1, 7, 3, 0}};
  const Data y =
      run(OpKind::Dropout, DropoutAttrs{.rate = 0.25f}, {ones, state});
  double kept = 0;
  for (double element : y) {
    EXPECT_TRUE(element == 0 || element == double{1.0f / 0.75f});
    kept += element != 0;
  }
  // Three quarters, give or take 5 standard deviations of 28.
  EXPECT_NEAR(kept, 3072, 140);
  EXPECT_EQ(run(OpKind::Dropout, DropoutAttrs{.rate = 0}, {ones, state}),
            ones.data);
}

TEST(Reference, MatMulTransposesAndBroadcasts) {
  const RefTensor x{{2, 2}, {1, 2, 3, 4}};
  const RefTensor y{{2, 1, 2}, {5, 6, 7, 8}};
  // 0.5 x^T y^T for each of two y, + bias
  const MatMulAttrs attrs{0.5f, true, true};
  expect_near(run(OpKind::MatMul, attrs, {x, y, {{1}, {100}}}),
              {111.5, 117, 115.5, 123}, kExact);
}

TEST(Reference, ConvolutionIsCrossCorrelation) {
  const RefTensor x{{1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}};
  const RefTensor w{{1, 1, 1, 2}, {10, 1}};
  expect_near(
      run(OpKind::Convolution2d, Convolution2dAttrs{.padding = {0, 0, 1, 0}},
          {x, w, {{1}, {0.5}}}),
      {1.5, 12.5, 23.5, 4.5, 45.5, 56.5}, kExact);
  expect_near(
      run(OpKind::Convolution2d,
          Convolution2dAttrs{.strides = {2, 1}, .dilation_rates = {1, 2}},
          {x, w}),
      {13}, kExact);
}

TEST(Reference, ConvolutionGradientsAreAdjoint) {
  const Convolution2dAttrs attrs{.strides = {2, 1},
                                 .dilation_rates = {1, 2},
                                 .padding = {1, 0, 2, 1},
                                 .groups = 2};
  const RefTensors in{ramp({2, 4, 5, 6}), ramp({6, 2, 3, 2}, 1)};
  RefTensors copy = in;
  const RefTensor seed =
      ramp(evaluate(OpKind::Convolution2d, attrs, copy)[0].shape, 2);
  Convolution2dGradientAttrs gradient{attrs.strides, attrs.dilation_rates,
                                      attrs.padding, attrs.groups, in[0].shape};
  expect_near(
      run(OpKind::Convolution2dInputGradient, gradient, {seed, in[1]}),
      numerical_gradient(OpKind::Convolution2d, attrs, in, 0, seed).data,
      kNumerical);
  gradient.shape = in[1].shape;
  expect_near(
      run(OpKind::Convolution2dWeightsGradient, gradient, {seed, in[0]}),
      numerical_gradient(OpKind::Convolution2d, attrs, in, 1, seed).data,
      kNumerical);
}

TEST(Reference, Pooling) {
  const RefTensor x{{1, 1, 2, 3}, {1, 5, 5, -4, -1, 0}};
  const Pool2dAttrs max{.kernel_size = {2, 2}, .padding = {0, 0, 1, 0}};
  expect_near(run(OpKind::MaxPool2d, max, {x}), {1, 5, 5}, kExact);
  expect_near(run(OpKind::MaxPool2d, max, {x}, 1), {0, 1, 1}, kExact);
  expect_near(run(OpKind::MaxPool2dGradient, max,
                  {{{1, 1, 1, 3}, {1, 10, 100}}, x, {}}),
              {1, 110, 0, 0, 0, 0}, kExact);
  AveragePool2dAttrs average{.kernel_size = {2, 2}, .padding = {0, 0, 1, 0}};
  expect_near(run(OpKind::AveragePool2d, average, {x}), {-1.5, 0.25, 2.25},
              kExact);
  average.count_includes_padding = true;
  expect_near(run(OpKind::AveragePool2d, average, {x}), {-0.75, 0.25, 2.25},
              kExact);
}

TEST(Reference, AveragePoolingGradientIsAdjoint) {
  for (bool includes_padding : {false, true}) {
    const AveragePool2dAttrs attrs{
        {3, 2}, {2, 1}, {1, 2}, {1, 1, 0, 1}, includes_padding};
    const RefTensor x = ramp({2, 2, 5, 6});
    RefTensors in{x};
    const RefTensor seed =
        ramp(evaluate(OpKind::AveragePool2d, attrs, in)[0].shape, 2);
    expect_near(
        run(OpKind::AveragePool2dGradient,
            AveragePool2dGradientAttrs{attrs.kernel_size, attrs.strides,
                                       attrs.dilation_rates, attrs.padding,
                                       includes_padding, x.shape},
            {seed}),
        numerical_gradient(OpKind::AveragePool2d, attrs, {x}, 0, seed).data,
        kNumerical);
  }
}

TEST(Reference, BatchNormUsesAndUpdatesStatistics) {
  RefTensors in{{{4, 1}, {1, 3, 5, 7}},
                {{1}, {2}},
                {{1}, {10}},
                {{1}, {100}},
                {{1}, {200}}};
  const BatchNormAttrs training{.epsilon = 4, .momentum = 0.75f};
  const RefTensors results = evaluate(OpKind::BatchNorm, training, in);
  // Mean 4, variance 5, sqrt(5 + 4) = 3.
  expect_near(results[0].data, {8, 10 - 2.0 / 3, 10 + 2.0 / 3, 12}, kExact);
  expect_near(results[1].data, {4}, kExact);
  expect_near(results[2].data, {5}, kExact);
  expect_near(in[3].data, {76}, kExact);
  expect_near(in[4].data, {150 + 0.25 * 20 / 3}, kExact);

  RefTensors fixed{{{2, 1}, {1, 3}}, {}, {}, {{1}, {1}}, {{1}, {12}}};
  const BatchNormAttrs inference{.epsilon = 4, .training = false};
  expect_near(evaluate(OpKind::BatchNorm, inference, fixed)[0].data, {0, 0.5},
              kExact);
  EXPECT_EQ(fixed[4].data, (Data{12}));
}

TEST(Reference, Softmax) {
  const RefTensor x{{2, 2}, {0, 1000, std::log(3), 1000}};
  SoftmaxAttrs attrs{.axis = 0};
  expect_near(run(OpKind::Softmax, attrs, {x}), {0.25, 0.5, 0.75, 0.5}, kExact);
  attrs.operation = SoftmaxOperation::LogSoftmax;
  expect_near(run(OpKind::Softmax, attrs, {x}),
              {std::log(0.25), std::log(0.5), std::log(0.75), std::log(0.5)},
              kExact);
}

TEST(Reference, SoftmaxGradientFollowsTheFormula) {
  // y (g - sum g y) and g - softmax sum g.
  const RefTensor y{{1, 2}, {0.25, 0.75}};
  const RefTensor g{{1, 2}, {1, 3}};
  SoftmaxAttrs attrs{.axis = 1};
  expect_near(run(OpKind::SoftmaxGradient, attrs, {g, y}), {-0.375, 0.375},
              kNumerical);
  attrs.operation = SoftmaxOperation::LogSoftmax;
  const RefTensor log_y{{1, 2}, {std::log(0.25), std::log(0.75)}};
  expect_near(run(OpKind::SoftmaxGradient, attrs, {g, log_y}), {0, 0},
              kNumerical);
}

TEST(Reference, Reductions) {
  const RefTensor x{{2, 3}, {3, -1, 3, -2, 0, 1}};
  const auto y = [&](ReductionType type, Shape axes) {
    return run(OpKind::Reduce, ReduceAttrs{type, axes}, {x});
  };
  EXPECT_EQ(y(ReductionType::Sum, {0}), (Data{1, -1, 4}));
  expect_near(y(ReductionType::Mean, {}), {4.0 / 6}, kExact);
  EXPECT_EQ(y(ReductionType::L1Norm, {1}), (Data{7, 3}));
  EXPECT_EQ(y(ReductionType::ArgMax, {1}), (Data{0, 2}));
  EXPECT_EQ(y(ReductionType::ArgMin, {1}), (Data{1, 0}));
  EXPECT_EQ(y(ReductionType::Max, {0, 1}), (Data{3}));
  EXPECT_EQ(y(ReductionType::All, {1}), (Data{1, 0}));
  EXPECT_EQ(y(ReductionType::None, {1}), x.data);
  EXPECT_EQ(run(OpKind::SquaredNorm, NoAttrs{}, {x}), (Data{24}));
}

TEST(Reference, Layout) {
  const RefTensor x{{2, 3}, {1, 2, 3, 4, 5, 6}};
  EXPECT_EQ(run(OpKind::Transpose, TransposeAttrs{{1, 0}}, {x}),
            (Data{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(run(OpKind::Concatenate, AxisAttrs{1}, {x, {{2, 1}, {7, 8}}}),
            (Data{1, 2, 3, 7, 4, 5, 6, 8}));
  EXPECT_EQ(run(OpKind::Split, SplitAttrs{{1, 2}, 1}, {x}, 1),
            (Data{2, 3, 5, 6}));
  EXPECT_EQ(run(OpKind::Slice, SliceAttrs{{0, 0}, {2, 3}, {1, 2}}, {x}),
            (Data{1, 3, 4, 6}));
  EXPECT_EQ(run(OpKind::SliceGradient,
                SliceGradientAttrs{{1, 0}, {2, 3}, {1, 2}, {2, 3}},
                {{{1, 2}, {8, 9}}}),
            (Data{0, 0, 0, 8, 0, 9}));
  RefTensors in{x};
  EXPECT_EQ(evaluate(OpKind::Reshape, ShapeAttrs{{3, -1}}, in)[0].shape,
            (Shape{3, 2}));
}

TEST(Reference, PaddingMirrors) {
  const RefTensor x{{1, 3}, {1, 2, 3}};
  const auto y = [&](PaddingType type) {
    return run(OpKind::Pad, PadAttrs{type, {0, 2}, {0, 1}, 9}, {x});
  };
  EXPECT_EQ(y(PaddingType::Zero), (Data{0, 0, 1, 2, 3, 0}));
  EXPECT_EQ(y(PaddingType::Constant), (Data{9, 9, 1, 2, 3, 9}));
  EXPECT_EQ(y(PaddingType::Reflect), (Data{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(y(PaddingType::Symmetric), (Data{2, 1, 1, 2, 3, 3}));
  EXPECT_EQ(run(OpKind::PadGradient,
                PadAttrs{PaddingType::Reflect, {0, 2}, {0, 1}, 0},
                {{{1, 6}, {1, 10, 100, 1000, 10000, 100000}}}),
            (Data{100, 101010, 10001}));
}

LossAttrs unreduced(LossType type, float smoothing = 0) {
  return {type, ReductionType::None, 1, smoothing};
}

TEST(Reference, Losses) {
  const RefTensor y{{2, 2}, {0, std::log(3), 0.5, 2}};
  const RefTensor t{{2, 2}, {0, 1, 1, 0}};
  const auto loss = [&](LossAttrs attrs, RefTensor weights = {}) {
    return run(OpKind::Loss, attrs, {y, t, weights});
  };
  const double l3 = std::log(3);
  LossAttrs attrs = unreduced(LossType::SoftmaxCrossEntropy);
  const double second = std::log(1 + std::exp(1.5));
  expect_near(loss(attrs), {std::log(4.0 / 3), second}, kExact);
  attrs.weight = 2;
  expect_near(loss(attrs, {{2, 1}, {1, 10}}),
              {2 * std::log(4.0 / 3), 20 * second}, kExact);
  attrs.reduction = ReductionType::Mean;
  expect_near(loss(attrs, {{2}, {1, 10}}), {std::log(4.0 / 3) + 10 * second},
              kExact);
  // t' = (0.25, 0.75): 0.25 ln 4 + 0.75 ln (4/3).
  expect_near({loss(unreduced(LossType::SoftmaxCrossEntropy, 0.5f))[0]},
              {0.25 * std::log(4) + 0.75 * std::log(4.0 / 3)}, kExact);
  expect_near(loss(unreduced(LossType::CosineDistance)), {1 - l3, 0.5}, kExact);
  expect_near(loss(unreduced(LossType::Hinge)), {1, 0, 0.5, 3}, kExact);
  expect_near(loss(unreduced(LossType::Huber)),
              {0, 0.5 * (l3 - 1) * (l3 - 1), 0.125, 1.5}, kExact);
  expect_near(loss({.type = LossType::MeanSquaredError}),
              {((l3 - 1) * (l3 - 1) + 0.25 + 4) / 4}, kExact);
  expect_near({loss(unreduced(LossType::SigmoidCrossEntropy))[1]},
              {std::log(4.0 / 3)}, kExact);
}

TEST(Reference, ClassLossesKeepPositions) {
  const RefTensor y{{1, 2, 2}, {0.5, 0.25, 0.5, 0.75}};
  const RefTensor t{{1, 2, 2}, {1, 0, 0, 1}};
  RefTensors in{y, t, {{1, 1, 2}, {1, 10}}};
  const auto losses =
      evaluate(OpKind::Loss, unreduced(LossType::CategoricalCrossEntropy), in);
  EXPECT_EQ(losses[0].shape, (Shape{1, 2}));
  expect_near(losses[0].data, {std::log(2), 10 * std::log(4.0 / 3)}, kExact);
}

TEST(Reference, Updates) {
  const RefTensor hyper{{4}, {0.5, 0.25, 1, 0}};
  RefTensors in{{{1}, {1}}, {{1}, {3}}, {{1}, {4}}, hyper, {{1}, {2}}};
  // g = 3 * 2, clipped to 5, * 0.5, + 0.5 * 1 = 3; m = 0.5 * 4 + 0.5 * 3
  SgdUpdateAttrs sgd{.gradient_rescale = 0.5f,
                     .clips_by_value = true,
                     .gradient_clip_max = 5,
                     .regularization_type = RegularizationType::L2,
                     .regularization_scale = 0.5f,
                     .momentum_scale = 0.5f};
  evaluate(OpKind::SgdUpdate, sgd, in);
  expect_near(in[2].data, {3.5}, kExact);
  expect_near(in[0].data, {-2.5}, kExact);

  RefTensors nesterov{{{1}, {1}}, {{1}, {3}}, {{1}, {4}}, hyper};
  evaluate(
      OpKind::SgdUpdate,
      SgdUpdateAttrs{.momentum_scale = 0.5f, .uses_nesterov_momentum = true},
      nesterov);
  expect_near(nesterov[0].data, {1 - 0.5 * (3 + 0.5 * 5)}, kExact);

  RefTensors adam{{{1}, {1}}, {{1}, {2}}, {{1}, {4}},
                  {{1}, {4}}, {{1}, {9}}, hyper};
  evaluate(OpKind::AdamUpdate,
           AdamUpdateAttrs{.regularization_scale = 0.5f,
                           .beta1 = 0.5f,
                           .beta2 = 0.5f,
                           .epsilon = 1,
                           .uses_amsgrad = true,
                           .decoupled_decay = true},
           adam);
  expect_near(adam[3].data, {4}, kExact);
  expect_near(adam[4].data, {9}, kExact);
  expect_near(adam[0].data, {1 - 0.25 * 3 / (3 + 1) - 0.5 * 0.5}, kExact);

  RefTensors rmsprop{{{1}, {1}}, {{1}, {2}}, {{1}, {6}},
                     {{1}, {4}}, {{1}, {0}}, hyper};
  evaluate(OpKind::RmspropUpdate,
           RmspropUpdateAttrs{.momentum_scale = 0.5f,
                              .alpha = 0.5f,
                              .epsilon = 1,
                              .is_centered = true},
           rmsprop);
  // n = 5, mean 1, d = 2 + 1; D = 2 - 1/3.
  expect_near(rmsprop[0].data, {1 + 2 - 1.0 / 3}, kExact);
}

TEST(Reference, ClippingAndAccumulation) {
  const RefTensor on{{4}, {0, 0, 1, 0}};
  const ClipScaleAttrs attrs{.maximum_norm = 2};
  EXPECT_EQ(run(OpKind::ClipScale, attrs, {on, {{1}, {9}}, {{1}, {16}}}),
            (Data{0.4}));
  EXPECT_EQ(run(OpKind::ClipScale, attrs, {on, {{1}, {1}}}), (Data{1}));
  EXPECT_EQ(run(OpKind::ClipScale, ClipScaleAttrs{2, 8}, {on, {{1}, {1}}}),
            (Data{0.25}));
  EXPECT_EQ(run(OpKind::ClipScale, attrs, {zeros({4}), {{1}, {99}}}),
            (Data{1}));
  RefTensors in{{{2}, {NAN, 1}}, {{2}, {3, 4}}, {{2}, {0, 1}}};
  evaluate(OpKind::AccumulateGradient, NoAttrs{}, in);
  EXPECT_EQ(in[0].data, (Data{3, 4}));
}

TEST(Reference, ProgramsKeepWhatTheirVariablesBecome) {
  Program program;
  const ValueId p = program.add_value(Role::Variable, {{1}}, "p");
  const ValueId g = program.add_value(Role::Input, {{1}}, "g");
  const ValueId hyper = program.add_value(Role::Input, {{4}}, "hyper");
  const ValueId twice = program.append_one(
      OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Add}, {p, p});
  program.append(OpKind::SgdUpdate, SgdUpdateAttrs{}, {p, g, kNoValue, hyper});
  const RefValues values = evaluate_program(
      program,
      {{p, {{1}, {3}}}, {g, {{1}, {2}}}, {hyper, {{4}, {0.5, 0, 0, 0}}}});
  EXPECT_EQ(values.at(twice).data, (Data{6}));
  EXPECT_EQ(values.at(p).data, (Data{2}));
}

}  // namespace
}  // namespace traingraph::testing
