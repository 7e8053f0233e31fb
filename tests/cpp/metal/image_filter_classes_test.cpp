// SPDX-License-Identifier: MIT
// Each filter that MPSNN is said to run, and its gradients, are encoded as the
// node of MPSNN that this table names: nothing falls back unseen.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "metal/gpu_test.h"
#include "traingraph/nodes.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

constexpr std::int64_t kImages = 2;

struct Weights final : ConvolutionDataSource {
  explicit Weights(ConvolutionDescriptor d)
      : numbers(random_floats(
            d.output_feature_channels * d.kernel_size[0] * d.kernel_size[1] *
                (d.is_depthwise ? 1 : d.input_feature_channels),
            1)),
        described(d) {}
  ConvolutionDescriptor descriptor() const override { return described; }
  std::span<const float> weights() override { return numbers; }
  Floats numbers;
  ConvolutionDescriptor described;
};

struct Normalization final : NormalizationDataSource {
  std::int64_t feature_channels() const override { return 8; }
  std::int64_t groups() const override { return 2; }
  float epsilon() const override { return 1e-3f; }
};

struct FilterCase {
  std::function<FilterNode(const ImageNode&)> make;
  const char* forward;
  const char* gradient = nullptr;  // null: it has none on MPSNN
  int num_gradients = 1;           // of all sources
};

template <class Node, class... Arguments>
std::function<FilterNode(const ImageNode&)> of(Arguments... arguments) {
  return
      [=](const ImageNode& x) -> FilterNode { return Node(x, arguments...); };
}

template <class Node>
std::function<FilterNode(const ImageNode&)> trained(
    const ConvolutionDescriptor& descriptor) {
  return [=](const ImageNode& x) -> FilterNode {
    const Node node(x, std::make_shared<Weights>(descriptor));
    node.set_training_style(TrainingStyle::None);
    return node;
  };
}

template <class Node>
std::function<FilterNode(const ImageNode&)> normalization() {
  return [](const ImageNode& x) -> FilterNode {
    const Node node(x, std::make_shared<Normalization>());
    node.set_training_style(TrainingStyle::None);
    return node;
  };
}

/// The sources are the image and what a sigmoid makes of it.
template <class Node>
std::function<FilterNode(const ImageNode&)> of_two() {
  return [](const ImageNode& x) -> FilterNode {
    return Node(x, SigmoidNode(x).result_image());
  };
}

std::vector<FilterCase> layers() {
  const PoolingOptions window{.kernel_size = {2, 2}, .strides = {1, 1}};
  const ConvolutionDescriptor square{.kernel_size = {3, 3},
                                     .input_feature_channels = 8,
                                     .output_feature_channels = 8};
  ConvolutionDescriptor depthwise = square, whole = square;
  depthwise.is_depthwise = true;
  whole.kernel_size = {4, 4};
  return {
      {trained<ConvolutionNode>(square), "MPSCNNConvolutionNode",
       "MPSCNNConvolutionGradientNode"},
      {trained<ConvolutionNode>(depthwise), "MPSCNNConvolutionNode",
       "MPSCNNConvolutionGradientNode"},
      {trained<FullyConnectedNode>(whole), "MPSCNNFullyConnectedNode",
       "MPSCNNFullyConnectedGradientNode"},
      {normalization<BatchNormalizationNode>(), "MPSCNNBatchNormalizationNode",
       "MPSCNNBatchNormalizationGradientNode"},
      {normalization<InstanceNormalizationNode>(),
       "MPSCNNInstanceNormalizationNode",
       "MPSCNNInstanceNormalizationGradientNode"},
      {normalization<GroupNormalizationNode>(), "MPSCNNGroupNormalizationNode",
       "MPSCNNGroupNormalizationGradientNode"},
      {of<PoolingMaxNode>(window), "MPSCNNPoolingMaxNode",
       "MPSCNNPoolingMaxGradientNode"},
      {of<DilatedPoolingMaxNode>(window), "MPSCNNDilatedPoolingMaxNode",
       "MPSCNNDilatedPoolingMaxGradientNode"},
      {of<PoolingAverageNode>(window), "MPSCNNPoolingAverageNode",
       "MPSCNNPoolingAverageGradientNode"},
      {of<PoolingL2NormNode>(window), "MPSCNNPoolingL2NormNode",
       "MPSCNNPoolingL2NormGradientNode"},
      {of<SoftMaxNode>(), "MPSCNNSoftMaxNode", "MPSCNNSoftMaxGradientNode"},
      {of<LogSoftMaxNode>(), "MPSCNNLogSoftMaxNode",
       "MPSCNNLogSoftMaxGradientNode"},
      // Their gradients are misprinted.
      {of<CrossChannelNormalizationNode>(),
       "MPSCNNCrossChannelNormalizationNode"},
      {of<SpatialNormalizationNode>(), "MPSCNNSpatialNormalizationNode"},
  };
}

std::vector<FilterCase> structure() {
  return {
      {of_two<AdditionNode>(), "MPSNNAdditionNode", "MPSNNAdditionGradientNode",
       2},
      {of_two<SubtractionNode>(), "MPSNNSubtractionNode",
       "MPSNNSubtractionGradientNode", 2},
      {of_two<MultiplicationNode>(), "MPSNNMultiplicationNode",
       "MPSNNMultiplicationGradientNode", 2},
      {of_two<DivisionNode>(), "MPSNNDivisionNode"},
      {[](const ImageNode& x) -> FilterNode {
         return ConcatenationNode({x, TanHNode(x).result_image()});
       },
       "MPSNNConcatenationNode", "MPSNNConcatenationGradientNode", 2},
      {of<ReshapeNode>(ImageSize{8, 2, 8}), "MPSNNReshapeNode",
       "MPSNNReshapeGradientNode"},
      {of<PadNode>(PadNode::Sizes{0, 1, 2}, PadNode::Sizes{0, 2, 1},
                   ImageEdgeMode::Clamp),
       "MPSNNPadNode", "MPSNNPadGradientNode"},
      {of<ReductionNode>(ImageReduction::SpatialMean),
       "MPSNNReductionSpatialMeanNode",
       "MPSNNReductionSpatialMeanGradientNode"},
      {of<UpsamplingNearestNode>(2, 3), "MPSCNNUpsamplingNearestNode",
       "MPSCNNUpsamplingNearestGradientNode"},
      {of<UpsamplingBilinearNode>(2, 2, true), "MPSCNNUpsamplingBilinearNode",
       "MPSCNNUpsamplingBilinearGradientNode"},
      {of<GramMatrixCalculationNode>(0.5f), "MPSNNGramMatrixCalculationNode",
       "MPSNNGramMatrixCalculationGradientNode"},
      {[](const ImageNode& x) -> FilterNode {
         return ForwardLossNode(x, SigmoidNode(x).result_image(),
                                {.reduction = ReductionType::Sum});
       },
       "MPSNNForwardLossNode", "MPSNNLossGradientNode"},
  };
}

class ImageFilterClasses : public GpuTest {
 protected:
  using Runs = std::map<std::string, long>;

  static long runs_of(const Runs& runs, const char* name) {
    const auto found = runs.find(name);
    return found == runs.end() ? 0 : found->second;
  }

  /// Asks for the result, and for the gradients of `count` sources.
  static void run(const FilterCase& filter, int count) {
    const ImageNode x("x", {8, 4, 4});
    const FilterNode node = filter.make(x);
    node.result_image().set_handle("y");
    std::vector<ImageNode> results{node.result_image()};
    const ImageNode g("g", node.result_image().size());
    std::vector<GradientFilterNode> gradients;
    if (count > 0) gradients = node.gradient_filters(g);
    for (int i = 0; i < count; ++i) {
      results.push_back(gradients[i].result_image());
      results.back().set_handle("d" + std::to_string(i));
    }
    Graph graph(Device::gpu(), results, {.batch_size = kImages});
    for (const UnitSpan& unit : graph.compiled().report().units) {
      EXPECT_GT(unit.image_copies, 0) << unit.name;
    }
    const auto size = [](const ImageNode& image) {
      const ImageSize s = image.size();
      return kImages * s.feature_channels * s.height * s.width;
    };
    const Floats x_data = random_floats(size(x), 3);
    const Floats g_data = random_floats(size(g), 4);
    std::vector<NamedData> data{{"x", view(x_data)}};
    if (count > 0) data.push_back({"g", view(g_data)});
    graph.execute(DataList(data)).wait();
    emulator::wait_until_idle();
  }

  static void check(const std::vector<FilterCase>& filters) {
    const long unread = emulator::counters().unread_temporaries;
    for (const FilterCase& filter : filters) {
      SCOPED_TRACE(filter.forward);
      const Runs before = emulator::filter_runs();
      const int count = filter.gradient ? filter.num_gradients : 0;
      run(filter, count);
      const Runs after = emulator::filter_runs();
      EXPECT_EQ(runs_of(after, filter.forward),
                runs_of(before, filter.forward) + 1);
      if (!filter.gradient) continue;
      EXPECT_EQ(runs_of(after, filter.gradient),
                runs_of(before, filter.gradient) + count);
    }
    emulator::wait_until_idle();
    EXPECT_EQ(emulator::counters().unread_temporaries, unread);
  }
};

TEST_F(ImageFilterClasses, Layers) { check(layers()); }

TEST_F(ImageFilterClasses, Structure) { check(structure()); }

TEST_F(ImageFilterClasses, Neurons) {
  using enum NeuronType;
  std::vector<NeuronDescriptor> all{{.type = Absolute},
                                    {.type = GeLU},
                                    {.type = Sigmoid},
                                    {.type = SoftSign},
                                    {.type = PReLU}};
  all.back().prelu_data.assign(8, 0.5f);
  for (const NeuronType type : {ReLU, ELU}) all.push_back({type, 0.5f});
  for (const NeuronType type : {Linear, HardSigmoid, TanH, SoftPlus, ReLUN}) {
    all.push_back({type, 0.5f, 1});
  }
  for (const NeuronType type : {Power, Exponential, Logarithm}) {
    all.push_back({type, 0.5f, 1, 2});
  }
  for (const NeuronDescriptor& d : all) {
    SCOPED_TRACE(to_string(d.type));
    const Runs before = emulator::filter_runs();
    run({of<NeuronNode>(d), "MPSCNNNeuronNode"}, 1);
    const Runs after = emulator::filter_runs();
    EXPECT_EQ(runs_of(after, "MPSCNNNeuronGradientNode"),
              runs_of(before, "MPSCNNNeuronGradientNode") + 1);
  }
}

TEST_F(ImageFilterClasses, Losses) {
  const ImageNode x("x", {8, 1, 1}), t("t", {8, 1, 1});
  const LossNode loss(
      x, t,
      {.type = LossType::SoftmaxCrossEntropy, .reduction = ReductionType::Sum});
  const ForwardLossNode forward(x, t, {.reduction = ReductionType::Sum});
  const InitialGradientNode ones(forward.result_image());
  std::vector<ImageNode> ends{
      loss.result_image(),
      forward.gradient_filter(ones.result_image()).result_image()};
  ends[0].set_handle("of loss");
  ends[1].set_handle("of forward loss");
  Graph graph(Device::gpu(), ends, {.batch_size = kImages});
  const Runs before = emulator::filter_runs();
  const Floats x_data = random_floats(16, 5), t_data = random_floats(16, 6);
  graph.execute({{"x", view(x_data)}, {"t", view(t_data)}}).wait();
  emulator::wait_until_idle();
  const Runs after = emulator::filter_runs();
  for (const char* name :
       {"MPSCNNLossNode", "MPSNNForwardLossNode", "MPSNNInitialGradientNode",
        "MPSNNLossGradientNode"}) {
    EXPECT_EQ(runs_of(after, name), runs_of(before, name) + 1) << name;
  }
}

}  // namespace
}  // namespace traingraph::nodes
