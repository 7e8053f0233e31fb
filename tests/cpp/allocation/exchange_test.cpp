// SPDX-License-Identifier: MIT
// Steps that exchange gradients allocate nothing of ours.
#include <gtest/gtest.h>

#include <algorithm>

#include "allocation/count_allocations.h"
#include "support/training.h"
#include "traingraph/collective.h"

namespace traingraph {
namespace {

using namespace testing;

/// Two ranks, of which the other one does what this one does. It is done at
/// once, and allocates nothing itself.
class Mirror : public Collective {
 public:
  std::string description() const override { return "a mirror"; }
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void all_reduce(std::span<float> values, Done done) override {
    for (float& value : values) value *= 2;
    done(nullptr);
  }
  void all_gather(std::span<const std::byte> part, std::span<std::byte> all,
                  Done done) override {
    const std::vector<std::byte>::size_type size = part.size();
    if (all.data() != part.data()) std::ranges::copy(part, all.begin());
    std::copy_n(all.begin(), size, all.begin() + static_cast<long>(size));
    done(nullptr);
  }
  void broadcast(std::span<std::byte>, int, Done done) override {
    done(nullptr);
  }
};

TEST(ExchangeAllocation, Steps) {
  for (const bool shards : {false, true}) {
    Graph graph;
    const Tensor x({{8, 40}}, "x"), label({{8, 4}}, "label");
    Tensor h = graph.node(std::make_shared<layers::FullyConnected>(40, 30), x);
    h = graph.node(std::make_shared<layers::BatchNormalization>(30), h);
    h = graph.node(std::make_shared<layers::Tanh>(), h);
    graph.node(std::make_shared<layers::FullyConnected>(30, 4), h);
    TrainingGraph t({graph},
                    std::make_shared<losses::MeanSquaredError>(
                        LossDescriptor{.reduction_type = ReductionType::Mean}),
                    std::make_shared<optimizers::Adam>(0.001f));
    t.add_inputs({{"x", x}}, {{"label", label}});
    CompileOptions options;
    options.data_parallel = {.collective = std::make_shared<Mirror>(),
                             .bucket_bytes = 256,
                             .shard_optimizer = shards,
                             .reduce_losses = true,
                             .synchronize_batch_norm = true};
    t.compile(Device::cpu(), options);
    const Floats x_data = random_floats(8 * 40, 1);
    const Floats labels = random_floats(8 * 4, 2);
    const std::vector<NamedData> inputs{{"x", view(x_data)}};
    const std::vector<NamedData> wanted{{"label", view(labels)}};
    const auto step = [&] { t.execute(inputs, wanted).wait(); };
    const auto phases = [&] {
      t.execute_forward(inputs, wanted);
      t.execute_gradient();
      t.execute_optimizer_update().wait();
    };
    for (int i = 0; i < 50; ++i) {
      step();
      phases();
    }
    start_counting();
    for (int i = 0; i < 200; ++i) {
      step();
      phases();
    }
    EXPECT_EQ(stop_counting().ours, 0u) << shards;
  }
}

TEST(ExchangeAllocation, LinkedGraphs) {
  for (const bool shards : {false, true}) {
    const Tensor x({{8, 40}}, "x"), label({{8, 4}}, "label");
    Graph a, b;
    Tensor h = a.node(std::make_shared<layers::FullyConnected>(40, 30), x);
    h = a.node(std::make_shared<layers::BatchNormalization>(30), h);
    const Tensor middle = a.node(std::make_shared<layers::Tanh>(), h);
    b.node(std::make_shared<layers::FullyConnected>(30, 4), middle);
    OptimizerDescriptor clipped{.learning_rate = 0.001f,
                                .applies_gradient_clipping = true};
    clipped.gradient_clipping_type = GradientClippingType::ByGlobalNorm;
    const auto adam = std::make_shared<optimizers::Adam>(clipped);
    TrainingGraph front({a}, nullptr, adam);
    front.add_inputs({{"x", x}});
    TrainingGraph back(
        {b},
        std::make_shared<losses::MeanSquaredError>(
            LossDescriptor{.reduction_type = ReductionType::Mean}),
        adam);
    back.add_inputs({{"middle", middle}}, {{"label", label}});
    CompileOptions options{.link_graphs = true};
    options.data_parallel = {.collective = std::make_shared<Mirror>(),
                             .bucket_bytes = 256,
                             .shard_optimizer = shards,
                             .synchronize_batch_norm = true};
    front.compile(Device::cpu(), options);
    back.compile(Device::cpu(), options);
    front.link({back});
    const Floats x_data = random_floats(8 * 40, 1);
    const Floats labels = random_floats(8 * 4, 2);
    const std::vector<NamedData> inputs{{"x", view(x_data)}};
    const std::vector<NamedData> wanted{{"label", view(labels)}};
    const auto step = [&] {
      front.execute_forward(inputs, {});
      back.execute_forward({}, wanted);
      back.execute_gradient();
      front.execute_gradient();
      front.execute_optimizer_update();
      back.execute_optimizer_update().wait();
    };
    for (int i = 0; i < 100; ++i) step();
    start_counting();
    for (int i = 0; i < 200; ++i) step();
    EXPECT_EQ(stop_counting().ours, 0u) << shards;
  }
}

}  // namespace
}  // namespace traingraph
