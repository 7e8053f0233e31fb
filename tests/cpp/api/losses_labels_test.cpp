// SPDX-License-Identifier: MIT
// Labels of losses through the public API: indices of classes, weights of
// classes, what is ignored, shapes that differ in axes of size 1, and the YOLO
// loss as loss of a training graph.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;  // NOLINT: helpers of these tests

using Names = std::vector<std::int32_t>;

TensorData bytes(const Names& names) {
  return {static_cast<const void*>(names.data()),
          names.size() * sizeof(std::int32_t)};
}

/// Logits that are a parameter, so that their gradient is one.
struct Classifier {
  explicit Classifier(Shape label_shape, DataType type = DataType::Int32)
      : label({label_shape, type}, "label") {
    layer = std::make_shared<layers::FullyConnected>(
        Tensor({{3, 3}}, view(identity), "w"), Tensor());
    y = graph.node(layer, x);
  }
  TrainingGraph train(std::shared_ptr<losses::Loss> loss) {
    TrainingGraph t({graph}, std::move(loss));
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.compile(test_device(), {.compute_all_gradients = true});
    return t;
  }
  double negative_log_likelihood(int row, int name) const {
    double sum = 0;
    for (int c = 0; c < 3; ++c) sum += std::exp(x_data[row * 3 + c]);
    return std::log(sum) - x_data[row * 3 + name];
  }

  Floats identity{1, 0, 0, 0, 1, 0, 0, 0, 1};
  Floats x_data = random_floats(12, 3);
  Tensor x{{{4, 3}}, "x"}, label, y;
  std::shared_ptr<layers::FullyConnected> layer;
  Graph graph;
  std::vector<NamedData> inputs{{"x", view(std::as_const(x_data))}};
};

TEST(LossLabels, MayNameClasses) {
  Classifier net({4});
  TrainingGraph t = net.train(std::make_shared<losses::SoftmaxCrossEntropy>());
  const Names names{2, -100, 0, 1};
  const float loss =
      t.execute_forward(net.inputs, {{"label", bytes(names)}}).result().loss();
  if (computes()) {
    const double sum = net.negative_log_likelihood(0, 2) +
                       net.negative_log_likelihood(2, 0) +
                       net.negative_log_likelihood(3, 1);
    EXPECT_NEAR(loss, sum / 3, 1e-6);
  }
  t.execute_gradient().wait();
  const Floats gradient = read(t.gradient_tensor(net.x));
  // The second sample has no label.
  for (int c = 0; c < 3; ++c) EXPECT_EQ(gradient[3 + c], 0);
}

TEST(LossLabels, OfClassesThatWeigh) {
  Classifier net({4, 1});
  Floats weights{0.5f, 2, 1};
  TrainingGraph t = net.train(std::make_shared<losses::SoftmaxCrossEntropy>(
      LossDescriptor{.ignore_index = 1}, Tensor(),
      Tensor({{3}}, view(weights), "class_weights", std::nullopt)));
  const Names names{2, 1, 0, 0};
  const float loss =
      t.execute_forward(net.inputs, {{"label", bytes(names)}}).result().loss();
  if (!computes()) return;
  const double sum = net.negative_log_likelihood(0, 2) +
                     0.5 * net.negative_log_likelihood(2, 0) +
                     0.5 * net.negative_log_likelihood(3, 0);
  EXPECT_NEAR(loss, sum / 2, 1e-6);
}

TEST(LossLabels, ThatAreAllIgnoredGiveNoGradient) {
  Classifier net({4});
  TrainingGraph t = net.train(std::make_shared<losses::SoftmaxCrossEntropy>());
  const Names names(4, -100);
  const float loss =
      t.execute_forward(net.inputs, {{"label", bytes(names)}}).result().loss();
  EXPECT_EQ(std::isnan(loss), computes()) << loss;
  t.execute_gradient().wait();
  EXPECT_EQ(read(t.gradient_tensor(net.x)), Floats(12, 0));
}

TEST(LossLabels, OutsideOfTheClassesAreRefused) {
  Classifier net({4});
  TrainingGraph t = net.train(std::make_shared<losses::SoftmaxCrossEntropy>());
  for (const std::int32_t bad : {3, -1}) {
    const Names names{0, bad, -100, 1};
    const ErrorInfo error = error_of<InvalidArgument>(
        [&] { t.execute_forward(net.inputs, {{"label", bytes(names)}}); });
    EXPECT_EQ(error.node, "label");
    EXPECT_EQ(error.expected, "0 to 2, or -100");
    EXPECT_EQ(error.got, std::to_string(bad));
  }
}

TEST(LossLabels, OfSmallerBatches) {
  Classifier net({4});
  TrainingGraph t = net.train(std::make_shared<losses::SoftmaxCrossEntropy>());
  const Names names{1, 2, 0, 0};
  const float loss = t.execute_forward(net.inputs, {{"label", bytes(names)}},
                                       {}, {.batch_size = 2})
                         .result()
                         .loss();
  if (!computes()) return;
  const double sum =
      net.negative_log_likelihood(0, 1) + net.negative_log_likelihood(1, 2);
  EXPECT_NEAR(loss, sum / 2, 1e-6);
}

/// The loss of a prediction (4, 3) with `ones` axes of size 1 behind.
float loss_with(Shape label_shape, Shape prediction,
                const std::shared_ptr<losses::Loss>& loss) {
  Classifier net(label_shape, DataType::Float32);
  if (prediction.rank() > 2) net.y = net.graph.reshape(prediction, net.y);
  TrainingGraph t = net.train(loss);
  const Floats labels = one_hot(4, 3);
  return t.execute_forward(net.inputs, {{"label", view(labels)}})
      .result()
      .loss();
}

TEST(LossLabels, MayLackAxesOfSizeOne) {
  const auto softmax = [] {
    return std::make_shared<losses::SoftmaxCrossEntropy>();
  };
  const auto squares = [] {
    return std::make_shared<losses::MeanSquaredError>();
  };
  const float plain = loss_with({4, 3}, {4, 3}, softmax());
  EXPECT_EQ(loss_with({4, 3}, {4, 3, 1, 1}, softmax()), plain);
  EXPECT_EQ(loss_with({4, 3, 1, 1}, {4, 3}, softmax()), plain);
  const float error = loss_with({4, 3}, {4, 3}, squares());
  EXPECT_EQ(loss_with({4, 3}, {4, 3, 1, 1}, squares()), error);
  EXPECT_EQ(loss_with({4, 3, 1, 1}, {4, 3}, squares()), error);
}

TEST(LossLabels, DeclaredWeightsKeepThoseOfClasses) {
  Classifier net({4});
  Floats classes{0.5f, 2, 1};
  const Tensor weights({{4}}, "weights");
  TrainingGraph t(
      {net.graph},
      std::make_shared<losses::SoftmaxCrossEntropy>(
          LossDescriptor{.reduction_type = ReductionType::Sum}, Tensor(),
          Tensor({{3}}, view(classes), "classes", std::nullopt)));
  t.add_inputs({{"x", net.x}}, {{"label", net.label}}, {{"weights", weights}});
  t.compile(test_device(), {.compute_all_gradients = true});
  const Names names{2, 1, 0, 0};
  const Floats each{1, 0, 3, 0.5f};
  const float loss = t.execute_forward(net.inputs, {{"label", bytes(names)}},
                                       {{"weights", view(each)}})
                         .result()
                         .loss();
  if (!computes()) return;
  EXPECT_NEAR(loss,
              net.negative_log_likelihood(0, 2) +
                  1.5 * net.negative_log_likelihood(2, 0) +
                  0.25 * net.negative_log_likelihood(3, 0),
              1e-5);
}

/// One cell, one anchor of 2 x 4 cells, two classes.
struct Detector {
  Tensor x{{{1, 7, 1, 1}}, "x"}, label{{{1, 7, 1, 1}}, "label"};
  Graph graph;
  TrainingGraph train(YOLOLossDescriptor descriptor) {
    graph.node(std::make_shared<layers::Affine>(1.0f), x);
    TrainingGraph t({graph}, std::make_shared<losses::YOLOLoss>(descriptor));
    t.add_inputs({{"x", x}}, {{"label", label}});
    t.compile(test_device(), {.compute_all_gradients = true});
    return t;
  }
};

TEST(YOLOLoss, IsALossOfTrainingGraphs) {
  Detector net;
  TrainingGraph t = net.train({.anchor_boxes = {{2, 4}}});
  // The box of the prediction has the centre and half the width of the label's.
  const float half = -std::log(2.0f);
  const Floats x{0, 0, half, 0, 0, 1, 0}, label{0.5f, 0.5f, 0, 0, 1, 1, 0};
  const auto result =
      t.execute_forward({{"x", view(x)}}, {{"label", view(label)}}).result();
  t.execute_gradient().wait();
  const Floats gradient = read(t.gradient_tensor(net.x));
  if (!computes()) return;
  const double entropy = std::log(1 + std::exp(-1.0));
  // The overlap is a half: the confidence of 0.5 is right.
  EXPECT_NEAR(floats_of(*result.result())[0],
              10 * 0.5 * half * half + 100 * std::log(2.0) + 2 * entropy, 1e-4);
  const double share = 1 / (1 + std::exp(-1.0));
  expect_near(gradient,
              Doubles{0, 0, 10 * half, 0, 0, 2 * (share - 1), 2 * (1 - share)},
              1e-5);
}

TEST(YOLOLoss, OfACellWithoutObject) {
  Detector net;
  TrainingGraph t = net.train({.anchor_boxes = {{2, 4}}});
  const Floats x{1, 2, 3, 4, 0, 1, 0}, label(7, 0);
  const auto result =
      t.execute_forward({{"x", view(x)}}, {{"label", view(label)}}).result();
  t.execute_gradient().wait();
  const Floats gradient = read(t.gradient_tensor(net.x));
  if (!computes()) return;
  EXPECT_NEAR(floats_of(*result.result())[0], 5 * std::log(2.0), 1e-5);
  expect_near(gradient, Doubles{0, 0, 0, 0, 2.5, 0, 0}, 1e-6);
}

TEST(YOLOLoss, RefusesBadDescriptorsAndWeights) {
  using D = YOLOLossDescriptor;
  const auto refused = [](const D& descriptor) {
    EXPECT_THROW(losses::YOLOLoss{descriptor}, InvalidArgument);
  };
  refused({});
  refused({.anchor_boxes = {{1, 0}}});
  refused({.anchor_boxes = {{1, 1}}, .scale_class_loss = -1});
  refused({.anchor_boxes = {{1, 1}}, .minimum_iou_for_object_presence = 1.5f});
  refused({.anchor_boxes = {{1, 1}}, .maximum_iou_for_object_absence = 0.8f});
  Detector net;
  net.graph.node(std::make_shared<layers::Affine>(1.0f), net.x);
  TrainingGraph t({net.graph}, std::make_shared<losses::YOLOLoss>(
                                   D{.anchor_boxes = {{2, 4}}}));
  t.add_inputs({{"x", net.x}}, {{"label", net.label}},
               {{"weights", Tensor({{1}}, "weights")}});
  const ErrorInfo error =
      error_of<InvalidArgument>([&] { t.compile(test_device()); });
  EXPECT_NE(error.what.find("no weights"), std::string::npos) << error.what;
}

}  // namespace
}  // namespace traingraph
