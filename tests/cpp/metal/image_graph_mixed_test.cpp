// SPDX-License-Identifier: MIT
// Networks of filters some of which MPSNN runs and some of which it does not:
// whatever lies beside a normalization or a loss, a GPU trains as the CPU does.
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "metal/gpu_test.h"
#include "traingraph/nodes.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

constexpr std::int64_t kImages = 3;
constexpr ImageSize kSize{8, 4, 3};

struct Source final : NormalizationDataSource {
  Source(OptimizerPtr o, std::string name)
      : gamma_values(random_floats(8, 1)),
        used(std::move(o)),
        given_name(std::move(name)) {}
  std::int64_t feature_channels() const override { return 8; }
  std::string name() const override { return given_name; }
  std::int64_t groups() const override { return 4; }
  float epsilon() const override { return 0.1f; }
  float momentum() const override { return 0.5f; }
  std::span<const float> gamma() override { return gamma_values; }
  OptimizerPtr optimizer() const override { return used; }

  Floats gamma_values;
  OptimizerPtr used;
  std::string given_name;
};

/// Results that a network has, and the sources that it trains.
struct Net {
  OptimizerPtr optimizer = std::make_shared<optimizers::Adam>(0.01f);
  ImageNode x{"x", kSize}, t{"t", kSize};
  std::vector<std::shared_ptr<Source>> sources = {};
  std::vector<ImageNode> ends = {};
  std::vector<bool> are_needed = {};

  std::shared_ptr<Source> source() {
    sources.push_back(std::make_shared<Source>(
        optimizer, "source " + std::to_string(sources.size())));
    return sources.back();
  }
  void train(const FilterNode& last, const ImageNode& gradient = {}) {
    for (const FilterNode& leaf : last.training_graph(gradient)) {
      ends.push_back(leaf.result_image());
    }
  }
};

struct Trained {
  std::vector<Floats> results;
  int num_images = 0, num_others = 0;  // units that are image graphs or not
};

Trained train(const Device& device, const std::function<void(Net&)>& build) {
  Net net;
  build(net);
  Graph graph(device, net.ends,
              {.batch_size = kImages, .results_are_needed = net.are_needed});
  Trained all;
  for (const UnitSpan& unit : graph.compiled().report().units) {
    ++(unit.image_copies > 0 ? all.num_images : all.num_others);
  }
  const auto count =
      kImages * kSize.feature_channels * kSize.height * kSize.width;
  const Floats x = random_floats(count, 3), t = random_floats(count, 4);
  const std::vector<std::string> names = graph.source_image_handles();
  for (int step = 0; step < 3; ++step) {
    std::vector<NamedData> data;
    for (const std::string& name : names) {
      data.push_back({name, view(name == "x" ? x : t)});
    }
    const ExecutionResult result = graph.execute(DataList(data)).result();
    for (const std::string& name : graph.result_handles()) {
      all.results.push_back(floats_of(result.output(name)));
    }
  }
  for (const auto& source : net.sources) {
    const Graph::Parameters p = graph.parameters(*source);
    all.results.insert(all.results.end(),
                       {p.gamma, p.beta, p.mean, p.variance});
  }
  return all;
}

class ImageGraphMixed : public GpuTest {
 protected:
  /// What the GPU did.
  static Trained check(const std::function<void(Net&)>& build) {
    const Trained got = train(Device::gpu(), build);
    const Trained expected = train(Device::cpu(), build);
    EXPECT_EQ(got.results.size(), expected.results.size());
    for (std::size_t i = 0; i < got.results.size(); ++i) {
      const Floats &a = got.results[i], &b = expected.results[i];
      EXPECT_EQ(a.size(), b.size());
      for (std::size_t j = 0; j < a.size(); ++j) {
        EXPECT_NEAR(a[j], b[j], 1e-4) << "result " << i << " at " << j;
        if (HasFailure()) return got;
      }
    }
    return got;
  }
};

TEST_F(ImageGraphMixed, NeighboursOnMpsGraph) {
  const Trained run = check([](Net& net) {
    const InstanceNormalizationNode first(net.x, net.source());
    const LocalContrastNormalizationNode between(first.result_image(),
                                                 {.kernel_size = {3, 3}});
    const BatchNormalizationNode second(between.result_image(), net.source());
    net.train(LossNode(second.result_image(), net.t, {}));
  });
  // The second one, the loss and their gradients, between those of the others.
  EXPECT_EQ(run.num_images, 1);
  EXPECT_EQ(run.num_others, 2);
}

TEST_F(ImageGraphMixed, AForwardLossBeginsTheWalk) {
  const Trained run = check([](Net& net) {
    const GroupNormalizationNode norm(net.x, net.source());
    const ForwardLossNode loss(norm.result_image(), net.t,
                               {.reduction = ReductionType::Sum});
    loss.result_image().set_export_from_graph(true);
    net.train(InitialGradientNode(loss.result_image()));
  });
  EXPECT_EQ(run.num_others, 0);
}

TEST_F(ImageGraphMixed, AForwardLossWithItsMean) {
  const Trained run = check([](Net& net) {
    const GroupNormalizationNode norm(net.x, net.source());
    const ForwardLossNode loss(norm.result_image(), net.t,
                               {.reduction = ReductionType::Mean});
    loss.result_image().set_export_from_graph(true);
    net.train(InitialGradientNode(loss.result_image()));
  });
  // Ones are no reason for an image graph of their own.
  EXPECT_EQ(run.num_images, 0);
}

/// Only the updates are needed.
TEST_F(ImageGraphMixed, GradientsOfImagesThatNobodyNeeds) {
  for (int kind = 0; kind < 3; ++kind) {
    const Trained run = check([&](Net& net) {
      const auto source = net.source();
      FilterNode norm = BatchNormalizationNode(net.x, source);
      if (kind == 1) norm = InstanceNormalizationNode(net.x, source);
      if (kind == 2) norm = GroupNormalizationNode(net.x, source);
      net.train(LossNode(norm.result_image(), net.t, {}));
      net.are_needed.assign(net.ends.size(), false);
    });
    EXPECT_EQ(run.num_others, 0);
  }
}

/// An image that two filters read has the sum of their gradients.
TEST_F(ImageGraphMixed, ANormalizedImageThatTwoFiltersRead) {
  const Trained run = check([](Net& net) {
    const BatchNormalizationNode norm(net.x, net.source());
    const MultiplicationNode product(
        TanHNode(norm.result_image()).result_image(), norm.result_image());
    const InstanceNormalizationNode last(product.result_image(), net.source());
    net.train(LossNode(last.result_image(), net.t, {}));
  });
  EXPECT_EQ(run.num_others, 0);
}

/// Running statistics that one filter moves and another one reads.
TEST_F(ImageGraphMixed, TrainedAndReadWithOneSource) {
  check([](Net& net) {
    const auto source = net.source();
    const BatchNormalizationNode trained(net.x, source);
    const BatchNormalizationNode read(net.t, source);
    read.result_image().set_export_from_graph(true);
    net.ends.push_back(read.result_image());
    net.train(LossNode(trained.result_image(), net.t, {}));
  });
}

TEST_F(ImageGraphMixed, StatesThatRunsReturn) {
  const Trained run = check([](Net& net) {
    const GroupNormalizationNode norm(net.x, net.source());
    norm.set_training_style(TrainingStyle::None);
    norm.result_state().set_export_from_graph(true);
    net.train(LossNode(norm.result_image(), net.t, {}));
  });
  EXPECT_EQ(run.num_others, 0);
  // There are the gradients of the image, of beta and of gamma, and the loss.
  EXPECT_GE(run.results.size(), 3u * 3 + 4);
}

/// Forward filters whose result nothing reads are not computed; their
/// gradients are all the same.
TEST_F(ImageGraphMixed, GradientsAlone) {
  check([](Net& net) {
    const SigmoidNode sigmoid(net.x);
    const SoftMaxNode softmax(net.x);
    const PoolingMaxNode pool(net.x,
                              {.kernel_size = {1, 1}, .strides = {1, 1}});
    for (const FilterNode& node :
         std::vector<FilterNode>{sigmoid, softmax, pool}) {
      net.ends.push_back(node.gradient_filter(net.t).result_image());
    }
  });
}

}  // namespace
}  // namespace traingraph::nodes
