// SPDX-License-Identifier: MIT
// Layers that are written out: what a program of them becomes, and what stays.
// That values and gradients stay is what tests/python/test_recognition.py
// shows.
#include "compiler/recognize_layers.h"

#include <algorithm>
#include <limits>

namespace traingraph {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// --- Activations ---

TEST_F(RecognizeLayers, GatedByItself) {
  using enum ActivationType;
  const ValueId x = input({2, 4});
  const ValueId silu = multiply(activation(Sigmoid, x), x);
  const ValueId mish =
      multiply(x, append(OpKind::Activation, ActivationAttrs{Tanh, 1, 1},
                         {append(OpKind::Activation,
                                 ActivationAttrs{SoftPlus, 1, 1}, {x})}));
  const ValueId swish =
      multiply(x, append(OpKind::Activation,
                         ActivationAttrs{HardSigmoid, 1.0f / 6, 0.5f}, {x}));
  EXPECT_EQ(ops({silu, mish, swish}),
            (Names{"activation", "activation", "activation"}));
  EXPECT_EQ(attrs<ActivationAttrs>(silu).type, SiLU);
  EXPECT_EQ(attrs<ActivationAttrs>(mish).type, Mish);
  EXPECT_EQ(attrs<ActivationAttrs>(swish).type, HardSwish);
}

TEST_F(RecognizeLayers, GatedByAnotherOrByWhatIsReadStays) {
  const ValueId x = input({2, 4}), z = input({2, 4});
  const ValueId other = multiply(z, activation(ActivationType::Sigmoid, x));
  EXPECT_EQ(ops({other}), (Names{"activation", "binary"}));
  const ValueId gate = activation(ActivationType::Sigmoid, x);
  const ValueId y = multiply(x, gate);
  EXPECT_EQ(ops({gate, y, other}).size(), 4u);
}

TEST_F(RecognizeLayers, GeluByTanh) {
  const ValueId x = input({2, 4});
  const ValueId cube = binary(ArithmeticOperation::Pow, x, number(3));
  const ValueId inner = add(x, multiply(number(0.044715f), cube));
  const ValueId tanh =
      append(OpKind::Activation, ActivationAttrs{ActivationType::Tanh, 1, 1},
             {multiply(inner, number(0.7978845608f))});
  const ValueId half = multiply(x, number(0.5f));
  const ValueId y = multiply(half, add(tanh, number(1)));
  EXPECT_EQ(ops({y}), (Names{"activation"}));
  EXPECT_EQ(attrs<ActivationAttrs>(y).type, ActivationType::GELUTanh);
}

TEST_F(RecognizeLayers, GeluByErf) {
  for (int order = 0; order < 2; ++order) {
    const ValueId x = input({2, 4});
    const ValueId erf =
        unary(ArithmeticOperation::Erf,
              binary(ArithmeticOperation::Divide, x, number(1.4142135f)));
    const ValueId gate = add(number(1), erf);
    const ValueId y = order == 0 ? multiply(multiply(x, number(0.5f)), gate)
                                 : multiply(number(0.5f), multiply(gate, x));
    EXPECT_EQ(ops({y}), (Names{"activation"}));
    EXPECT_EQ(attrs<ActivationAttrs>(y).type, ActivationType::GELU);
  }
}

TEST_F(RecognizeLayers, GeluOfAnotherStays) {
  const ValueId x = input({2, 4}), z = input({2, 4});
  const ValueId erf =
      unary(ArithmeticOperation::Erf,
            binary(ArithmeticOperation::Divide, x, number(1.4142135f)));
  const ValueId y = multiply(multiply(z, number(0.5f)), add(erf, number(1)));
  EXPECT_GT(ops({y}).size(), 2u);
}

TEST_F(RecognizeLayers, GeluWithOtherNumbersStays) {
  const ValueId x = input({2, 4});
  const ValueId cube = multiply(multiply(x, x), x);
  const ValueId inner = add(x, multiply(number(0.05f), cube));
  const ValueId tanh =
      append(OpKind::Activation, ActivationAttrs{ActivationType::Tanh, 1, 1},
             {multiply(inner, number(0.7978845608f))});
  const ValueId y = multiply(multiply(x, number(0.5f)), add(tanh, number(1)));
  EXPECT_GT(ops({y}).size(), 4u);
}

// --- Products ---

TEST_F(RecognizeLayers, TransposesScalesAndBiasesAreArgumentsOfTheProduct) {
  const ValueId x = input({5, 4}), w = input({3, 4}), bias = input({3});
  const ValueId product = matmul(multiply(x, number(2)), transpose(w, {1, 0}));
  const ValueId y = add(bias, multiply(number(0.25f), product));
  EXPECT_EQ(ops({y}), (Names{"matmul"}));
  EXPECT_EQ(maker(y).inputs, (std::vector<ValueId>{x, w, bias}));
  EXPECT_EQ(attrs<MatMulAttrs>(y), (MatMulAttrs{0.5f, false, true}));
}

TEST_F(RecognizeLayers, AScaledBiasAndAColumnStay) {
  const ValueId x = input({5, 4}), w = input({4, 3}), bias = input({3});
  const ValueId biased = append(OpKind::MatMul, MatMulAttrs{}, {x, w, bias});
  const ValueId scaled = multiply(biased, number(2));
  const ValueId shifted = add(matmul(x, w), input({5, 1}));
  EXPECT_EQ(ops({scaled, shifted}),
            (Names{"matmul", "activation", "matmul", "binary"}));
}

TEST_F(RecognizeLayers, AConvolutionTakesItsBias) {
  const ValueId x = input({2, 3, 8, 8}), w = input({5, 3, 3, 3});
  const ValueId conv =
      append(OpKind::Convolution2d, Convolution2dAttrs{}, {x, w});
  const ValueId y = add(conv, input({5, 1, 1}));
  EXPECT_EQ(ops({y}), (Names{"reshape", "convolution_2d"}));
}

TEST_F(RecognizeLayers, AProductThatIsReadKeepsItsBiasApart) {
  const ValueId x = input({5, 4}), w = input({4, 3});
  const ValueId product = matmul(x, w), y = add(product, input({3}));
  EXPECT_EQ(ops({product, y}), (Names{"matmul", "binary"}));
}

// --- Normalization ---

TEST_F(RecognizeLayers, LayerNormalization) {
  for (const bool by_rsqrt : {false, true}) {
    const ValueId x = input({2, 3, 8}), gamma = input({8}), beta = input({8});
    const ValueId norm = written_out_norm(x, {2}, by_rsqrt);
    const ValueId y = add(multiply(gamma, norm), beta);
    EXPECT_EQ(ops({y}), (Names{"sample_norm"}));
    EXPECT_EQ(maker(y).inputs[1], gamma);
    EXPECT_EQ(maker(y).inputs[2], beta);
    EXPECT_EQ(attrs<SampleNormAttrs>(y).axis, 2);
    EXPECT_EQ(attrs<SampleNormAttrs>(y).epsilon, 1e-3f);
  }
}

TEST_F(RecognizeLayers, ANormOfOtherAxesStaysWithAHint) {
  const ValueId y = written_out_norm(input({2, 3, 8}), {1}, false);
  EXPECT_GT(ops({y}).size(), 5u);
  ASSERT_FALSE(rewrites().empty());
  EXPECT_NE(rewrites().back().hint.find("(1)"), std::string::npos);
}

TEST_F(RecognizeLayers, AScaleOfOtherAxesStays) {
  const ValueId norm = written_out_norm(input({2, 3, 8}), {2}, false);
  const ValueId y = multiply(norm, input({3, 1}));
  EXPECT_EQ(ops({y}), (Names{"sample_norm", "binary"}));
}

TEST_F(RecognizeLayers, GroupNormalization) {
  const ValueId x = input({2, 6, 4, 4});
  const ValueId groups =
      append(OpKind::SampleNorm, SampleNormAttrs{.axis = 1, .groups = 3},
             {reshape(x, {2, 3, 32}), kNoValue, kNoValue});
  const ValueId norm = reshape(groups, {2, 6, 4, 4});
  const ValueId y = add(multiply(norm, input({6, 1, 1})), input({1, 6, 1, 1}));
  EXPECT_EQ(ops({y}), (Names{"reshape", "reshape", "sample_norm"}));
  EXPECT_EQ(maker(y).inputs[0], x);
  EXPECT_EQ(attrs<SampleNormAttrs>(y).groups, 3);
}

TEST_F(RecognizeLayers, GroupsOfTheirOwnScaleStayWithAHint) {
  const ValueId x = input({2, 6, 4, 4});
  const ValueId groups =
      append(OpKind::SampleNorm, SampleNormAttrs{.axis = 1, .groups = 3},
             {reshape(x, {2, 3, 32}), input({3}), input({3})});
  const ValueId y = reshape(groups, {2, 6, 4, 4});
  EXPECT_EQ(ops({y}), (Names{"reshape", "sample_norm", "reshape"}));
  ASSERT_EQ(rewrites().size(), 1u);
  EXPECT_EQ(rewrites()[0].what, "group normalization");
  EXPECT_EQ(rewrites()[0].node, maker(y).name);
}

// --- Attention ---

TEST_F(RecognizeLayers, Attention) {
  const Heads h = heads();
  const ValueId scores = matmul(h.query, transpose(h.key, {0, 1, 3, 2}));
  const ValueId masked = add(
      binary(ArithmeticOperation::Divide, scores, number(4)), input({5, 5}));
  const ValueId output = matmul(softmax(masked, 3), h.value);
  const ValueId y = reshape(transpose(output, {0, 2, 1, 3}), {2, 5, 12});
  EXPECT_EQ(ops({y}), (Names{"reshape", "attention"}));
  EXPECT_EQ(attrs<AttentionAttrs>(y).head_count, 3);
  EXPECT_EQ(attrs<AttentionAttrs>(y).scale, 0.25f);
}

TEST_F(RecognizeLayers, AttentionFindsItsScaleWhereverItStands) {
  for (int where = 0; where < 5; ++where) {
    const auto scaled = [&](ValueId x) { return multiply(x, number(0.5f)); };
    Heads h = heads();
    if (where == 4) {
      h.query = transpose(reshape(scaled(input({2, 5, 12})), {2, 5, 3, 4}),
                          {0, 2, 1, 3});
    }
    if (where == 0) h.query = scaled(h.query);
    if (where == 1) h.key = scaled(h.key);
    ValueId key = transpose(h.key, {0, 1, 3, 2});
    if (where == 2) key = scaled(key);
    ValueId scores = matmul(h.query, key);
    if (where == 3) scores = scaled(scores);
    const ValueId output = matmul(softmax(scores, 3), h.value);
    const ValueId y = reshape(transpose(output, {0, 2, 1, 3}), {2, 5, 12});
    EXPECT_EQ(ops({y}), (Names{"attention"})) << where;
    EXPECT_EQ(attrs<AttentionAttrs>(y).scale, 0.5f);
  }
}

TEST_F(RecognizeLayers, AttentionOfHeadsThatWereNeverJoined) {
  const ValueId q = input({2, 3, 5, 4}), k = input({2, 3, 6, 4}),
                v = input({2, 3, 6, 7});
  const ValueId y = matmul(softmax(matmul(q, k, {1, false, true}), 3), v);
  EXPECT_EQ(ops({y}),
            (Names{"reshape", "reshape", "reshape", "attention", "reshape"}));
}

TEST_F(RecognizeLayers, AttentionWithWhatIsMaskedOut) {
  const Heads h = heads();
  const ValueId seen = input({1, 1, 5, 5}, DataType::Boolean);
  const ValueId scores = matmul(h.query, h.key, {1, false, true});
  const ValueId masked =
      append(OpKind::Select, NoAttrs{}, {seen, scores, number(-kInfinity)});
  const ValueId y = matmul(softmax(masked, 3), h.value);
  const Names names = ops({y});
  EXPECT_EQ(std::ranges::count(names, "attention"), 1);
  EXPECT_EQ(std::ranges::count(names, "softmax"), 0);
}

TEST_F(RecognizeLayers, AttentionThatIsMaskedByANumberStaysWithAHint) {
  const Heads h = heads();
  const ValueId seen = input({1, 1, 5, 5}, DataType::Boolean);
  const ValueId scores = matmul(h.query, h.key, {1, false, true});
  const ValueId masked =
      append(OpKind::Select, NoAttrs{}, {seen, scores, number(-1e9f)});
  const ValueId y = matmul(softmax(masked, 3), h.value);
  const Names names = ops({y});
  EXPECT_EQ(std::ranges::count(names, "attention"), 0);
  ASSERT_FALSE(rewrites().empty());
  EXPECT_EQ(rewrites().back().what, "attention");
  EXPECT_NE(rewrites().back().hint.find("-infinity"), std::string::npos);
}

TEST_F(RecognizeLayers, WeightsThatAreReadOrOverOtherAxesStay) {
  const ValueId q = input({2, 5, 4}), k = input({2, 5, 4}),
                v = input({2, 5, 4});
  const ValueId scores = matmul(q, k, {1, false, true});
  const ValueId weights = softmax(scores, 2);
  const ValueId y = matmul(weights, v);
  EXPECT_EQ(ops({weights, y}), (Names{"matmul", "softmax", "matmul"}));
  const ValueId columns = matmul(softmax(matmul(q, k, {1, false, true}), 1), v);
  const Names names = ops({columns});
  EXPECT_EQ(std::ranges::count(names, "attention"), 0);
}

// --- Losses ---

TEST_F(RecognizeLayers, CrossEntropyOfASoftmax) {
  const ValueId x = input({4, 3}), labels = input({4, 3});
  const ValueId probabilities = softmax(x, 1);
  const ValueId loss =
      append(OpKind::Loss, LossAttrs{.type = LossType::CategoricalCrossEntropy},
             {probabilities, labels});
  EXPECT_EQ(ops({loss}), (Names{"loss"}));
  EXPECT_EQ(attrs<LossAttrs>(loss).type, LossType::SoftmaxCrossEntropy);
}

TEST_F(RecognizeLayers, WhatWasFoundHasTheNamesOfTheNodes) {
  const ValueId x = input({2, 4});
  const ValueId gate = activation(ActivationType::Sigmoid, x);
  const std::string inner = maker(gate).name;
  const ValueId y = multiply(x, gate);
  const std::string outer = maker(y).name;
  ops({y});
  ASSERT_EQ(rewrites().size(), 1u);
  EXPECT_EQ(rewrites()[0].node, outer);
  EXPECT_EQ(rewrites()[0].of, (Names{inner, outer}));
  EXPECT_EQ(maker(y).name, outer);
}

}  // namespace
}  // namespace traingraph
