// SPDX-License-Identifier: MIT
// Each rewrite: what it makes of a program, and what it leaves alone. That
// values and gradients stay is what tests/python/test_recognition.py shows.
#include "compiler/passes/recognize_layers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "compiler/passes/remove_dead_nodes.h"
#include "graph/op_def.h"
#include "graph/verify.h"

namespace traingraph {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class RecognizeLayers : public ::testing::Test {
 protected:
  using Names = std::vector<std::string>;

  ValueId input(Shape shape, DataType type = DataType::Float32) {
    return program().add_value(Role::Input, {shape, type}, "x");
  }
  ValueId append(OpKind op, Attributes attrs, std::vector<ValueId> inputs) {
    const std::string name =
        std::string(op_def(op).name) + std::to_string(++num_nodes_);
    return program().append_one(op, std::move(attrs), std::move(inputs), name);
  }
  ValueId binary(ArithmeticOperation operation, ValueId x, ValueId y) {
    return append(OpKind::Binary, ArithmeticAttrs{operation}, {x, y});
  }
  ValueId add(ValueId x, ValueId y) {
    return binary(ArithmeticOperation::Add, x, y);
  }
  ValueId multiply(ValueId x, ValueId y) {
    return binary(ArithmeticOperation::Multiply, x, y);
  }
  ValueId unary(ArithmeticOperation operation, ValueId x) {
    return append(OpKind::Unary, ArithmeticAttrs{operation}, {x});
  }
  ValueId number(float value) {
    return append(OpKind::Fill, FillAttrs{.shape = {1}, .value = value}, {});
  }
  ValueId activation(ActivationType type, ValueId x) {
    return append(OpKind::Activation, ActivationAttrs{.type = type}, {x});
  }
  ValueId line(float a, float b, ValueId x) {
    return append(
        OpKind::Activation,
        ActivationAttrs{.type = ActivationType::Linear, .a = a, .b = b}, {x});
  }
  ValueId reshape(ValueId x, Shape shape) {
    return append(OpKind::Reshape, ShapeAttrs{shape}, {x});
  }
  ValueId transpose(ValueId x, Shape axes) {
    return append(OpKind::Transpose, TransposeAttrs{axes}, {x});
  }
  ValueId matmul(ValueId x, ValueId y, MatMulAttrs attrs = {}) {
    return append(OpKind::MatMul, attrs, {x, y});
  }
  ValueId mean(ValueId x, Shape axes) {
    return append(OpKind::Reduce, ReduceAttrs{ReductionType::Mean, axes}, {x});
  }
  ValueId softmax(ValueId x, std::int64_t axis) {
    return append(OpKind::Softmax, SoftmaxAttrs{.axis = axis}, {x});
  }
  /// Reads the value in another way, so that it stays.
  void read(ValueId x) { unary(ArithmeticOperation::Cos, x); }

  /// The ops in order, after the pass.
  Names ops(std::vector<ValueId> named) {
    recognize_layers(MergedGraph{}, named, a_);
    verify(program());
    remove_dead_nodes(program(), named);
    Names names;
    for (const Node& node : program().nodes()) names.push_back(node.op->name);
    return names;
  }
  Program& program() { return a_.program; }
  const std::vector<Rewrite>& rewrites() const { return a_.rewrites; }
  const Node& maker(ValueId value) {
    return program().node(program().value(value).producer);
  }
  template <class Attrs>
  const Attrs& attrs(ValueId value) {
    return std::get<Attrs>(maker(value).attrs);
  }

  /// (x - mean) / sqrt(variance + epsilon)
  ValueId written_out_norm(ValueId x, Shape axes, bool by_rsqrt) {
    const ValueId d = binary(ArithmeticOperation::Subtract, x, mean(x, axes));
    const ValueId variance = mean(multiply(d, d), axes);
    const ValueId shifted = add(variance, number(1e-3f));
    if (by_rsqrt) {
      return multiply(d, unary(ArithmeticOperation::Rsqrt, shifted));
    }
    return binary(ArithmeticOperation::Divide, d,
                  unary(ArithmeticOperation::Sqrt, shifted));
  }

  struct Heads {
    ValueId query, key, value;
  };
  /// (2, heads, length, width) of (2, length, heads * width)
  Heads heads() {
    const auto split = [&](ValueId x) {
      return transpose(reshape(x, {2, 5, 3, 4}), {0, 2, 1, 3});
    };
    const ValueId q = input({2, 5, 12}), k = input({2, 5, 12}),
                  v = input({2, 5, 12});
    return {split(q), split(k), split(v)};
  }

 private:
  Assembled a_;
  int num_nodes_ = 0;
};

// --- Layout ---

TEST_F(RecognizeLayers, ReshapesJoin) {
  const ValueId x = input({2, 6});
  const ValueId y = reshape(reshape(x, {3, 4}), {4, 3});
  EXPECT_EQ(ops({y}), (Names{"reshape"}));
  EXPECT_EQ(maker(y).inputs[0], x);
}

TEST_F(RecognizeLayers, ReshapesCancel) {
  const ValueId x = input({2, 6});
  const ValueId y =
      activation(ActivationType::ReLU, reshape(reshape(x, {3, 4}), {2, 6}));
  EXPECT_EQ(ops({y}), (Names{"activation"}));
  EXPECT_EQ(maker(y).inputs[0], x);
}

TEST_F(RecognizeLayers, ANamedResultThatEqualsAnotherIsAView) {
  const ValueId x = input({2, 6});
  const ValueId y = transpose(transpose(x, {1, 0}), {1, 0});
  EXPECT_EQ(ops({y}), (Names{"reshape"}));
  EXPECT_EQ(maker(y).inputs[0], x);
}

TEST_F(RecognizeLayers, ANamedReshapeStays) {
  const ValueId x = input({2, 6});
  const ValueId between = reshape(x, {3, 4}), y = reshape(between, {4, 3});
  EXPECT_EQ(ops({between, y}), (Names{"reshape", "reshape"}));
}

TEST_F(RecognizeLayers, TransposesJoin) {
  const ValueId x = input({2, 3, 4});
  const ValueId y = transpose(transpose(x, {1, 2, 0}), {1, 2, 0});
  EXPECT_EQ(ops({y}), (Names{"transpose"}));
  EXPECT_EQ(attrs<TransposeAttrs>(y).axes, (Shape{2, 0, 1}));
}

TEST_F(RecognizeLayers, ATransposeOfUnitAxesMovesNothing) {
  const ValueId y = transpose(input({2, 1, 4, 1}), {0, 2, 3, 1});
  EXPECT_EQ(ops({y}), (Names{"reshape"}));
  EXPECT_EQ(program().shape(y), (Shape{2, 4, 1, 1}));
}

TEST_F(RecognizeLayers, ATransposeOfMergedMatricesIsOneOfMatrices) {
  const ValueId x = input({2, 3, 4, 5});
  const ValueId y =
      reshape(transpose(reshape(x, {6, 4, 5}), {0, 2, 1}), {2, 3, 5, 4});
  EXPECT_EQ(ops({y}), (Names{"transpose"}));
  EXPECT_EQ(attrs<TransposeAttrs>(y).axes, (Shape{0, 1, 3, 2}));
}

TEST_F(RecognizeLayers, ATransposeOfWhatWasMixedStays) {
  const ValueId x = input({2, 3, 4, 5});
  const ValueId y =
      reshape(transpose(reshape(x, {6, 5, 4}), {0, 2, 1}), {2, 3, 4, 5});
  EXPECT_EQ(ops({y}), (Names{"reshape", "transpose", "reshape"}));
}

TEST_F(RecognizeLayers, TransposesMoveUntilTheyCancel) {
  const ValueId x = input({2, 3, 4}), z = input({2, 3, 4});
  const ValueId sum =
      add(activation(ActivationType::ReLU, transpose(x, {2, 0, 1})),
          transpose(z, {2, 0, 1}));
  const ValueId joined =
      append(OpKind::Concatenate, AxisAttrs{0},
             {unary(ArithmeticOperation::Exp, sum), transpose(x, {2, 0, 1})});
  const ValueId y =
      unary(ArithmeticOperation::Cos, transpose(joined, {1, 2, 0}));
  EXPECT_EQ(ops({y}),
            (Names{"activation", "binary", "unary", "concatenate", "unary"}));
  EXPECT_EQ(attrs<AxisAttrs>(maker(y).inputs[0]).axis, 2);
}

TEST_F(RecognizeLayers, TransposesOfOneOperandOrOtherAxesStay) {
  const ValueId x = input({3, 3}), z = input({3, 3});
  const ValueId one = add(transpose(x, {1, 0}), z);
  const ValueId cube = input({3, 3, 3});
  const ValueId other =
      add(transpose(cube, {2, 0, 1}), transpose(cube, {1, 2, 0}));
  EXPECT_EQ(ops({one, other}),
            (Names{"transpose", "binary", "transpose", "transpose", "binary"}));
}

TEST_F(RecognizeLayers, SlicesOfAllOfAnAxisAreASplit) {
  const ValueId x = input({2, 6, 3});
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    return append(OpKind::Slice, SliceAttrs{{0, begin, 0}, {2, end, 3}, {}},
                  {x});
  };
  const ValueId b = part(4, 6), a = part(0, 4);
  EXPECT_EQ(ops({a, b}), (Names{"split"}));
  EXPECT_EQ(maker(a).outputs, (std::vector<ValueId>{a, b}));
  EXPECT_EQ(rewrites()[0].what, "split");
}

TEST_F(RecognizeLayers, SlicesWithGapsAndStepsStay) {
  const ValueId x = input({2, 6});
  const auto part = [&](std::int64_t begin, std::int64_t end,
                        std::int64_t step) {
    return append(OpKind::Slice, SliceAttrs{{0, begin}, {2, end}, {1, step}},
                  {x});
  };
  const ValueId a = part(0, 3, 1), b = part(4, 6, 1), even = part(0, 6, 2),
                odd = part(1, 6, 2);
  EXPECT_EQ(ops({a, b, even, odd}),
            (Names{"slice", "slice", "slice", "slice"}));
}

// --- Arithmetic ---

TEST_F(RecognizeLayers, ArithmeticWithNumbersIsALine) {
  const ValueId x = input({2, 3});
  const ValueId twice = binary(ArithmeticOperation::Divide, x, number(0.5f));
  const ValueId y = binary(ArithmeticOperation::Subtract, number(3), twice);
  EXPECT_EQ(ops({y}), (Names{"activation"}));
  EXPECT_EQ(attrs<ActivationAttrs>(y).a, -2);
  EXPECT_EQ(attrs<ActivationAttrs>(y).b, 3);
}

TEST_F(RecognizeLayers, ASumWithALargerFillStays) {
  const ValueId x = input({3});
  const ValueId fill =
      append(OpKind::Fill, FillAttrs{.shape = {2, 3}, .value = 1}, {});
  EXPECT_EQ(ops({add(x, fill)}), (Names{"fill", "binary"}));
}

TEST_F(RecognizeLayers, ADivisionByZeroStays) {
  const ValueId x = input({3});
  const ValueId y = binary(ArithmeticOperation::Divide, x, number(0));
  EXPECT_EQ(ops({y}), (Names{"fill", "binary"}));
}

TEST_F(RecognizeLayers, ASumByItsCountIsAMean) {
  const ValueId x = input({2, 4});
  const ValueId sum =
      append(OpKind::Reduce, ReduceAttrs{ReductionType::Sum, {1}}, {x});
  const ValueId y = multiply(sum, number(0.25f));
  EXPECT_EQ(ops({y}), (Names{"reduce"}));
  EXPECT_EQ(attrs<ReduceAttrs>(y).type, ReductionType::Mean);
}

TEST_F(RecognizeLayers, EqualNodesAreOne) {
  const ValueId x = input({2, 4});
  const ValueId y = add(unary(ArithmeticOperation::Exp, x),
                        unary(ArithmeticOperation::Exp, x));
  EXPECT_EQ(ops({y}), (Names{"unary", "binary"}));
}

TEST_F(RecognizeLayers, NodesOfOtherAttributesStay) {
  const ValueId x = input({2, 4});
  const ValueId y = add(unary(ArithmeticOperation::Exp, x),
                        unary(ArithmeticOperation::Exp2, x));
  EXPECT_EQ(ops({y}), (Names{"unary", "unary", "binary"}));
}

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
