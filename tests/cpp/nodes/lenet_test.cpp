// SPDX-License-Identifier: MIT
// A small LeNet made of nodes has the loss and the gradients of the same
// network made of layers, and learns.
#include "nodes/node_check.h"
#include "traingraph/layers.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

constexpr std::int64_t kImages = 4, kSide = 8, kClasses = 3;
constexpr ImageSize kImage{1, kSide, kSide};

std::shared_ptr<GivenWeights> make_weights(Pair kernel, std::int64_t in,
                                           std::int64_t out, unsigned seed,
                                           const OptimizerPtr& optimizer) {
  auto weights = std::make_shared<GivenWeights>(
      ConvolutionDescriptor{.kernel_size = kernel,
                            .input_feature_channels = in,
                            .output_feature_channels = out},
      seed, optimizer);
  return weights;
}

/// The filters in front of the loss, and their data sources.
struct NodeNet {
  explicit NodeNet(const OptimizerPtr& optimizer = nullptr)
      : conv(make_weights({3, 3}, 1, 4, 1, optimizer)),
        hidden(make_weights({4, 4}, 4, 8, 2, optimizer)),
        classes(make_weights({1, 1}, 8, kClasses, 3, optimizer)) {}

  LossNode make(bool exports) {
    const ConvolutionNode first(image, conv);
    const ReLUNode relu(first.result_image());
    const PoolingMaxNode pool(relu.result_image(), {.kernel_size = {2, 2}});
    const FullyConnectedNode second(pool.result_image(), hidden);
    const ReLUNode relu2(second.result_image());
    const FullyConnectedNode third(relu2.result_image(), classes);
    const std::string names[] = {"conv", "hidden", "classes"};
    const TrainableNode nodes[] = {first, second, third};
    for (int i = 0; i < 3; ++i) {
      nodes[i].set_name(names[i]);
      if (!exports) continue;
      nodes[i].set_training_style(TrainingStyle::None);
      nodes[i].result_state().set_export_from_graph(true);
    }
    const LossNode loss(third.result_image(), labels,
                        {.type = LossType::SoftmaxCrossEntropy,
                         .reduction = ReductionType::Sum});
    loss.loss_image().set_handle("loss");
    return loss;
  }

  ImageNode image{"image", kImage}, labels{"labels", {kClasses, 1, 1}};
  std::shared_ptr<GivenWeights> conv, hidden, classes;
};

Graph compiled(const LossNode& loss) {
  std::vector<ImageNode> ends;
  for (const FilterNode& leaf : loss.training_graph()) {
    ends.push_back(leaf.result_image());
  }
  return {test_device(), ends, {.batch_size = kImages}};
}

/// (out, height, width, in) as (out, in, height, width), or back.
Floats reordered(const Floats& values, const ConvolutionDescriptor& d,
                 bool to_layers) {
  const std::int64_t in = d.input_feature_channels;
  const std::int64_t pixels = d.kernel_size[0] * d.kernel_size[1];
  Floats result(values.size());
  for (std::int64_t o = 0; o < d.output_feature_channels; ++o) {
    for (std::int64_t p = 0; p < pixels; ++p) {
      for (std::int64_t c = 0; c < in; ++c) {
        const auto of_nodes =
            static_cast<std::size_t>((o * pixels + p) * in + c);
        const auto of_layers =
            static_cast<std::size_t>((o * in + c) * pixels + p);
        if (to_layers) {
          result[of_layers] = values[of_nodes];
        } else {
          result[of_nodes] = values[of_layers];
        }
      }
    }
  }
  return result;
}

struct LayerNet {
  explicit LayerNet(const NodeNet& net) {
    Graph graph;
    const auto add = [&](LayerPtr layer, const Tensor& source) {
      return graph.node(std::move(layer), source);
    };
    const auto parameters = [&](const GivenWeights& given, const Shape& shape) {
      const Floats weights =
          reordered(given.weight_values, given.given, /*to_layers=*/true);
      WeightOptions options;
      options.weights = Tensor({shape}, view(weights));
      options.biases = Tensor({{shape[0]}}, view(given.bias_values));
      all.push_back(options.weights);
      all.push_back(options.biases);
      return options;
    };
    Tensor h = add(std::make_shared<layers::Convolution>(
                       traingraph::ConvolutionDescriptor{
                           .kernel_size = {3, 3},
                           .input_feature_channel_count = 1,
                           .output_feature_channel_count = 4},
                       parameters(*net.conv, {4, 1, 3, 3})),
                   image);
    h = add(std::make_shared<layers::ReLU>(), h);
    h = add(std::make_shared<layers::MaxPooling>(2), h);
    h = graph.reshape({kImages, -1}, h);
    h = add(std::make_shared<layers::FullyConnected>(
                64, 8, parameters(*net.hidden, {8, 64})),
            h);
    h = add(std::make_shared<layers::ReLU>(), h);
    add(std::make_shared<layers::FullyConnected>(
            8, kClasses, parameters(*net.classes, {kClasses, 8})),
        h);
    training = std::make_unique<TrainingGraph>(
        std::vector{graph},
        std::make_shared<losses::SoftmaxCrossEntropy>(
            traingraph::LossDescriptor{
                .loss_type = LossType::SoftmaxCrossEntropy,
                .reduction_type = ReductionType::Sum}),
        std::make_shared<optimizers::SGD>(0.1f));
    training->add_inputs({{"image", image}}, {{"labels", labels}});
    training->compile(test_device());
  }

  Tensor image{{{kImages, 1, kSide, kSide}}, "image"};
  Tensor labels{{{kImages, kClasses}}, "labels"};
  std::vector<Tensor> all;
  std::unique_ptr<TrainingGraph> training;

 private:
  using Graph = traingraph::Graph;
};

struct Data {
  Floats images = random_floats(kImages * kSide * kSide, 7);
  Floats labels = one_hot(kImages, kClasses);
  std::vector<NamedData> named() {
    return {{"image", view(images)}, {"labels", view(labels)}};
  }
};

/// The ops and numbers are the same: only sums may be in another order.
void expect_near(const Floats& got, const Floats& expected,
                 const std::string& name) {
  ASSERT_EQ(got.size(), expected.size()) << name;
  float scale = 0;
  for (const float value : expected) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], 1e-5f * scale) << name << " at " << i;
  }
}

TEST(LeNet, HasTheGradientsOfLayers) {
  NodeNet net;
  Graph graph = compiled(net.make(/*exports=*/true));
  Data data;
  const ExecutionResult result = graph.execute(data.named()).result();
  const LayerNet of_layers(net);
  const auto input = std::vector<NamedData>{{"image", view(data.images)}};
  const auto label = std::vector<NamedData>{{"labels", view(data.labels)}};
  const Execution forward = of_layers.training->execute_forward(input, label);
  const float loss = forward.result().loss();
  of_layers.training->execute_gradient().wait();
  if (test_device().type() == DeviceType::Null) return;
  float sum = 0;
  for (const float each : floats_of(result.output("loss"))) sum += each;
  EXPECT_NEAR(sum, loss, 1e-5f * loss);
  const std::pair<std::string, ConvolutionDescriptor> rows[] = {
      {"conv", net.conv->given},
      {"hidden", net.hidden->given},
      {"classes", net.classes->given}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& [name, descriptor] = rows[i];
    expect_near(
        floats_of(result.output(name + ".weights")),
        reordered(of_layers.training->gradient_data(of_layers.all[2 * i]),
                  descriptor, /*to_layers=*/false),
        name + ".weights");
    expect_near(floats_of(result.output(name + ".biases")),
                of_layers.training->gradient_data(of_layers.all[2 * i + 1]),
                name + ".biases");
  }
}

TEST(LeNet, Learns) {
  NodeNet net(std::make_shared<optimizers::Adam>(1e-2f));
  Graph graph = compiled(net.make(/*exports=*/false));
  Data data;
  Floats losses;
  for (int step = 0; step < 40; ++step) {
    const ExecutionResult result = graph.execute(data.named()).result();
    float sum = 0;
    for (const float each : floats_of(result.output("loss"))) sum += each;
    losses.push_back(sum);
  }
  if (test_device().type() == DeviceType::Null) return;
  // Four images by heart.
  EXPECT_LT(losses.back(), 0.05f * losses.front());
}

}  // namespace
}  // namespace traingraph::nodes
