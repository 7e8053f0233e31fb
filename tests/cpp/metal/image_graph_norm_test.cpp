// SPDX-License-Identifier: MIT
// Normalizations that MPSNN runs and this library trains: statistics of whole
// batches, running ones, sums of the gradients of images.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>

#include "metal/gpu_test.h"
#include "traingraph/nodes.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

enum class Kind { Batch, Instance, Group };
constexpr Kind kKinds[] = {Kind::Batch, Kind::Instance, Kind::Group};

struct Source final : NormalizationDataSource {
  Source(std::int64_t channels, OptimizerPtr o, float m = 0.75f)
      : gamma_values(random_floats(channels, 1)),
        beta_values(random_floats(channels, 2)),
        mean_values(random_floats(channels, 3)),
        variance_values(channels, 2),
        used(std::move(o)),
        given_momentum(m) {}
  std::int64_t feature_channels() const override {
    return static_cast<std::int64_t>(gamma_values.size());
  }
  std::int64_t groups() const override { return num_groups; }
  float epsilon() const override { return 1e-2f; }
  float momentum() const override { return given_momentum; }
  std::span<const float> gamma() override { return gamma_values; }
  std::span<const float> beta() override { return beta_values; }
  std::span<const float> mean() override { return mean_values; }
  std::span<const float> variance() override { return variance_values; }
  OptimizerPtr optimizer() const override { return used; }
  bool update(const NormalizationGradients& gradients) override {
    for (std::size_t c = 0; c < gamma_values.size(); ++c) {
      gamma_values[c] -= 0.125f * gradients.gamma[c];
      beta_values[c] -= 0.125f * gradients.beta[c];
    }
    return true;
  }

  Floats gamma_values, beta_values, mean_values, variance_values;
  OptimizerPtr used;
  std::int64_t num_groups = 1;
  float given_momentum;
};

FilterNode make_node(Kind kind, const ImageNode& image,
                     const std::shared_ptr<Source>& source,
                     TrainingStyle style = TrainingStyle::GPU) {
  const auto styled = [&](const TrainableNode& node) -> FilterNode {
    node.set_training_style(style);
    return node;
  };
  switch (kind) {
    case Kind::Batch:
      return styled(BatchNormalizationNode(image, source));
    case Kind::Instance:
      return styled(InstanceNormalizationNode(image, source));
    default:
      return styled(GroupNormalizationNode(image, source));
  }
}

struct Options {
  ImageSize size{6, 3, 4};
  std::int64_t batch = 4;
  float momentum = 0.75f;
  TrainingStyle style = TrainingStyle::GPU;
};

/// Normalization, sigmoid, mean squared error, and all gradients.
class Net {
 public:
  Net(const Device& device, Kind kind, const Options& options = {})
      : options_(options),
        image_("x", options.size),
        labels_("t", options.size) {
    const std::int64_t channels = options.size.feature_channels;
    source = std::make_shared<Source>(channels, optimizer_, options.momentum);
    source->num_groups = channels % 3 == 0 ? 3 : 1;
    const FilterNode norm = make_node(kind, image_, source, options.style);
    const SigmoidNode sigmoid(norm.result_image());
    const LossNode loss(sigmoid.result_image(), labels_, {});
    std::vector<ImageNode> ends;
    for (const FilterNode& leaf : loss.training_graph()) {
      ends.push_back(leaf.result_image());
      ends.back().set_handle("dx");
    }
    graph.emplace(device, ends, GraphOptions{.batch_size = options.batch});
  }

  /// The gradient of the image, and the parameters behind it.
  Floats run(unsigned seed, std::int64_t batch = 0) {
    if (batch == 0) batch = options_.batch;
    const ImageSize& s = options_.size;
    const std::int64_t count = batch * s.feature_channels * s.height * s.width;
    const Floats x = random_floats(count, seed);
    const Floats t = random_floats(count, seed + 50);
    const auto done =
        graph->execute({{"x", view(x)}, {"t", view(t)}}, {.batch_size = batch});
    Floats all = floats_of(done.result().output("dx"));
    const Graph::Parameters p = graph->parameters(*source);
    for (const Floats* each : {&p.gamma, &p.beta, &p.mean, &p.variance}) {
      all.insert(all.end(), each->begin(), each->end());
    }
    return all;
  }

  bool is_on_mpsnn() const {
    for (const UnitSpan& unit : graph->compiled().report().units) {
      if (unit.image_copies == 0) return false;
    }
    return true;
  }

 private:
  Options options_;
  ImageNode image_, labels_;
  OptimizerPtr optimizer_ = std::make_shared<optimizers::SGD>(0.25f, 0.5f);

 public:
  std::shared_ptr<Source> source;
  std::optional<Graph> graph;
};

class ImageGraphNorm : public GpuTest {
 protected:
  static void expect_equal(const Floats& got, const Floats& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], expected[i],
                  2e-5 * std::max(1.0f, std::abs(expected[i])))
          << i;
    }
  }
  struct Twins {
    explicit Twins(Kind kind, const Options& options = {})
        : gpu(Device::gpu(), kind, options), cpu(Device::cpu(), kind, options) {
      EXPECT_TRUE(gpu.is_on_mpsnn());
    }
    void run(unsigned seed, std::int64_t batch = 0) {
      expect_equal(gpu.run(seed, batch), cpu.run(seed, batch));
    }
    Net gpu, cpu;
  };
};

TEST_F(ImageGraphNorm, TrainsAsTheCpuDoes) {
  const long before = emulator::counters().unread_temporaries;
  for (const Kind kind : kKinds) {
    for (const float momentum : {1.0f, 0.75f, 0.0f}) {
      SCOPED_TRACE(momentum);
      Twins twins(kind, {.momentum = momentum});
      for (unsigned step = 0; step < 4; ++step) twins.run(step);
    }
  }
  emulator::wait_until_idle();
  EXPECT_EQ(emulator::counters().unread_temporaries, before);
}

TEST_F(ImageGraphNorm, ImagesOfAnySize) {
  constexpr std::pair<int, int> kExtents[] = {{1, 1}, {1, 3}, {2, 2}, {5, 4}};
  for (const Kind kind : kKinds) {
    for (std::int64_t channels = 1; channels <= 9; ++channels) {
      for (const auto& [height, width] : kExtents) {
        for (const std::int64_t batch : {1, 2, 5}) {
          SCOPED_TRACE(std::to_string(channels) + " x " +
                       std::to_string(height) + " x " + std::to_string(width) +
                       ", batch " + std::to_string(batch));
          Twins twins(kind,
                      {.size = {channels, height, width}, .batch = batch});
          for (unsigned step = 0; step < 2; ++step) twins.run(step);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_F(ImageGraphNorm, BatchesOfAnySizeTrainTheSameParameters) {
  for (const Kind kind : kKinds) {
    Twins twins(kind);
    unsigned seed = 0;
    for (const std::int64_t batch : {4, 2, 2, 4, 1, 4}) {
      twins.run(++seed, batch);
    }
  }
}

TEST_F(ImageGraphNorm, WhatTheHostWritesIsSeen) {
  for (const Kind kind : kKinds) {
    Twins twins(kind);
    twins.run(1);
    for (Net* net : {&twins.gpu, &twins.cpu}) {
      for (float& gamma : net->source->gamma_values) gamma += 1;
      for (float& mean : net->source->mean_values) mean = 3;
      net->graph->reload_from_data_sources();
    }
    twins.run(2);
    twins.run(3);
  }
}

TEST_F(ImageGraphNorm, UpdatesOnTheHost) {
  for (const Kind kind : kKinds) {
    Twins twins(kind, {.style = TrainingStyle::CPU});
    for (unsigned step = 0; step < 3; ++step) twins.run(step);
    expect_equal(twins.gpu.source->gamma_values,
                 twins.cpu.source->gamma_values);
  }
}

/// Running statistics move even so.
TEST_F(ImageGraphNorm, WithoutUpdates) {
  for (const Kind kind : kKinds) {
    Twins twins(kind, {.style = TrainingStyle::None});
    for (unsigned step = 0; step < 3; ++step) twins.run(step);
  }
}

/// Weights that changed on the device are no reason to wait for it.
TEST_F(ImageGraphNorm, TrainingDoesNotReload) {
  for (const Kind kind : kKinds) {
    Net net(Device::gpu(), kind);
    net.run(1);
    emulator::commit_and_continue_every(0);
    const long before = emulator::counters().command_buffers;
    const Floats x = random_floats(4 * 6 * 3 * 4, 2);
    for (int i = 0; i < 3; ++i) {
      net.graph->execute({{"x", view(x)}, {"t", view(x)}}).wait();
    }
    emulator::wait_until_idle();
    EXPECT_EQ(emulator::counters().command_buffers, before + 3);
  }
}

TEST_F(ImageGraphNorm, RunsOverlap) {
  emulator::delay_completion(0.002);
  const Floats x = random_floats(4 * 6 * 3 * 4, 7);
  for (const Kind kind : kKinds) {
    Twins twins(kind);
    for (Net* net : {&twins.gpu, &twins.cpu}) {
      for (int i = 0; i < 10; ++i) {
        net->graph->execute({{"x", view(x)}, {"t", view(x)}});
      }
    }
    twins.run(8);
  }
}

TEST_F(ImageGraphNorm, GraphsRunOnSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<Floats> got(3), expected(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&, i] {
      Net gpu(Device::gpu(), kKinds[i]);
      for (unsigned step = 0; step < 5; ++step) got[i] = gpu.run(step);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 3; ++i) {
    Net cpu(Device::cpu(), kKinds[i]);
    for (unsigned step = 0; step < 5; ++step) expected[i] = cpu.run(step);
    expect_equal(got[i], expected[i]);
  }
}

TEST_F(ImageGraphNorm, FailuresArriveAndTheNextRunIsRight) {
  for (const Kind kind : kKinds) {
    Twins twins(kind);
    twins.run(1);
    emulator::raise_in_encode();
    EXPECT_THROW(twins.gpu.run(2), DeviceError);
    emulator::reset_faults();
    for (Net* net : {&twins.gpu, &twins.cpu}) {
      net->graph->reload_from_data_sources();
    }
    twins.run(3);
  }
}

TEST_F(ImageGraphNorm, LeavesNothingBehind) {
  const auto use = [] {
    for (const Kind kind : kKinds) {
      Net net(Device::gpu(), kind);
      for (unsigned step = 0; step < 2; ++step) net.run(step);
    }
    Device::gpu().synchronize();
    emulator::wait_until_idle();
  };
  use();
  const auto before = emulator::live_objects();
  use();
  EXPECT_EQ(emulator::live_objects(), before);
}

/// Gradients of both go to one place, and running statistics move twice.
TEST_F(ImageGraphNorm, OneDataSourceForTwoNodes) {
  const ImageSize size{6, 3, 4};
  for (const Kind kind : kKinds) {
    std::vector<Floats> results;
    for (const Device& device : {Device::gpu(), Device::cpu()}) {
      const auto source =
          std::make_shared<Source>(6, std::make_shared<optimizers::SGD>(1e-3f));
      source->num_groups = 2;
      const ImageNode x("x", size), t("t", size);
      const FilterNode first = make_node(kind, x, source);
      const SigmoidNode between(first.result_image());
      const FilterNode second = make_node(kind, between.result_image(), source);
      const LossNode loss(second.result_image(), t, {});
      std::vector<ImageNode> ends;
      for (const FilterNode& leaf : loss.training_graph()) {
        ends.push_back(leaf.result_image());
        ends.back().set_handle("dx");
      }
      Graph graph(device, ends, {.batch_size = 2});
      const Floats x_data = random_floats(2 * 6 * 3 * 4, 1);
      const Floats t_data = random_floats(2 * 6 * 3 * 4, 2);
      Floats all;
      for (int i = 0; i < 3; ++i) {
        all =
            floats_of(graph.execute({{"x", view(x_data)}, {"t", view(t_data)}})
                          .result()
                          .output("dx"));
      }
      const Graph::Parameters p = graph.parameters(*source);
      for (const Floats* each : {&p.gamma, &p.beta, &p.mean, &p.variance}) {
        all.insert(all.end(), each->begin(), each->end());
      }
      results.push_back(all);
    }
    expect_equal(results[0], results[1]);
  }
}

/// Nobody asks for the normalized image.
TEST_F(ImageGraphNorm, GradientsWithoutTheResult) {
  const ImageSize size{5, 2, 3};
  for (const Kind kind : kKinds) {
    std::vector<Floats> results;
    for (const Device& device : {Device::gpu(), Device::cpu()}) {
      const auto source =
          std::make_shared<Source>(5, std::make_shared<optimizers::SGD>(0.25f));
      const ImageNode x("x", size), g("g", size);
      const FilterNode norm = make_node(kind, x, source);
      const GradientFilterNode gradient = norm.gradient_filter(g);
      gradient.result_image().set_handle("dx");
      Graph graph(device, {gradient.result_image()}, {.batch_size = 3});
      if (device.type() == DeviceType::GPU) {
        EXPECT_GT(graph.compiled().report().units[0].image_copies, 0);
      }
      const Floats x_data = random_floats(90, 3), g_data = random_floats(90, 4);
      for (int i = 0; i < 2; ++i) {
        results.push_back(
            floats_of(graph.execute({{"x", view(x_data)}, {"g", view(g_data)}})
                          .result()
                          .output("dx")));
      }
      results.push_back(graph.parameters(*source).mean);
    }
    for (int i = 0; i < 3; ++i) expect_equal(results[i], results[i + 3]);
  }
}

}  // namespace
}  // namespace traingraph::nodes
