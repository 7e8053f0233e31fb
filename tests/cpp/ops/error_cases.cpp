// SPDX-License-Identifier: MIT
#include "ops/error_cases.h"

#include <limits>

namespace traingraph::testing {
namespace {

constexpr ErrorInput kAbsent{.is_absent = true};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

ErrorInput boolean(Shape shape) { return {shape, DataType::Boolean}; }
ErrorInput int32(Shape shape) { return {shape, DataType::Int32}; }
ErrorInput int64(Shape shape) { return {shape, DataType::Int64}; }

}  // namespace

std::vector<ErrorCase> shape_errors() {
  using enum OpKind;
  const ErrorInput x{{2, 3}}, other{{3, 2}}, image{{2, 4, 8, 8}};
  const Convolution2dGradientAttrs to_image{.shape = {2, 4, 8, 8}};
  const Convolution2dGradientAttrs to_weights{.shape = {6, 4, 3, 3}};
  const Pool2dAttrs pool{.kernel_sizes = {2, 2}, .strides = {2, 2}};
  const AveragePool2dAttrs average{.kernel_sizes = {2, 2}, .strides = {2, 2}};
  const AveragePool2dGradientAttrs from_average{
      .kernel_sizes = {2, 2}, .strides = {2, 2}, .shape = {2, 4, 8, 8}};
  const LossAttrs softmax_loss{.type = LossType::SoftmaxCrossEntropy};
  const ErrorInput rates{{4}};
  const AttentionAttrs two_heads{.head_count = 2};
  const ErrorInput query{{2, 5, 4}}, key{{2, 7, 4}}, value{{2, 7, 6}};
  return {
      {ActivationGradient, ActivationAttrs{}, {x, other}},
      {Binary, ArithmeticAttrs{}, {x, other}},
      {Binary, ArithmeticAttrs{}, {x, {{2}}}},
      {Compare, CompareAttrs{}, {x, other}},
      {Select, NoAttrs{}, {boolean({2, 3}), x, other}},
      {Select, NoAttrs{}, {boolean({2}), x, x}},
      {Dropout, DropoutAttrs{}, {x, int32({3})}},
      {MatMul, MatMulAttrs{}, {{{3}}, other}},
      {MatMul, MatMulAttrs{}, {x, {{2}}}},
      {MatMul, MatMulAttrs{}, {x, x}},
      {MatMul, MatMulAttrs{.transposes_x = true}, {x, other}},
      {MatMul, MatMulAttrs{}, {{{2, 4, 3}}, {{3, 3, 5}}}},
      {MatMul, MatMulAttrs{}, {x, other, {{3}}}},
      {MatMul, MatMulAttrs{}, {x, other, {{1, 2}}}},
      {Convolution2d, Convolution2dAttrs{}, {x, {{6, 4, 3, 3}}}},
      {Convolution2d, Convolution2dAttrs{}, {image, {{6, 3, 3}}}},
      {Convolution2d, Convolution2dAttrs{}, {image, {{6, 3, 3, 3}}}},
      {Convolution2d, Convolution2dAttrs{}, {image, {{6, 4, 9, 3}}}},
      {Convolution2d, Convolution2dAttrs{}, {image, {{6, 4, 3, 3}}, {{4}}}},
      {Convolution2d, Convolution2dAttrs{.groups = 3}, {image, {{6, 4, 3, 3}}}},
      {Convolution2dInputGradient, to_image, {image, {{6, 4, 3, 3}}}},
      {Convolution2dInputGradient, to_image, {{{2, 6, 6}}, {{6, 4, 3, 3}}}},
      {Convolution2dWeightsGradient, to_weights, {image, image}},
      {Convolution2dWeightsGradient, to_weights, {{{2, 6, 6, 6}}, x}},
      {MaxPool2d, pool, {x}},
      {MaxPool2d, pool, {{{2, 4, 1, 8}}}},
      {MaxPool2d,
       Pool2dAttrs{.kernel_sizes = {2, 2}, .padding = {2, 2, 0, 0}},
       {image}},
      {MaxPool2dGradient, pool, {{{2, 4, 4, 3}}, image, image}},
      {MaxPool2dGradient, pool, {{{2, 4, 4, 4}}, x, image}},
      {AveragePool2d, average, {x}},
      {AveragePool2d, average, {{{2, 4, 8, 1}}}},
      {AveragePool2dGradient, from_average, {{{2, 4, 4, 3}}}},
      {BatchNorm, BatchNormAttrs{}, {{{3}}, kAbsent, kAbsent, {{3}}, {{3}}}},
      {BatchNorm, BatchNormAttrs{}, {x, {{2}}, kAbsent, {{3}}, {{3}}}},
      {BatchNorm, BatchNormAttrs{}, {x, kAbsent, {{1, 3}}, {{3}}, {{3}}}},
      {BatchNorm, BatchNormAttrs{}, {x, kAbsent, kAbsent, {{2}}, {{3}}}},
      {BatchNorm, BatchNormAttrs{}, {x, kAbsent, kAbsent, {{3}}, {{2}}}},
      {BatchNormGradient, BatchNormAttrs{}, {other, x, kAbsent, {{3}}, {{3}}}},
      {BatchNormGradient, BatchNormAttrs{}, {x, x, {{2}}, {{3}}, {{3}}}},
      {BatchNormGradient, BatchNormAttrs{}, {x, x, kAbsent, {{3}}, {{1}}}},
      {SoftmaxGradient, SoftmaxAttrs{}, {x, other}},
      {BroadcastTo, ShapeAttrs{{2, 4}}, {x}},
      {BroadcastTo, ShapeAttrs{{3}}, {x}},
      {Reshape, ShapeAttrs{{4, 2}}, {x}},
      {Reshape, ShapeAttrs{{-1, -1}}, {x}},
      {Reshape, ShapeAttrs{{4, -1}}, {x}},
      {Reshape, ShapeAttrs{{0, 6}}, {x}},
      {Reshape, ShapeAttrs{{}}, {x}},
      {Concatenate, AxisAttrs{1}, {x, other}},
      {Concatenate, AxisAttrs{1}, {x, {{2, 3, 1}}}},
      {Split, SplitAttrs{{1, 1}, 1}, {x}},
      {SliceGradient, SliceGradientAttrs{{0, 0}, {1, 2}, {}, {2, 3}}, {x}},
      {PadGradient, PadAttrs{.before = {1, 1}, .after = {1, 1}}, {x}},
      {Loss, LossAttrs{}, {x, other}},
      {Loss, LossAttrs{}, {x, x, {{2}}}},
      {Loss, LossAttrs{}, {x, x, {{4, 2, 3}}}},
      {Loss, softmax_loss, {{{3}}, {{3}}}},
      {Loss, softmax_loss, {x, x, {{5}}}},
      {LossGradient, LossAttrs{}, {x, x, x}},
      {LossGradient,
       LossAttrs{.reduction = ReductionType::None},
       {{{1}}, x, x}},
      {LossGradient, LossAttrs{}, {{{1}}, x, other}},
      {Attention, two_heads, {query, key, {{3, 7}}}},
      {Attention, two_heads, {query, {{3, 7, 4}}, value}},
      {Attention, two_heads, {query, {{2, 7, 6}}, value}},
      {Attention, two_heads, {query, key, {{2, 8, 6}}}},
      {Attention, two_heads, {{{2, 5, 3}}, {{2, 7, 3}}, value}},
      {Attention, two_heads, {query, key, {{2, 7, 5}}}},
      {Attention, two_heads, {query, key, value, boolean({2, 5})}},
      {Attention, two_heads, {query, key, value, kAbsent, {{5, 7}}}},
      {Attention, two_heads, {query, key, value, kAbsent, {{2, 5, 7}}}},
      {Attention, two_heads, {query, key, value, kAbsent, boolean({1, 7, 5})}},
      {Attention, two_heads, {query, key, value, kAbsent, kAbsent, int32({2})}},
      {AttentionGradient,
       two_heads,
       {query, query, key, value, {{2, 5, 6}}, {{2, 2, 5}}}},
      {AttentionGradient,
       two_heads,
       {{{2, 5, 6}}, query, key, value, {{2, 5, 6}}, {{2, 5, 2}}}},
      {SgdUpdate, SgdUpdateAttrs{}, {x, other, kAbsent, rates}},
      {SgdUpdate, SgdUpdateAttrs{}, {x, x, other, rates}},
      {SgdUpdate, SgdUpdateAttrs{}, {x, x, kAbsent, {{3}}}},
      {SgdUpdate, SgdUpdateAttrs{}, {x, x, kAbsent, rates, {{2}}}},
      {AdamUpdate, AdamUpdateAttrs{}, {x, other, x, x, kAbsent, rates}},
      {AdamUpdate, AdamUpdateAttrs{}, {x, x, x, other, kAbsent, rates}},
      {AdamUpdate, AdamUpdateAttrs{}, {x, x, x, x, x, {{1}}}},
      {RmspropUpdate,
       RmspropUpdateAttrs{},
       {x, x, other, kAbsent, kAbsent, rates}},
      {RmspropUpdate, RmspropUpdateAttrs{}, {x, x, x, x, other, rates}},
      {ClipScale, ClipScaleAttrs{}, {{{3}}, {{1}}}},
      {ClipScale, ClipScaleAttrs{}, {rates, {{1}}, {{2}}}},
      {AccumulateGradient, NoAttrs{}, {x, other, {{1}}}},
      {AccumulateGradient, NoAttrs{}, {x, x, {{2}}}},
  };
}

std::vector<ErrorCase> attribute_errors() {
  using enum OpKind;
  using Operation = ArithmeticOperation;
  const ErrorInput x{{2, 3}}, image{{2, 4, 8, 8}}, weights{{6, 4, 3, 3}};
  const ErrorInput rates{{4}}, channels{{3}};
  const auto update = [&](OpKind op, const Attributes& attrs) {
    const bool is_sgd = op == SgdUpdate;
    return is_sgd ? ErrorCase{op, attrs, {x, x, kAbsent, rates}}
                  : ErrorCase{op,
                              attrs,
                              {x, x, x, op == AdamUpdate ? x : kAbsent, kAbsent,
                               rates}};
  };
  const auto loss = [&](const LossAttrs& attrs) {
    return ErrorCase{Loss, attrs, {x, x}};
  };
  const auto attention = [&](const AttentionAttrs& attrs) {
    return ErrorCase{Attention, attrs, {{{2, 5, 4}}, {{2, 7, 4}}, {{2, 7, 6}}}};
  };
  const auto conv = [&](const Convolution2dAttrs& attrs) {
    return ErrorCase{Convolution2d, attrs, {image, weights}};
  };
  return {
      {Activation, ActivationAttrs{static_cast<ActivationType>(77)}, {x}},
      {Activation, ActivationAttrs{ActivationType::Clamp, 1, 0}, {x}},
      {ActivationGradient,
       ActivationAttrs{ActivationType::Clamp, 1, 0},
       {x, x}},
      {Unary, ArithmeticAttrs{Operation::Add}, {x}},
      {Unary, ArithmeticAttrs{static_cast<Operation>(99)}, {x}},
      {Binary, ArithmeticAttrs{Operation::Exp}, {x, x}},
      {Compare,
       CompareAttrs{ComparisonOperation::LogicalNOT},
       {boolean({2}), boolean({2})}},
      {Cast, CastAttrs{static_cast<DataType>(6)}, {x}},
      {Fill, FillAttrs{}, {}},
      {Fill, FillAttrs{.shape = {2, 0}}, {}},
      {Fill, FillAttrs{.shape = {2}, .data_type = DataType::Int8}, {}},
      {Dropout, DropoutAttrs{.rate = 1}, {x, int32({4})}},
      {Dropout, DropoutAttrs{.rate = -0.1f}, {x, int32({4})}},
      {Dropout, DropoutAttrs{.rate = kNaN}, {x, int32({4})}},
      conv({.strides = {0, 1}}),
      conv({.dilation_rates = {1, 0}}),
      conv({.padding = {0, 0, -1, 0}}),
      conv({.groups = 0}),
      {Convolution2dInputGradient,
       Convolution2dGradientAttrs{.shape = {2, 4, 8}},
       {{{2, 6, 6, 6}}, weights}},
      {Convolution2dWeightsGradient,
       Convolution2dGradientAttrs{.shape = {6, 4, 0, 3}},
       {{{2, 6, 6, 6}}, image}},
      {MaxPool2d, Pool2dAttrs{.kernel_sizes = {0, 2}}, {image}},
      {MaxPool2dGradient, Pool2dAttrs{.strides = {1, -1}}, {image, image, x}},
      {AveragePool2d, AveragePool2dAttrs{.padding = {-1, 0, 0, 0}}, {image}},
      {AveragePool2dGradient, AveragePool2dGradientAttrs{}, {image}},
      {BatchNorm,
       BatchNormAttrs{.epsilon = -1},
       {x, kAbsent, kAbsent, channels, channels}},
      {BatchNorm,
       BatchNormAttrs{.momentum = 1.5f},
       {x, kAbsent, kAbsent, channels, channels}},
      {BatchNormGradient,
       BatchNormAttrs{.epsilon = kInfinity},
       {x, x, kAbsent, channels, channels}},
      {Softmax, SoftmaxAttrs{.axis = 2}, {x}},
      {Softmax, SoftmaxAttrs{.axis = -1}, {x}},
      {SoftmaxGradient, SoftmaxAttrs{.axis = 2}, {x, x}},
      {Reduce, ReduceAttrs{ReductionType::Sum, {2}}, {x}},
      {Reduce, ReduceAttrs{ReductionType::Sum, {1, 1}}, {x}},
      {Reduce, ReduceAttrs{ReductionType::ArgMax, {0, 1}}, {x}},
      {Reduce, ReduceAttrs{ReductionType::ArgMin, {}}, {x}},
      {BroadcastTo, ShapeAttrs{{0, 3}}, {x}},
      {Transpose, TransposeAttrs{{0}}, {x}},
      {Transpose, TransposeAttrs{{0, 0}}, {x}},
      {Transpose, TransposeAttrs{{0, 2}}, {x}},
      {Concatenate, AxisAttrs{2}, {x, x}},
      {Concatenate, AxisAttrs{-1}, {x, x}},
      {Split, SplitAttrs{{1, 2}, 2}, {x}},
      {Split, SplitAttrs{{3, 0}, 1}, {x}},
      {Split, SplitAttrs{{}, 1}, {x}},
      {Slice, SliceAttrs{{0}, {1}, {}}, {x}},
      {Slice, SliceAttrs{{0, 1}, {2, 1}, {}}, {x}},
      {Slice, SliceAttrs{{0, -1}, {2, 1}, {}}, {x}},
      {Slice, SliceAttrs{{0, 0}, {2, 4}, {}}, {x}},
      {Slice, SliceAttrs{{0, 0}, {2, 3}, {1, 0}}, {x}},
      {SliceGradient, SliceGradientAttrs{{0, 0}, {2, 3}, {}, {}}, {x}},
      {Pad, PadAttrs{.before = {1}, .after = {1, 1}}, {x}},
      {Pad, PadAttrs{.before = {0, -1}, .after = {0, 0}}, {x}},
      {Pad, PadAttrs{PaddingType::Reflect, {0, 3}, {0, 0}}, {x}},
      {Pad, PadAttrs{PaddingType::Symmetric, {0, 4}, {0, 0}}, {x}},
      {PadGradient, PadAttrs{.before = {0, -1}, .after = {0, 0}}, {x}},
      loss({.type = static_cast<LossType>(42)}),
      loss({.reduction = ReductionType::Max}),
      loss({.weight = kNaN}),
      loss({.label_smoothing = 1.5f}),
      loss({.class_count = 0}),
      loss({.epsilon = -1}),
      loss({.delta = 0}),
      {LossGradient, LossAttrs{.delta = -1}, {{{1}}, x, x}},
      attention({.head_count = 0}),
      attention({.head_count = -2}),
      attention({.scale = -1}),
      attention({.scale = kInfinity}),
      attention({.dropout = 1}),
      attention({.dropout = kNaN}),
      attention({.dropout = 0.5f}),  // without random numbers
      {AttentionGradient,
       AttentionAttrs{.scale = kNaN},
       {{{2, 5, 4}},
        {{2, 5, 4}},
        {{2, 7, 4}},
        {{2, 7, 4}},
        {{2, 5, 4}},
        {{2, 1, 5}}}},
      update(SgdUpdate, SgdUpdateAttrs{.gradient_rescale = kNaN}),
      update(SgdUpdate, SgdUpdateAttrs{.clips_by_value = true,
                                       .gradient_clip_min = 1,
                                       .gradient_clip_max = 0}),
      update(SgdUpdate, SgdUpdateAttrs{.momentum_scale = -1}),
      update(SgdUpdate, SgdUpdateAttrs{.momentum_scale = 0.9f}),
      update(AdamUpdate, AdamUpdateAttrs{.beta1 = 1}),
      update(AdamUpdate, AdamUpdateAttrs{.beta2 = -0.1f}),
      update(AdamUpdate, AdamUpdateAttrs{.epsilon = -1}),
      update(AdamUpdate, AdamUpdateAttrs{.uses_amsgrad = true}),
      update(RmspropUpdate, RmspropUpdateAttrs{.alpha = 1}),
      update(RmspropUpdate, RmspropUpdateAttrs{.momentum_scale = 0.5f}),
      update(RmspropUpdate, RmspropUpdateAttrs{.is_centered = true}),
      {ClipScale, ClipScaleAttrs{.maximum_norm = 0}, {rates, {{1}}}},
      {ClipScale, ClipScaleAttrs{.custom_norm = -1}, {rates, {{1}}}},
  };
}

std::vector<ErrorCase> type_errors() {
  using enum OpKind;
  const ErrorInput x{{2, 3}};
  return {
      {Compare, CompareAttrs{}, {x, int32({2, 3})}},
      {Compare, CompareAttrs{}, {int32({2}), int64({2})}},
      {Compare, CompareAttrs{ComparisonOperation::LogicalAND}, {x, x}},
      {Reduce, ReduceAttrs{ReductionType::Sum, {}}, {int32({2})}},
      {Reduce, ReduceAttrs{ReductionType::Any, {}}, {x}},
      {Reduce, ReduceAttrs{ReductionType::Max, {}}, {boolean({2})}},
      {Concatenate, AxisAttrs{0}, {x, int32({2, 3})}},
      {LogicalNot, NoAttrs{}, {x}},
      {Attention,
       AttentionAttrs{},
       {{{2, 5, 4}}, {{2, 7, 4}}, {{2, 7, 6}}, {{2, 7}}}},
      {Attention,
       AttentionAttrs{},
       {{{2, 5, 4}}, {{2, 7, 4}}, {{2, 7, 6}}, kAbsent, int32({1, 5, 7})}},
      {SquaredNorm, NoAttrs{}, {int32({2})}},
  };
}

}  // namespace traingraph::testing
