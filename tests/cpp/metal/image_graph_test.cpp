// SPDX-License-Identifier: MIT
// A network of filter nodes that MPSNN runs: what it computes is the CPU's,
// updates are used by the next run, and what others write is seen.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "metal/gpu_test.h"
#include "traingraph/nodes.h"

namespace traingraph::nodes {
namespace {

using namespace testing;

constexpr std::int64_t kImages = 4;

struct Weights final : ConvolutionDataSource {
  Weights(ConvolutionDescriptor d, unsigned seed, OptimizerPtr o)
      : weight_values(random_floats(d.output_feature_channels *
                                        d.kernel_size[0] * d.kernel_size[1] *
                                        d.input_feature_channels,
                                    seed)),
        bias_values(random_floats(d.output_feature_channels, seed + 1)),
        described(d),
        used(std::move(o)) {}
  ConvolutionDescriptor descriptor() const override { return described; }
  std::span<const float> weights() override { return weight_values; }
  std::span<const float> bias_terms() override { return bias_values; }
  OptimizerPtr optimizer() const override { return used; }

  Floats weight_values, bias_values;
  ConvolutionDescriptor described;
  OptimizerPtr used;
};

class ImageGraph : public GpuTest {
 protected:
  /// Convolution, ReLU, pooling, fully connected, softmax cross entropy.
  struct Net {
    explicit Net(const Device& device, bool uses_mpsnn = true) {
      conv = make({3, 3}, 2, 4, 1);
      dense = make({3, 3}, 4, 3, 5);
      const ConvolutionNode first(image, conv);
      const ReLUNode relu(first.result_image());
      const PoolingMaxNode pool(relu.result_image(), {.kernel_size = {2, 2}});
      const FullyConnectedNode last(pool.result_image(), dense);
      const LossNode loss(last.result_image(), labels,
                          {.type = LossType::SoftmaxCrossEntropy,
                           .reduction = ReductionType::Sum});
      loss.loss_image().set_handle("loss");
      std::vector<ImageNode> ends;
      for (const FilterNode& leaf : loss.training_graph()) {
        ends.push_back(leaf.result_image());
      }
      graph.emplace(device, ends,
                    GraphOptions{.batch_size = kImages,
                                 .results_are_needed = {},
                                 .uses_mpsnn = uses_mpsnn});
    }

    std::shared_ptr<Weights> make(Pair kernel, std::int64_t in,
                                  std::int64_t out, unsigned seed) {
      return std::make_shared<Weights>(
          ConvolutionDescriptor{.kernel_size = kernel,
                                .input_feature_channels = in,
                                .output_feature_channels = out},
          seed, optimizer);
    }

    /// The losses of the images and the gradient of the images.
    Floats run(unsigned seed, std::int64_t batch = kImages) {
      const Floats x = random_floats(batch * 2 * 6 * 6, seed);
      Floats t(batch * 3, 0);
      for (std::int64_t i = 0; i < batch; ++i) t[i * 3 + (i + seed) % 3] = 1;
      const auto done = graph->execute(
          {{"image", view(x)}, {"labels", view(t)}}, {.batch_size = batch});
      Floats all;
      const ExecutionResult result = done.result();
      for (const std::string& name : graph->result_handles()) {
        const Floats values = floats_of(result.output(name));
        all.insert(all.end(), values.begin(), values.end());
      }
      return all;
    }

    int image_copies() const {
      int copies = 0;
      for (const UnitSpan& unit : graph->compiled().report().units) {
        copies += unit.image_copies;
      }
      return copies;
    }

    OptimizerPtr optimizer = std::make_shared<optimizers::SGD>(0.05f);
    ImageNode image{"image", {2, 6, 6}}, labels{"labels", {3, 1, 1}};
    std::shared_ptr<Weights> conv, dense;
    std::optional<Graph> graph;
  };

  static void expect_equal(const Floats& got, const Floats& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], 2e-4) << i;
    }
  }
};

TEST_F(ImageGraph, TrainsAsTheCpuDoes) {
  Net gpu(Device::gpu()), cpu(Device::cpu());
  const emulator::Counters before = emulator::counters();
  for (unsigned step = 0; step < 5; ++step) {
    expect_equal(gpu.run(step), cpu.run(step));
  }
  emulator::wait_until_idle();
  const emulator::Counters after = emulator::counters();
  EXPECT_EQ(after.filter_graph_runs, before.filter_graph_runs + 5);
  EXPECT_EQ(after.unread_temporaries, before.unread_temporaries);
  expect_equal(gpu.graph->weights(*gpu.conv).weights,
               cpu.graph->weights(*cpu.conv).weights);
  expect_equal(gpu.graph->weights(*gpu.dense).biases,
               cpu.graph->weights(*cpu.dense).biases);
}

TEST_F(ImageGraph, OnlyTheBorderIsCopied) {
  // The image and the labels go in; the loss, the gradient of the image, and
  // the last result of the forward phase, which every training graph keeps,
  // come out.
  EXPECT_EQ(Net(Device::gpu()).image_copies(), 5);
  EXPECT_EQ(Net(Device::gpu(), /*uses_mpsnn=*/false).image_copies(), 0);
}

TEST_F(ImageGraph, CanBeSwitchedOff) {
  Net with(Device::gpu()), without(Device::gpu(), /*uses_mpsnn=*/false);
  const Floats expected = with.run(3);
  const long before = emulator::counters().filter_graph_runs;
  expect_equal(without.run(3), expected);
  emulator::wait_until_idle();
  EXPECT_EQ(emulator::counters().filter_graph_runs, before);
}

TEST_F(ImageGraph, WhatTheHostWritesIsSeen) {
  Net gpu(Device::gpu()), cpu(Device::cpu());
  for (Net* net : {&gpu, &cpu}) {
    net->run(1);
    for (float& w : net->conv->weight_values) w = -w;
    net->graph->reload_from_data_sources();
  }
  expect_equal(gpu.run(2), cpu.run(2));
  expect_equal(gpu.run(3), cpu.run(3));
}

/// Graphs of two batch sizes have weights of their own, and one variable.
TEST_F(ImageGraph, BatchesOfAnySizeTrainTheSameWeights) {
  Net gpu(Device::gpu()), cpu(Device::cpu());
  unsigned seed = 0;
  for (const std::int64_t batch : {4, 2, 2, 4, 1, 4}) {
    ++seed;
    expect_equal(gpu.run(seed, batch), cpu.run(seed, batch));
  }
}

TEST_F(ImageGraph, RunsOverlap) {
  Net gpu(Device::gpu()), cpu(Device::cpu());
  emulator::delay_completion(0.002);
  const Floats x = random_floats(kImages * 2 * 6 * 6, 7);
  Floats t(kImages * 3, 0);
  for (std::int64_t i = 0; i < kImages; ++i) t[i * 3] = 1;
  for (Net* net : {&gpu, &cpu}) {
    for (int i = 0; i < 10; ++i) {
      net->graph->execute({{"image", view(x)}, {"labels", view(t)}});
    }
  }
  expect_equal(gpu.run(8), cpu.run(8));
}

TEST_F(ImageGraph, FailuresArriveAndTheNextRunIsRight) {
  Net gpu(Device::gpu()), cpu(Device::cpu());
  expect_equal(gpu.run(1), cpu.run(1));
  emulator::raise_in_encode();
  EXPECT_THROW(gpu.run(2), DeviceError);
  emulator::reset_faults();
  for (Net* net : {&gpu, &cpu}) net->graph->reload_from_data_sources();
  expect_equal(gpu.run(3), cpu.run(3));
  emulator::commit_and_continue_every(0);
  emulator::fail_command_buffer(1);
  EXPECT_THROW(gpu.run(4), DeviceError);
  emulator::reset_faults();
  for (Net* net : {&gpu, &cpu}) net->graph->reload_from_data_sources();
  expect_equal(gpu.run(5), cpu.run(5));
}

TEST_F(ImageGraph, LeavesNothingBehind) {
  const auto use = [] {
    Net net(Device::gpu());
    for (unsigned step = 0; step < 3; ++step) net.run(step);
  };
  use();
  Device::gpu().synchronize();
  emulator::wait_until_idle();
  const auto before = emulator::live_objects();
  use();
  Device::gpu().synchronize();
  emulator::wait_until_idle();
  EXPECT_EQ(emulator::live_objects(), before);
}

}  // namespace
}  // namespace traingraph::nodes
