// SPDX-License-Identifier: MIT
// What nodes and their graphs promise: the gradient calls, the walk backward,
// data sources and who updates them.
#include "nodes/node_check.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

constexpr ImageSize kSize{2, 4, 4};
const ConvolutionDescriptor kConv{.kernel_size = {3, 3},
                                  .input_feature_channels = 2,
                                  .output_feature_channels = 2};

TEST(GradientCalls, KeepTheirContracts) {
  const ImageNode x("x", kSize), y("y", kSize), g("g", kSize);
  const ReLUNode relu(x);
  EXPECT_EQ(relu.gradient_filter(g).class_name(), "ReLUGradientNode");
  EXPECT_EQ(relu.gradient_filter(std::vector{g}).forward_filter(), relu);
  EXPECT_EQ(relu.gradient_filters(g).size(), 1u);
  const AdditionNode sum(x, y);
  EXPECT_EQ(sum.gradient_filters(std::vector{g}).size(), 2u);
  EXPECT_TRUE(sum.gradient_filters(g)[1].is_secondary_source_filter());
  EXPECT_EQ(error_of<InvalidArgument>([&] { sum.gradient_filter(g); }).node,
            "AdditionNode");
  EXPECT_EQ(error_of<InvalidArgument>([&] {
              relu.gradient_filter(std::vector{g, g});
            }).node,
            "ReLUNode");
  const GradientFilterNode gradient = relu.gradient_filter(g);
  EXPECT_EQ(
      error_of<UnsupportedError>([&] { gradient.gradient_filter(g); }).node,
      "ReLUGradientNode");
  const LossNode loss(x, y, {});
  loss.set_name("mse");
  EXPECT_EQ(error_of<UnsupportedError>([&] { loss.gradient_filters(g); }).node,
            "mse");
  const ShapeError error = [&] {
    try {
      relu.gradient_filter(ImageNode("h", {2, 4, 5}));
    } catch (const ShapeError& e) {
      return e;
    }
    throw std::logic_error("no error");
  }();
  EXPECT_EQ(error.expected(), "(2, 4, 4)");
  EXPECT_EQ(error.got(), "(2, 4, 5)");
  EXPECT_EQ(
      error_of<InvalidArgument>([&] { relu.gradient_filter(ImageNode()); }).op,
      "ReLUGradientNode");
}

TEST(GradientCalls, OnlyWeightsCanBeExported) {
  const ImageNode x("x", kSize);
  const ReLUNode relu(x);
  EXPECT_EQ(relu.result_states().size(), 1u);
  EXPECT_EQ(error_of<UnsupportedError>([&] {
              relu.result_state().set_export_from_graph(true);
            }).node,
            "ReLUNode");
}

TEST(Sources, MustBeThere) {
  EXPECT_EQ(error_of<InvalidArgument>([] { ReLUNode{ImageNode()}; }).op,
            "ReLUNode");
  EXPECT_EQ(error_of<InvalidArgument>([] {
              ConvolutionNode(ImageNode("x", kSize), nullptr);
            }).op,
            "ConvolutionNode");
  EXPECT_EQ(error_of<InvalidArgument>([] { ImageNode("", kSize); }).op,
            "ImageNode");
  EXPECT_EQ(error_of<ShapeError>([] { ImageNode("x", {0, 1, 1}); }).node, "x");
}

// The walk backward.

/// y = relu(x) + x, through a loss.
struct Fork {
  ImageNode x{"x", kSize}, t{"t", kSize};
  ReLUNode relu{x};
  AdditionNode sum{relu.result_image(), x};
  LossNode loss{sum.result_image(), t, {}};
};

TEST(TrainingGraphOfNodes, AddsUpWhereAnImageHasSeveralReaders) {
  const Fork net;
  int gradients = 0, sums = 0;
  const auto leaves = net.loss.training_graph(
      {}, [&](const FilterNode& node, const FilterNode& of,
              const ImageNode& source, const ImageNode& gradient) {
        ++(of ? gradients : sums);
        EXPECT_EQ(node.result_image().size(), source.size());
        EXPECT_TRUE(gradient);
      });
  EXPECT_EQ(gradients, 3);
  EXPECT_EQ(sums, 1);
  ASSERT_EQ(leaves.size(), 1u);
  EXPECT_EQ(leaves[0].class_name(), "AdditionNode");
  leaves[0].result_image().set_handle("dx");
  Graph graph(test_device(), {leaves[0].result_image()}, {.batch_size = 2});
  EXPECT_EQ(graph.result_handles(),
            (std::vector<std::string>{"dx", "loss.loss"}));
  const Floats x = random_floats(64, 1), t = random_floats(64, 2);
  const Execution run = graph.execute({{"x", view(x)}, {"t", view(t)}});
  if (test_device().type() == DeviceType::Null) return;
  const Floats dx = floats_of(run.result().output("dx"));
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const double slope = x[i] > 0 ? 2 : 1;
    EXPECT_NEAR(dx[i], 2 * (slope * x[i] - t[i]) * slope, 1e-5);
  }
}

TEST(TrainingGraphOfNodes, StopsWhereAnImageSaysSo) {
  const Fork net;
  net.relu.result_image().set_stop_gradient(true);
  const auto leaves = net.loss.training_graph();
  ASSERT_EQ(leaves.size(), 2u);  // of relu's result, and of x
  EXPECT_EQ(leaves[0].class_name(), "AdditionGradientNode");
}

TEST(TrainingGraphOfNodes, WantsAGradientToBeginWith) {
  const Fork net;
  EXPECT_EQ(error_of<InvalidArgument>([&] { net.sum.training_graph(); }).node,
            "AdditionNode");
  EXPECT_EQ(net.sum.training_graph(ImageNode("g", kSize)).size(), 1u);
}

// Data sources.

/// A convolution and its gradients, for images of ones.
struct Trained {
  explicit Trained(OptimizerPtr optimizer, TrainingStyle style)
      : source(std::make_shared<GivenWeights>(kConv, 3, std::move(optimizer))) {
    node.set_training_style(style);
    node.set_name("conv");
    gradient.result_image().set_handle("dx");
  }
  Execution run(Graph& graph) const {
    const Floats ones(64, 1.0f);
    return graph.execute({{"x", view(ones)}, {"g", view(ones)}});
  }
  Graph graph() const {
    return Graph(test_device(), {gradient.result_image()}, {.batch_size = 2});
  }

  std::shared_ptr<GivenWeights> source =
      std::make_shared<GivenWeights>(kConv, 3);
  ImageNode x{"x", kSize}, g{"g", kSize};
  ConvolutionNode node{x, source};
  GradientFilterNode gradient = node.gradient_filter(g);
};

/// The number of products that each weight is in, for images and gradients of
/// ones. Sums over the batch of 2.
float count_of(std::size_t weight) {
  const std::size_t v = weight / 2 % 3, u = weight / 6 % 3;
  return 2.0f * (u == 1 ? 4 : 3) * (v == 1 ? 4 : 3);
}

TEST(DataSources, AreLoadedAndPurged) {
  const Trained net(nullptr, TrainingStyle::None);
  Graph graph = net.graph();
  EXPECT_EQ(net.source->num_loads, 1);
  EXPECT_EQ(net.source->num_purges, 1);
  if (test_device().type() != DeviceType::Null) {
    EXPECT_EQ(graph.weights(*net.source).weights, net.source->weight_values);
    EXPECT_EQ(graph.weights(*net.source).biases, net.source->bias_values);
  }
  net.source->weight_values[0] = 7;
  net.run(graph).wait();
  graph.reload_from_data_sources();
  EXPECT_EQ(net.source->num_loads, 2);
  if (test_device().type() == DeviceType::Null) return;
  EXPECT_EQ(graph.weights(*net.source).weights[0], 7);
  EXPECT_TRUE(graph.weights(GivenWeights(kConv, 1)).weights.empty());
}

TEST(DataSources, GradientsCanBeReadAndWeightsStay) {
  const Trained net(nullptr, TrainingStyle::None);
  net.node.result_state().set_export_from_graph(true);
  Graph graph = net.graph();
  EXPECT_EQ(graph.result_handles(),
            (std::vector<std::string>{"dx", "conv.biases", "conv.weights"}));
  const ExecutionResult run = net.run(graph).result();
  if (test_device().type() == DeviceType::Null) return;
  const Floats gradient = floats_of(run.output("conv.weights"));
  ASSERT_EQ(gradient.size(), 36u);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_EQ(gradient[i], count_of(i)) << i;
  }
  EXPECT_EQ(floats_of(run.output("conv.biases")), (Floats{32, 32}));
  EXPECT_EQ(graph.weights(*net.source).weights, net.source->weight_values);
}

TEST(DataSources, TheDeviceUpdatesByTheirOptimizer) {
  const Trained net(std::make_shared<optimizers::SGD>(0.125f),
                    TrainingStyle::GPU);
  Graph graph = net.graph();
  for (int step = 1; step <= 2; ++step) {
    net.run(graph).wait();
    if (test_device().type() == DeviceType::Null) return;
    const Floats weights = graph.weights(*net.source).weights;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      EXPECT_NEAR(weights[i],
                  net.source->weight_values[i] -
                      0.125f * static_cast<float>(step) * count_of(i),
                  1e-5);
    }
  }
  EXPECT_EQ(net.source->num_loads, 1);
}

TEST(DataSources, TheHostUpdatesBetweenRuns) {
  const Trained net(nullptr, TrainingStyle::CPU);
  const Floats before = net.source->weight_values;
  Graph graph = net.graph();
  const ExecutionResult run = net.run(graph).result();
  EXPECT_EQ(net.source->num_loads, 2);
  EXPECT_EQ(net.source->num_purges, 2);
  if (test_device().type() == DeviceType::Null) return;
  EXPECT_EQ(floats_of(run.output("conv.weights")),
            net.source->weight_gradients);
  EXPECT_EQ(graph.weights(*net.source).weights, net.source->weight_values);
  EXPECT_NEAR(net.source->weight_values[0], before[0] - 0.125f * count_of(0),
              1e-5);
  net.source->updates = false;
  EXPECT_EQ(error_of<DeviceError>([&] { net.run(graph); }).node, "conv");
  net.source->updates = true;
  net.run(graph).wait();
}

TEST(DataSources, FiltersMayShareOne) {
  const auto source = std::make_shared<GivenWeights>(
      kConv, 5, std::make_shared<optimizers::SGD>(1.0f));
  const ImageNode x("x", kSize), g("g", kSize);
  const ConvolutionNode first(x, source);
  const ConvolutionNode second(x, source);
  const AdditionNode sum(first.result_image(), second.result_image());
  const auto leaves = sum.training_graph(g);
  Graph graph(test_device(), {leaves[0].result_image()}, {.batch_size = 2});
  EXPECT_EQ(source->num_loads, 1);
  const Floats ones(64, 1.0f);
  graph.execute({{"x", view(ones)}, {"g", view(ones)}}).wait();
  if (test_device().type() == DeviceType::Null) return;
  const Floats weights = graph.weights(*source).weights;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(weights[i], source->weight_values[i] - 2 * count_of(i), 1e-4);
  }
}

TEST(DataSources, SayWhatIsMissing) {
  EXPECT_EQ(error_of<InvalidArgument>([] {
              Trained(nullptr, TrainingStyle::GPU).graph();
            }).node,
            "conv");
  const Trained wrong(nullptr, TrainingStyle::None);
  wrong.source->weight_values.pop_back();
  EXPECT_EQ(error_of<ShapeError>([&] { wrong.graph(); }).got, "35");
  EXPECT_EQ(wrong.source->num_purges, 1);
}

// Graphs.

TEST(NodeGraph, ResultsThatAreNotNeededAreLeftOut) {
  const Trained net(std::make_shared<optimizers::SGD>(0.125f),
                    TrainingStyle::GPU);
  Graph graph(test_device(), {net.gradient.result_image()},
              {.batch_size = 2, .results_are_needed = {false}});
  EXPECT_TRUE(graph.result_handles().empty());
  net.run(graph).wait();
  const auto has_input_gradient = [](const Graph& of) {
    return of.compiled().plan_description().find(
               "convolution_2d_input_gradient") != std::string::npos;
  };
  EXPECT_FALSE(has_input_gradient(graph));
  EXPECT_TRUE(has_input_gradient(net.graph()));
  if (test_device().type() == DeviceType::Null) return;
  EXPECT_NE(graph.weights(*net.source).weights, net.source->weight_values);
}

TEST(NodeGraph, RunsSmallerBatches) {
  const ImageNode x("x", kSize);
  const ReLUNode relu(x);
  Graph graph(test_device(), {relu.result_image()}, {.batch_size = 4});
  EXPECT_EQ(graph.source_image_handles(), (std::vector<std::string>{"x"}));
  const Floats one(32, 2.0f);
  ExecuteOptions options;
  options.batch_size = 1;
  const Execution run = graph.execute({{"x", view(one)}}, options);
  EXPECT_EQ(run.result().output("relu").data.size(), 32 * sizeof(float));
}

TEST(NodeGraph, ChecksItsArguments) {
  const ImageNode x("x", kSize), other("x", kSize);
  const ReLUNode relu(x);
  const auto refused = [](auto make) {
    return error_of<InvalidArgument>(make);
  };
  refused([&] { Graph(test_device(), {}); });
  refused([&] { Graph(test_device(), {x}); });
  refused([&] { Graph(test_device(), {ImageNode()}); });
  refused(
      [&] { Graph(test_device(), {relu.result_image()}, {.batch_size = 0}); });
  refused([&] {
    Graph(test_device(), {relu.result_image()},
          {.results_are_needed = {true, true}});
  });
  const AdditionNode sum(x, other);
  EXPECT_EQ(refused([&] { Graph(test_device(), {sum.result_image()}); }).got,
            "\"x\"");
}

TEST(NodeGraph, MayReadGradientsAgain) {
  // A filter behind a gradient: its ops are part of the gradient phase.
  const ImageNode x("x", kSize), g("g", kSize);
  const TanHNode tanh(x);
  const GradientFilterNode gradient = tanh.gradient_filter(g);
  const LinearNode twice(gradient.result_image(), 2);
  const GradientFilterNode of_twice = twice.gradient_filter(g);
  Graph graph(test_device(), {gradient.result_image(), twice.result_image(),
                              of_twice.result_image()});
  const Floats values = random_floats(32, 4);
  const ExecutionResult run =
      graph.execute({{"x", view(values)}, {"g", view(values)}}).result();
  if (test_device().type() == DeviceType::Null) return;
  const Floats once = floats_of(run.output("tanh_gradient"));
  const Floats doubled = floats_of(run.output("linear"));
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(doubled[i], 2 * once[i]);
  }
}

TEST(NodeGraph, ProfilesHaveARowForEachFilter) {
  const ImageNode x("x", kSize), t("t", kSize);
  const auto weights = std::make_shared<GivenWeights>(kConv, 3, sgd(0.1f));
  const ConvolutionNode conv(x, weights);
  conv.set_name("first");
  const ReLUNode relu(conv.result_image());
  const LossNode loss(relu.result_image(), t, {});
  std::vector<ImageNode> results;
  for (const FilterNode& leaf : loss.training_graph()) {
    results.push_back(leaf.result_image());
  }
  Graph graph(test_device(), results, {.batch_size = kBatch});
  const Floats data = random_floats(64, 1);
  const ExecutionResult result =
      graph
          .execute({{"x", view(data)}, {"t", view(data)}},
                   {.per_layer_profiling = true})
          .result();
  std::vector<std::string> rows;
  for (const LayerTime& time : result.layer_times()) {
    rows.push_back(time.layer);
    if (!computes()) continue;
    EXPECT_GT(time.forward + time.gradient, 0) << time.layer;
    if (time.layer == "first") {
      EXPECT_GT(time.gradient, 0);
    }
  }
  EXPECT_EQ(rows, (std::vector<std::string>{"first", "relu", "loss"}));
}

TEST(TrainableNodes, AreFoundAgainFromHandles) {
  const ImageNode x("x", kSize), g("g", kSize);
  const ConvolutionNode conv(x, std::make_shared<GivenWeights>(kConv, 3));
  const GradientFilterNode gradient = conv.gradient_filter(g);
  const TrainableNode again = TrainableNode::from(gradient.forward_filter());
  ASSERT_TRUE(again);
  again.set_training_style(TrainingStyle::None);
  EXPECT_EQ(conv.training_style(), TrainingStyle::None);
  EXPECT_FALSE(TrainableNode::from(gradient));
  EXPECT_FALSE(TrainableNode::from(ReLUNode(x)));
  EXPECT_FALSE(TrainableNode::from(FilterNode()));
}

}  // namespace
}  // namespace traingraph::nodes
