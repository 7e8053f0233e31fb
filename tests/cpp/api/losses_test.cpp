// SPDX-License-Identifier: MIT
// Several losses in one graph: their sum, and each by its label.
#include <gtest/gtest.h>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;  // NOLINT: helpers of these tests

/// Two losses on x itself, which is trained by nobody: the values are known.
struct TwoLosses {
  explicit TwoLosses(ReductionType second = ReductionType::Mean,
                     float weight = 0.5f) {
    auto mse = std::make_shared<losses::MeanSquaredError>();
    mse->set_name("mse");
    auto mae = std::make_shared<losses::MeanAbsoluteError>(
        LossDescriptor{.reduction_type = second, .weight = weight});
    mae->set_name("mae");
    y = graph.node(std::make_shared<layers::Affine>(2.0f), x);
    graph.node(mse, y, {.loss_labels = {t}});
    graph.node(mae, y, {.loss_labels = {t}});
  }

  template <class G>
  G compiled(G g, const Device& device = test_device()) {
    g.add_inputs({{"x", x}}, {{"t", t}});
    g.add_outputs({{"y", y}});
    g.compile(device);
    return g;
  }
  TrainingGraph train(OptimizerPtr optimizer = nullptr) {
    return compiled(TrainingGraph({graph}, nullptr, std::move(optimizer)));
  }

  /// Returns the losses of the first `rows` samples; zeros where nothing is
  /// computed.
  Floats expected(int rows = 4) const {
    double squares = 0, differences = 0;
    for (int i = 0; i < 2 * rows; ++i) {
      const double e = 2.0 * x_data[i] - t_data[i];
      squares += e * e;
      differences += std::abs(e);
    }
    const double n = 2 * rows;
    return computed(Floats{static_cast<float>(squares / n),
                           static_cast<float>(0.5 * differences / n)});
  }
  void expect_losses(const ExecutionResult& result, int rows = 4) const {
    const Floats each = expected(rows);
    ASSERT_EQ(result.losses().size(), 2u);
    EXPECT_EQ(result.losses()[0].name, "mse");
    EXPECT_EQ(result.losses()[1].name, "mae");
    EXPECT_NEAR(result.loss("mse"), each[0], 1e-6f);
    EXPECT_NEAR(result.loss("mae"), each[1], 1e-6f);
    ASSERT_TRUE(result.has_loss());
    EXPECT_NEAR(result.loss(), each[0] + each[1], 2e-6f);
    ASSERT_TRUE(result.result());
    EXPECT_EQ(result.result()->descriptor.shape, (Shape{1}));
    EXPECT_NEAR(floats_of(*result.result())[0], each[0] + each[1], 2e-6f);
  }

  Tensor x{{.shape = {4, 2}}, "x"}, t{{.shape = {4, 2}}, "t"}, y;
  Graph graph;
  Floats x_data = random_floats(8, 1), t_data = random_floats(8, 2);
  std::vector<NamedData> inputs{{"x", view(std::as_const(x_data))}};
  std::vector<NamedData> labels{{"t", view(std::as_const(t_data))}};
};

TEST(Losses, OfAStepAreSummed) {
  TwoLosses two;
  TrainingGraph g = two.compiled(TrainingGraph({two.graph}));
  // Something must start a gradient: the losses do, though nothing is trained.
  two.expect_losses(g.execute(two.inputs, two.labels).result());
  two.expect_losses(
      g.execute(two.inputs, two.labels, {}, {.batch_size = 3}).result(), 3);
  two.expect_losses(g.execute(two.inputs, two.labels).result());
  EXPECT_FALSE(floats_of(g.execute(two.inputs, two.labels).result().output("y"))
                   .empty());
}

TEST(Losses, OfPhasesAndInference) {
  TwoLosses two;
  TrainingGraph g = two.train();
  two.expect_losses(g.execute_forward(two.inputs, two.labels).result());
  const ExecutionResult gradient = g.execute_gradient().result();
  EXPECT_TRUE(gradient.losses().empty());
  EXPECT_FALSE(gradient.has_loss());
  two.expect_losses(
      g.execute(two.inputs, two.labels, {}, {.forward_for_inference = true})
          .result());
  const ExecutionResult without =
      g.execute(two.inputs, {}, {}, {.forward_for_inference = true}).result();
  EXPECT_TRUE(without.losses().empty());
  EXPECT_FALSE(without.has_loss());

  InferenceGraph inference = two.compiled(InferenceGraph({two.graph}));
  two.expect_losses(
      inference.execute(two.inputs, two.labels, DataList{}).result());
}

TEST(Losses, WithoutReductionAreNoNumbers) {
  TwoLosses two(ReductionType::None);
  TrainingGraph g = two.train();
  const ExecutionResult result = g.execute(two.inputs, two.labels).result();
  EXPECT_FALSE(result.has_loss());
  const ErrorInfo info = error_of<StateError>([&] { (void)result.loss(); });
  EXPECT_EQ(info.node, "mae");
  EXPECT_NE(info.got.find("(4, 2)"), std::string::npos) << info.got;
  EXPECT_NEAR(result.loss("mse"), two.expected()[0], 1e-6f);
  EXPECT_THROW((void)result.loss("mae"), StateError);
  ASSERT_EQ(result.losses().size(), 2u);
  EXPECT_EQ(result.losses()[1].descriptor.shape, (Shape{4, 2}));
  EXPECT_EQ(result.result()->descriptor.shape, (Shape{4, 2}));
}

TEST(Losses, AnUnknownLabelListsThem) {
  TwoLosses two;
  TrainingGraph g = two.train();
  const ExecutionResult result = g.execute(two.inputs, two.labels).result();
  const ErrorInfo info =
      error_of<InvalidArgument>([&] { (void)result.loss("huber"); });
  EXPECT_EQ(info.expected, "\"mse\", \"mae\"");
}

TEST(Losses, OneHasItsLabelToo) {
  Linear net;
  TrainingGraph g = net.train(sgd(0.1f));
  const ExecutionResult result = g.execute(net.inputs, net.labels).result();
  ASSERT_EQ(result.losses().size(), 1u);
  EXPECT_EQ(result.losses()[0].name, "mean_squared_error");
  EXPECT_EQ(result.loss("mean_squared_error"), result.loss());
}

TEST(Losses, OfGraphObjectsAndTheLossLayer) {
  TwoLosses two;
  Graph second;
  auto layer =
      std::make_shared<losses::MeanSquaredError>(LossDescriptor{.weight = 2});
  const Tensor z = second.node(std::make_shared<layers::ReLU>(), two.y);
  second.node(layer, z, {.loss_labels = {two.t}});
  second.node(layer, two.y, {.loss_labels = {two.t}});
  second.node(std::make_shared<losses::MeanSquaredError>(), two.y,
              {.loss_labels = {two.t}});
  second.node(std::make_shared<layers::Affine>(1.0f), two.y);
  TrainingGraph g = two.compiled(TrainingGraph(
      {two.graph, second}, std::make_shared<losses::MeanSquaredError>()));
  const ExecutionResult result = g.execute(two.inputs, two.labels).result();
  std::vector<std::string> names;
  double sum = 0;
  for (const OutputView& loss : result.losses()) {
    names.emplace_back(loss.name);
    sum += floats_of(loss)[0];
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{
                "mse", "mae", "mean_squared_error", "mean_squared_error:2",
                "mean_squared_error_2", "mean_squared_error_3"}));
  const float mse = two.expected()[0];
  EXPECT_NEAR(result.loss("mean_squared_error:2"), 2 * mse, 1e-5f);
  EXPECT_NEAR(result.loss("mean_squared_error_2"), mse, 1e-5f);
  EXPECT_NEAR(result.loss("mean_squared_error_3"), mse, 1e-5f);
  EXPECT_NEAR(result.loss(), sum, 1e-5);
}

TEST(Losses, WeightsOfTheLayerAreNotDropped) {
  Linear net;
  const Tensor weights = Tensor::filled({.shape = {4, 2}}, 2, "own");
  const Tensor declared({.shape = {4, 2}}, "declared");
  const auto make = [&] {
    return TrainingGraph(
        {net.graph},
        std::make_shared<losses::MeanSquaredError>(LossDescriptor{}, weights));
  };
  TrainingGraph refused = make();
  refused.add_inputs({{"x", net.x}}, {{"label", net.label}},
                     {{"weights", declared}});
  EXPECT_THROW(refused.compile(test_device()), InvalidArgument);
  TrainingGraph same = make();
  same.add_inputs({{"x", net.x}}, {{"label", net.label}},
                  {{"weights", weights}});
  EXPECT_NO_THROW(same.compile(test_device()));
}

}  // namespace
}  // namespace traingraph
