// SPDX-License-Identifier: MIT
// Shapes, options and errors of every layer family.
#include "traingraph/layers.h"

#include <gtest/gtest.h>

#include "graph/op_def.h"
#include "layers/graph_state.h"
#include "layers/names.h"
#include "traingraph/error.h"
#include "traingraph/graph.h"
#include "traingraph/losses.h"
#include "traingraph/training_graph.h"

namespace traingraph {
namespace {

using namespace layers;

Tensor input(Shape shape, DataType type = DataType::Float32) {
  return Tensor({shape, type});
}

template <class ErrorType, class Call>
ErrorInfo error_of(Call call) {
  try {
    call();
  } catch (const ErrorType& e) {
    return e.info();
  }
  ADD_FAILURE() << "nothing was thrown, or another type";
  return {};
}

/// The result of `layer` in a graph of its own.
Tensor apply(LayerPtr layer, std::vector<Tensor> sources) {
  return Graph().node(std::move(layer), std::move(sources));
}

Shape shape_after(LayerPtr layer, Shape shape) {
  return apply(std::move(layer), {input(shape)}).shape();
}

/// Ops of a layer on one source.
std::vector<OpKind> ops_of(LayerPtr layer, Shape shape) {
  Graph graph;
  graph.node(std::move(layer), input(shape));
  std::vector<OpKind> result;
  for (const Node& node : graph.state()->program.nodes()) {
    result.push_back(node.op->kind);
  }
  return result;
}

void expect_activation(const Activation& layer, ActivationType type, float a,
                       float b, const char* label) {
  EXPECT_EQ(layer.descriptor(), ActivationDescriptor(type, a, b)) << label;
  EXPECT_EQ(layer.name(), LayerNames::of_class(label));
}

TEST(Layer, KnowsItsDeviceAfterCompile) {
  Graph graph;
  const auto layer = std::make_shared<ReLU>();
  const Tensor x = input({2, 3});
  const Tensor y = graph.node(layer, x);
  InferenceGraph inference({graph});
  inference.add_inputs({{"x", x}});
  inference.add_outputs({{"y", y}});
  EXPECT_EQ(layer->device_type(), std::nullopt);
  inference.compile(Device::null());
  EXPECT_EQ(layer->device_type(), DeviceType::Null);
}

TEST(Layer, OfALossKnowsItsDeviceToo) {
  Graph graph;
  const Tensor x = input({2, 3}), label = input({2, 3});
  const Tensor y = graph.node(std::make_shared<FullyConnected>(3, 3), x);
  const auto loss = std::make_shared<losses::MeanSquaredError>();
  TrainingGraph training({graph}, loss, nullptr);
  training.add_inputs({{"x", x}}, {{"label", label}});
  training.add_outputs({{"y", y}});
  EXPECT_EQ(loss->device_type(), std::nullopt);
  training.compile(Device::null());
  EXPECT_EQ(loss->device_type(), DeviceType::Null);
}

TEST(Layer, AnswersForDataTypes) {
  const Device cpu = Device::cpu();
  using enum DataType;
  EXPECT_TRUE(Convolution::supports_data_type(Float32, cpu));
  EXPECT_TRUE(Convolution::supports_data_type(Float16, cpu));
  EXPECT_FALSE(MaxPooling::supports_data_type(Int32, cpu));
  EXPECT_FALSE(Dropout::supports_data_type(Int32, cpu));
  EXPECT_TRUE(ReLU::supports_data_type(Float32, cpu));
  EXPECT_FALSE(losses::Huber::supports_data_type(Int32, cpu));
  EXPECT_TRUE(Selection::supports_data_type(Boolean, cpu));
  EXPECT_TRUE(Selection::supports_data_type(Float32, cpu));
  EXPECT_TRUE(Selection::supports_data_type(Int64, cpu));
  EXPECT_TRUE(Comparison::supports_data_type(Int64, cpu));
  EXPECT_TRUE(Reshape::supports_data_type(Int64, cpu));
  EXPECT_TRUE(Reshape::supports_data_type(BFloat16, cpu));
  EXPECT_TRUE(Layer::supports_data_type(Int64, cpu));
  EXPECT_TRUE(Layer::supports_data_type(Float16, cpu));
}

TEST(ActivationLayer, DefaultsPerType) {
  const auto expect = [](ActivationType type, float a, float b) {
    EXPECT_EQ(ActivationDescriptor(type), ActivationDescriptor(type, a, b, 1));
  };
  expect(ActivationType::ReLU, 0, 1);
  expect(ActivationType::Linear, 1, 0);
  expect(ActivationType::HardSigmoid, 0.2f, 0.5f);
  expect(ActivationType::HardShrink, 0.5f, 1);
  expect(ActivationType::SoftShrink, 0.5f, 1);
  expect(ActivationType::Tanh, 1, 1);
  expect(ActivationType::ELU, 1, 1);
}

TEST(ActivationLayer, NamedActivations) {
  using Type = ActivationType;
  expect_activation(layers::ReLU(), Type::ReLU, 0, 1, "ReLU");
  expect_activation(ReLU6(), Type::ReLUN, 0, 6, "ReLU6");
  expect_activation(LeakyReLU(), Type::ReLU, 0.01f, 1, "LeakyReLU");
  expect_activation(layers::ReLUN(0.1f, 4), Type::ReLUN, 0.1f, 4, "ReLUN");
  expect_activation(layers::Affine(2, 3), Type::Linear, 2, 3, "Affine");
  expect_activation(layers::Sigmoid(), Type::Sigmoid, 1, 1, "Sigmoid");
  expect_activation(layers::HardSigmoid(), Type::HardSigmoid, 0.2f, 0.5f,
                    "HardSigmoid");
  expect_activation(layers::Tanh(), Type::Tanh, 1, 1, "Tanh");
  expect_activation(layers::Absolute(), Type::Absolute, 1, 1, "Absolute");
  expect_activation(layers::SoftPlus(4), Type::SoftPlus, 0.25f, 4, "SoftPlus");
  expect_activation(layers::SoftSign(), Type::SoftSign, 1, 1, "SoftSign");
  expect_activation(layers::ELU(), Type::ELU, 1, 1, "ELU");
  expect_activation(layers::LogSigmoid(), Type::LogSigmoid, 1, 1, "LogSigmoid");
  expect_activation(layers::SELU(), Type::SELU, 1, 1, "SELU");
  expect_activation(layers::CELU(2), Type::CELU, 2, 1, "CELU");
  expect_activation(layers::HardShrink(), Type::HardShrink, 0.5f, 1,
                    "HardShrink");
  expect_activation(layers::SoftShrink(), Type::SoftShrink, 0.5f, 1,
                    "SoftShrink");
  expect_activation(layers::TanhShrink(), Type::TanhShrink, 1, 1, "TanhShrink");
  expect_activation(layers::Threshold(1, 2), Type::Threshold, 1, 2,
                    "Threshold");
  expect_activation(layers::GELU(), Type::GELU, 1, 1, "GELU");
  expect_activation(layers::GELU(true), Type::GELUTanh, 1, 1, "GELU");
  expect_activation(layers::HardSwish(), Type::HardSwish, 1, 1, "HardSwish");
  expect_activation(layers::Clamp(-1, 1), Type::Clamp, -1, 1, "Clamp");
  expect_activation(layers::SiLU(), Type::SiLU, 1, 1, "SiLU");
  expect_activation(layers::Mish(), Type::Mish, 1, 1, "Mish");
  EXPECT_EQ(shape_after(std::make_shared<layers::ReLU>(), {2, 3, 4}),
            (Shape{2, 3, 4}));
}

TEST(ActivationLayer, RefusesBadParameters) {
  EXPECT_THROW(layers::CELU(0), InvalidArgument);
  EXPECT_THROW(layers::HardShrink(-1), InvalidArgument);
  EXPECT_THROW(layers::SoftPlus(0), InvalidArgument);
  EXPECT_THROW(layers::ELU(1.0f / 0.0f), InvalidArgument);
  EXPECT_THROW(ActivationDescriptor(ActivationType{55}), InvalidArgument);
  const ErrorInfo info = error_of<InvalidArgument>([] { layers::Clamp(2, 1); });
  EXPECT_EQ(info.op, "Activation");
  EXPECT_EQ(info.expected, "at most b");
  EXPECT_EQ(info.got, "2 > 1");
}

TEST(ElementwiseLayers, ArityAndBroadcasting) {
  const Tensor x = input({2, 1, 4}), y = input({3, 1});
  EXPECT_EQ(
      apply(std::make_shared<Arithmetic>(ArithmeticOperation::Pow), {x, y})
          .shape(),
      (Shape{2, 3, 4}));
  EXPECT_EQ(apply(std::make_shared<Arithmetic>(ArithmeticOperation::Exp), {x})
                .shape(),
            (Shape{2, 1, 4}));
  EXPECT_THROW(
      apply(std::make_shared<Arithmetic>(ArithmeticOperation::Exp), {x, y}),
      InvalidArgument);
  EXPECT_THROW(Arithmetic(ArithmeticOperation{99}), InvalidArgument);

  const Tensor less =
      apply(std::make_shared<Comparison>(ComparisonOperation::Less), {x, y});
  EXPECT_EQ(less.descriptor(),
            (TensorDescriptor{{2, 3, 4}, DataType::Boolean}));
  const Tensor flag = input({4}, DataType::Boolean);
  EXPECT_EQ(apply(std::make_shared<Comparison>(ComparisonOperation::LogicalNOT),
                  {flag})
                .data_type(),
            DataType::Boolean);
  EXPECT_THROW(
      apply(std::make_shared<Comparison>(ComparisonOperation::LogicalNOT),
            {flag, flag}),
      InvalidArgument);
  EXPECT_EQ(apply(std::make_shared<Selection>(), {flag, x, y}).shape(),
            (Shape{2, 3, 4}));
  EXPECT_THROW(apply(std::make_shared<Selection>(), {x, x, y}), DTypeError);
}

TEST(SoftmaxLayer, DimensionsFromBothEnds) {
  EXPECT_EQ(shape_after(std::make_shared<Softmax>(), {2, 3}), (Shape{2, 3}));
  EXPECT_EQ(
      shape_after(std::make_shared<Softmax>(SoftmaxOperation::LogSoftmax, -1),
                  {2, 3, 4}),
      (Shape{2, 3, 4}));
  EXPECT_THROW(
      shape_after(std::make_shared<Softmax>(SoftmaxOperation::Softmax, 2),
                  {2, 3}),
      InvalidArgument);
}

TEST(FullyConnectedLayer, ShapesOfSources) {
  const auto make = [] { return std::make_shared<FullyConnected>(6, 4); };
  EXPECT_EQ(shape_after(make(), {5, 6}), (Shape{5, 4}));
  EXPECT_EQ(shape_after(make(), {5, 7, 6}), (Shape{5, 7, 4}));
  EXPECT_EQ(shape_after(make(), {5, 2, 3, 6}), (Shape{5, 2, 3, 4}));
  EXPECT_EQ(shape_after(make(), {5, 6, 1, 1}), (Shape{5, 4, 1, 1}));
  EXPECT_EQ(ops_of(make(), {5, 6}), std::vector{OpKind::MatMul});
  auto layer = make();
  layer->set_name("head");
  const ErrorInfo info =
      error_of<ShapeError>([&] { shape_after(layer, {5, 7}); });
  EXPECT_EQ(info.node, "head");
  EXPECT_EQ(info.expected, "(..., 6) or (N, 6, 1, 1)");
  EXPECT_EQ(info.got, "(5, 7)");
  EXPECT_THROW(shape_after(make(), {6}), ShapeError);
}

TEST(FullyConnectedLayer, Parameters) {
  const FullyConnected created(6, 4);
  EXPECT_EQ(created.weights().shape(), (Shape{4, 6}));
  EXPECT_EQ(created.weights().name(), "fully_connected.weights");
  EXPECT_EQ(created.biases().shape(), (Shape{4}));
  EXPECT_EQ(created.biases().floats()[3], 0);
  ASSERT_EQ(created.parameters().size(), 2u);
  created.parameters()[0].set_updatable(false);
  EXPECT_FALSE(created.weights_parameter().is_updatable());
  EXPECT_TRUE(created.biases_parameter().is_updatable());

  EXPECT_FALSE(FullyConnected(6, 4, {.uses_biases = false}).biases());
  EXPECT_TRUE(FullyConnected(input({4, 6})).biases());  // zeros
  EXPECT_FALSE(FullyConnected(input({4, 6}), {}, false).biases());
  EXPECT_TRUE(FullyConnected(input({4, 6}), input({4})).biases());
  // ML Compute's form and shapes.
  const ConvolutionDescriptor descriptor{.input_feature_channel_count = 6,
                                         .output_feature_channel_count = 4};
  for (const Shape& shape : {Shape{1, 24, 1, 1}, Shape{4, 6, 1, 1}}) {
    const auto layer = std::make_shared<FullyConnected>(
        descriptor,
        WeightOptions{.weights = input(shape), .biases = input({1, 4, 1, 1})});
    EXPECT_EQ(shape_after(layer, {2, 6}), (Shape{2, 4}));
  }
  const ErrorInfo info = error_of<ShapeError>(
      [] { FullyConnected(6, 4, {.weights = input({6, 4})}); });
  EXPECT_EQ(info.op, "FullyConnected");
  EXPECT_EQ(info.expected, "(4, 6) or (1, 24, 1, 1)");
  EXPECT_EQ(info.got, "(6, 4)");
  EXPECT_THROW(FullyConnected(input({24})), ShapeError);
  EXPECT_THROW(
      FullyConnected(6, 4, {.weights = input({4, 6}), .biases = input({5})}),
      ShapeError);
  EXPECT_THROW(FullyConnected(0, 4), InvalidArgument);
  EXPECT_THROW(FullyConnected(input({4, 6}, DataType::Int32)), DTypeError);
}

TEST(MatMulLayer, TransposesAndBroadcasts) {
  const Tensor x = input({3, 1, 5, 2}), y = input({4, 5, 6});
  const auto layer =
      std::make_shared<MatMul>(MatMulDescriptor{.transposes_x = true});
  EXPECT_EQ(apply(layer, {x, y}).shape(), (Shape{3, 4, 2, 6}));
  EXPECT_THROW(apply(std::make_shared<MatMul>(), {x, y}), ShapeError);
  EXPECT_THROW(MatMul(MatMulDescriptor{.alpha = 0.0f / 0.0f}), InvalidArgument);
}

TEST(BatchNormalizationLayer, ParametersAndStatistics) {
  const BatchNormalization created(3);
  EXPECT_EQ(created.mean().floats()[0], 0);
  EXPECT_EQ(created.variance().floats()[0], 1);
  EXPECT_EQ(created.beta().floats()[0], 0);
  EXPECT_EQ(created.gamma().floats()[0], 1);
  EXPECT_EQ(created.parameters().size(), 2u);
  EXPECT_EQ(created.statistics(),
            (std::vector{created.mean(), created.variance()}));
  EXPECT_FLOAT_EQ(created.momentum(), 0.99f);
  EXPECT_FLOAT_EQ(created.variance_epsilon(), 1e-5f);

  const auto plain = std::make_shared<BatchNormalization>(
      3, BatchNormalizationOptions{.mean = input({1, 3, 1, 1}),
                                   .variance = input({1, 3, 1, 1})});
  EXPECT_TRUE(plain->parameters().empty());
  EXPECT_FALSE(plain->beta());
  Graph graph;
  EXPECT_EQ(graph.node(plain, input({2, 3, 4, 4})).shape(),
            (Shape{2, 3, 4, 4}));
  // The op writes the statistics themselves, not a reshaped copy.
  EXPECT_EQ(graph.state()->program.nodes().size(), 1u);

  const auto gamma_only = std::make_shared<BatchNormalization>(
      3, BatchNormalizationOptions{.gamma = input({1, 3, 1, 1})});
  EXPECT_EQ(gamma_only->parameters().size(), 1u);
  EXPECT_TRUE(gamma_only->mean());
  EXPECT_EQ(shape_after(gamma_only, {2, 3}), (Shape{2, 3}));
  EXPECT_THROW(shape_after(std::make_shared<BatchNormalization>(3), {2, 4}),
               ShapeError);
}

TEST(BatchNormalizationLayer, RefusesBadOptions) {
  EXPECT_THROW(BatchNormalization(0), InvalidArgument);
  EXPECT_THROW(BatchNormalization(3, {.variance_epsilon = 0}), InvalidArgument);
  EXPECT_THROW(BatchNormalization(3, {.momentum = 1.5f}), InvalidArgument);
  const ErrorInfo info =
      error_of<ShapeError>([] { BatchNormalization(3, {.beta = input({4})}); });
  EXPECT_EQ(info.op, "BatchNormalization");
  EXPECT_EQ(info.expected, "(3) or (1, 3, 1, 1)");
}

TEST(DropoutLayer, StreamsAreDistinct) {
  Graph graph;
  const auto dropout = std::make_shared<Dropout>(0.25f, 9);
  Tensor h = graph.node(dropout, input({2, 3}));
  h = graph.node(dropout, h);
  EXPECT_EQ(h.shape(), (Shape{2, 3}));
  const Program& program = graph.state()->program;
  const auto& first = std::get<DropoutAttrs>(program.node(0).attrs);
  const auto& second = std::get<DropoutAttrs>(program.node(1).attrs);
  EXPECT_EQ(first.seed, 9);
  EXPECT_NE(first.stream, second.stream);
  EXPECT_EQ(program.node(0).inputs[1], program.node(1).inputs[1]);
  EXPECT_EQ(program.node(0).inputs[1], graph.state()->random_state);
  EXPECT_THROW(Dropout(1), InvalidArgument);
  EXPECT_THROW(Dropout(-0.1f), InvalidArgument);
}

TEST(LayoutLayers, Shapes) {
  EXPECT_EQ(shape_after(std::make_shared<Reshape>(Shape{-1, 6}), {4, 3, 2}),
            (Shape{4, 6}));
  EXPECT_THROW(Reshape(Shape{-1, -1}), InvalidArgument);
  EXPECT_THROW(Reshape(Shape{0, 2}), InvalidArgument);
  EXPECT_THROW(shape_after(std::make_shared<Reshape>(Shape{5}), {4}), Error);
  EXPECT_EQ(
      shape_after(std::make_shared<Transpose>(Shape{-1, 0, 1}), {4, 3, 2}),
      (Shape{2, 4, 3}));
  EXPECT_THROW(Transpose(Shape{0, 0}), InvalidArgument);
  EXPECT_EQ(shape_after(
                std::make_shared<Slice>(Shape{0, 1}, Shape{4, 6}, Shape{1, 2}),
                {4, 6}),
            (Shape{4, 3}));
  EXPECT_THROW(Slice(Shape{0}, Shape{1, 2}), InvalidArgument);
  EXPECT_THROW(
      apply(std::make_shared<Concatenation>(1), {input({2, 3}), input({3, 3})}),
      ShapeError);
  EXPECT_THROW(apply(std::make_shared<Concatenation>(1), {}), InvalidArgument);
  EXPECT_THROW(Split(0, 1), InvalidArgument);
  EXPECT_THROW(Split(Shape{1, 0}, 1), InvalidArgument);
  EXPECT_THROW(shape_after(std::make_shared<Split>(2, 5), {4, 4}),
               InvalidArgument);
}

TEST(PaddingLayer, ArrayForms) {
  EXPECT_EQ(shape_after(std::make_shared<ZeroPadding>(std::vector<int64_t>{2}),
                        {1, 1, 4, 5}),
            (Shape{1, 1, 8, 9}));
  const auto two =
      std::make_shared<ReflectionPadding>(std::vector<int64_t>{1, 3});
  EXPECT_EQ(two->padding_left(), 1);
  EXPECT_EQ(two->padding_right(), 3);
  EXPECT_EQ(shape_after(two, {1, 1, 4, 5}), (Shape{1, 1, 4, 9}));
  const auto four =
      std::make_shared<ConstantPadding>(std::vector<int64_t>{1, 2, 3, 4}, 7.0f);
  EXPECT_EQ(four->padding_top(), 1);
  EXPECT_EQ(four->padding_bottom(), 2);
  EXPECT_EQ(four->constant_value(), 7);
  EXPECT_EQ(shape_after(four, {4, 5}), (Shape{7, 12}));
  EXPECT_THROW(ZeroPadding({1, 2, 3}), InvalidArgument);
  EXPECT_THROW(ZeroPadding({-1}), InvalidArgument);
  // Reflect needs size < extent, Symmetric size <= extent.
  const std::vector<int64_t> width{0, 4};
  EXPECT_THROW(shape_after(std::make_shared<ReflectionPadding>(width), {1, 4}),
               Error);
  EXPECT_EQ(shape_after(std::make_shared<SymmetricPadding>(width), {1, 4}),
            (Shape{1, 8}));
  EXPECT_THROW(shape_after(std::make_shared<ZeroPadding>(width), {4}),
               ShapeError);
}

}  // namespace
}  // namespace traingraph
