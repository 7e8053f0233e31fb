// SPDX-License-Identifier: MIT
// After compile and warm-up, executing allocates nothing. Its own executable:
// malloc() counts (count_allocations.h).
#include <gtest/gtest.h>

#include "allocation/count_allocations.h"
#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// Convolution, batch norm, activation, pooling, dropout, dense, Adam with
/// clipping by the global norm; names longer than a small string.
class Allocation : public ::testing::TestWithParam<DeviceType> {
 protected:
  Allocation() {
    Graph g;
    Tensor h = g.node(
        std::make_shared<layers::Convolution>(1, 8, 3, PaddingPolicy::Same), x);
    h = g.node(std::make_shared<layers::BatchNormalization>(8), h);
    h = g.node(std::make_shared<layers::ReLU>(), h);
    h = g.node(std::make_shared<layers::MaxPooling>(2), h);
    h = g.node(std::make_shared<layers::Dropout>(0.2f), h);
    h = g.reshape({8, -1}, h);
    const Tensor y =
        g.node(std::make_shared<layers::FullyConnected>(128, 4), h);
    t.emplace(
        std::vector{g}, std::make_shared<losses::SoftmaxCrossEntropy>(),
        std::make_shared<optimizers::Adam>(OptimizerDescriptor{
            .applies_gradient_clipping = true,
            .gradient_clipping_type = GradientClippingType::ByGlobalNorm}));
    t->add_inputs({{kInput, x}}, {{kLabel, label}});
    t->add_outputs({{kOutput, y}});
    t->compile(Device(GetParam()));
  }

  /// Allocations of 1,000 steps. Slots of executions and their staging
  /// buffers are made when the queue first falls that far behind, which may
  /// be late; they are kept, so some round has none.
  template <class Step>
  std::size_t count(const Step& step) {
    std::size_t allocations = 0;
    for (int round = 0; round < 10; ++round) {
      for (int i = 0; i < 50; ++i) step();
      t->synchronize();
      start_counting();
      for (int i = 0; i < 1000; ++i) step();
      t->synchronize();
      allocations = stop_counting().ours;
      if (allocations == 0) break;
    }
    return allocations;
  }

  static constexpr const char* kInput = "the images of this minibatch";
  static constexpr const char* kLabel = "the labels of this minibatch";
  static constexpr const char* kOutput = "the logits before the softmax";
  const Tensor x{{{8, 1, 8, 8}}, "x"}, label{{{8, 4}}, "label"};
  const Floats x_data = random_floats(512, 1), label_data = one_hot(8, 4);
  Floats y_data = Floats(32);
  const NamedData inputs[1] = {{kInput, view(x_data)}};
  const NamedData labels[1] = {{kLabel, view(label_data)}};
  const NamedData outputs[1] = {{kOutput, view(y_data)}};
  std::optional<TrainingGraph> t;
};

TEST_P(Allocation, Step) {
  EXPECT_EQ(count([&] { t->execute(inputs, labels).wait(); }), 0u);
}

TEST_P(Allocation, StepWithResults) {
  float sum = 0;
  EXPECT_EQ(
      count([&] {
        const ExecutionResult result =
            t->execute(inputs, labels, {}, {.outputs_data = outputs}).result();
        sum += result.loss();
        sum += float(result.output(kOutput).data.size());
      }),
      0u);
}

TEST_P(Allocation, ThreePhases) {
  EXPECT_EQ(count([&] {
              t->execute_forward(inputs, labels);
              t->execute_gradient();
              t->execute_optimizer_update().wait();
            }),
            0u);
}

TEST_P(Allocation, PhasesWithEditedGradients) {
  EXPECT_EQ(count([&] {
              t->execute_forward(inputs, labels);
              t->execute_gradient();
              for (float& v : t->gradients()) v *= 0.5f;
              t->execute_optimizer_update();
            }),
            0u);
}

TEST_P(Allocation, QueuedSteps) {
  // Two in flight, as a loop that loads the next batch meanwhile has it.
  std::optional<Execution> previous;
  EXPECT_EQ(count([&] {
              Execution next = t->execute(inputs, labels);
              if (previous) previous->wait();
              previous = std::move(next);
            }),
            0u);
}

TEST_P(Allocation, SmallerBatchesAndInference) {
  EXPECT_EQ(
      count([&] {
        t->execute(inputs, labels, {}, {.batch_size = 5}).wait();
        t->execute(inputs, {}, {}, {.forward_for_inference = true}).wait();
        t->bind_and_write_data(inputs);
      }),
      0u);
}

TEST_P(Allocation, BoundDataBetweenCallsWithTheirOwn) {
  t->bind_and_write_data(labels);
  EXPECT_EQ(count([&] {
              t->bind_and_write_data(inputs);
              t->execute({});
              t->execute(inputs);
              t->execute({}, labels).wait();
            }),
            0u);
}

TEST_P(Allocation, Profiling) {
  EXPECT_EQ(
      count([&] {
        t->execute(inputs, labels, {}, {.per_layer_profiling = true}).wait();
      }),
      0u);
}

TEST_P(Allocation, SeveralLosses) {
  Graph g;
  const Tensor y = g.node(
      std::make_shared<layers::FullyConnected>(4, 4, WeightOptions{}), label);
  const std::string names[] = {"a loss with a long name, number 0",
                               "a loss with a long name, number 1"};
  for (const std::string& name : names) {
    auto loss = std::make_shared<losses::MeanSquaredError>();
    loss->set_name(name);
    g.node(loss, y, {.loss_labels = {label}});
  }
  t.emplace(std::vector{g}, nullptr, sgd(0.1f));
  t->add_inputs({{kLabel, label}});
  t->compile(Device(GetParam()));
  float sum = 0;
  EXPECT_EQ(count([&] {
              const ExecutionResult result = t->execute(labels).result();
              sum += result.loss();
              for (const std::string& name : names) sum += result.loss(name);
            }),
            0u);
}

INSTANTIATE_TEST_SUITE_P(Devices, Allocation,
                         ::testing::Values(DeviceType::Null, DeviceType::CPU),
                         [](const auto& info) {
                           return std::string(to_string(info.param));
                         });

}  // namespace
}  // namespace traingraph
