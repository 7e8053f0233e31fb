// SPDX-License-Identifier: MIT
// Updates in place at the end of a run: dropped with it, seen in order by all
// that share the variables, and the same training wherever a run is cut.
#include <gtest/gtest.h>

#include "metal/net_state.h"
#include "metal/update_net.h"

namespace traingraph::testing {
namespace {

class DeferredUpdates : public UpdateTest {
 protected:
  DeferredUpdates() { emulator::commit_and_continue_every(0); }
};

OptimizerPtr adam() { return std::make_shared<optimizers::Adam>(0.01f); }

TEST_F(DeferredUpdates, OfAnUpdateByItselfSayWhatMayHaveHappened) {
  for (const double max_gpu_ms : {0.0, 1e-9}) {
    for (const int commands : {0, 1, 2, 1000}) {
      Twins twins({.max_gpu_ms = max_gpu_ms}, Device::gpu(), adam);
      for (SmallNet* net : {&twins.gpu, &twins.cpu}) {
        net->phases();
        net->forward();
        net->t->execute_gradient().wait();
      }
      const NetState before = state_of(twins.gpu);
      emulator::cut_command_buffer(/*code=*/1, 0, commands);
      const ErrorInfo error = error_of<DeviceError>(
          [&] { twins.gpu.t->execute_optimizer_update().wait(); });
      EXPECT_EQ(error.hint,
                "The parameters may be half updated: restore a checkpoint.");
      emulator::reset_faults();
      emulator::commit_and_continue_every(0);
      restore(twins.gpu, before);
      EXPECT_EQ(state_of(twins.gpu), before);
      twins.align();
      twins.gpu.phases();
      twins.cpu.phases();
    }
  }
}

// One that the driver may end at any moment.
TEST_F(DeferredUpdates, OfALongStepHaveACommandBufferOfTheirOwn) {
  const auto device = metal::make_context(
      [](metal::GpuLimits& limits) { limits.flops_per_second = 1; });
  ASSERT_TRUE(device);
  for (const int commands : {0, 1, 2, 3, 5, 1000}) {
    for (int n = 0; n < 2; ++n) {
      SmallNet net(Device(device), {.max_gpu_ms = 0}, adam());
      net.compile();
      for (int i = 0; i < 2; ++i) net.step().wait();
      const NetState before = state_of(net);
      emulator::cut_command_buffer(/*code=*/2, n, commands);
      bool has_torn = false;
      try {
        net.step().wait();
        ADD_FAILURE() << "no error";
      } catch (const DeviceError& error) {
        has_torn = is_torn(error);
        EXPECT_NE(error.info().hint.find("max_gpu_ms"), std::string::npos);
      }
      emulator::reset_faults();
      emulator::commit_and_continue_every(0);
      EXPECT_EQ(has_torn, n == 1);
      if (!has_torn) {
        EXPECT_EQ(state_of(net), before);
      }
    }
  }
  device->drain();
}

TEST_F(DeferredUpdates, ThatAreCancelledWhenEncodedAreDropped) {
  SmallNet net(Device::gpu(), {}, adam()), other(Device::gpu(), {}, adam());
  for (SmallNet* each : {&net, &other}) {
    each->compile();
    each->step().wait();
    each->phases();
  }
  const Encoded encoded;
  emulator::hold_work(true);
  for (SmallNet* each : {&net, &other}) {
    each->forward();
    each->t->execute_gradient();
  }
  Execution update = net.t->execute_optimizer_update();
  EXPECT_TRUE(are_encoded(encoded, 0, 1));
  EXPECT_TRUE(update.cancel());
  emulator::hold_work(false);
  EXPECT_THROW(update.wait(), CancelledError);
  Device::gpu().synchronize();
  EXPECT_EQ(state_of(net), state_of(other));
  for (SmallNet* each : {&net, &other}) each->step().wait();
  EXPECT_EQ(state_of(net), state_of(other));
}

/// Predictions by an inference graph between steps, all in flight at once or
/// one after the other; then the parameters.
std::vector<Floats> predictions(const CompileOptions& options, bool is_held) {
  const Floats x_data = random_floats(24, 1), label_data = random_floats(8, 2);
  const Floats weights = random_floats(12, 3), biases = random_floats(2, 4);
  const Tensor x({{4, 6}}, "x"), label({{4, 2}}, "label");
  const Tensor w({{2, 6}}, view(weights)), b({{2}}, view(biases));
  Graph graph;
  const Tensor y =
      graph.node(std::make_shared<layers::FullyConnected>(w, b), x);
  TrainingGraph t({graph}, std::make_shared<losses::MeanSquaredError>(),
                  adam());
  t.add_inputs({{"x", x}}, {{"label", label}});
  InferenceGraph reader({graph});
  reader.add_inputs({{"x", x}});
  reader.add_outputs({{"y", y}});
  t.compile(Device::gpu(), options);
  reader.compile(Device::gpu());
  const std::vector<NamedData> inputs{{"x", view(x_data)}},
      labels{{"label", view(label_data)}};
  for (int i = 0; i < 2; ++i) {
    t.execute(inputs, labels).wait();
    reader.execute(inputs).wait();
  }
  emulator::hold_work(is_held);
  std::vector<Execution> reads;
  for (int i = 0; i < 3; ++i) {
    const Execution step = t.execute(inputs, labels);
    reads.push_back(reader.execute(inputs));
    if (is_held) continue;
    step.wait();
    reads.back().wait();
  }
  emulator::hold_work(false);
  std::vector<Floats> all;
  for (const Execution& read : reads) {
    all.push_back(floats_of(read.result().output("y")));
  }
  all.push_back(read(w));
  all.push_back(read(b));
  return all;
}

TEST_F(DeferredUpdates, AreSeenInOrderByAnInferenceGraph) {
  const std::vector<Floats> expected = predictions({}, false);
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_NE(expected[1], expected[2]);
  EXPECT_EQ(predictions({}, true), expected);
  EXPECT_EQ(predictions({.max_gpu_ms = 1e-9}, false), expected);
  EXPECT_EQ(predictions({.max_gpu_ms = 1e-9}, true), expected);
}

/// x -> first -> tanh | second -> loss, in two graphs that share an optimizer
/// and the first's parameters, which `second` has too.
Floats linked(const Device& device, CompileOptions options, bool is_held) {
  const Floats x_data = random_floats(12, 5), label_data = random_floats(12, 6),
               weights = random_floats(9, 1), biases = random_floats(3, 2);
  const Tensor w({{3, 3}}, view(weights)), bias({{3}}, view(biases));
  const Tensor x({{4, 3}}, "x"), label({{4, 3}}, "label");
  const auto layer = [&] {
    return std::make_shared<layers::FullyConnected>(w, bias);
  };
  Graph a, b;
  const Tensor middle =
      a.node(std::make_shared<layers::Tanh>(), a.node(layer(), x));
  b.node(layer(), middle);
  const OptimizerPtr optimizer = adam();
  TrainingGraph ta({a}, nullptr, optimizer),
      tb({b}, std::make_shared<losses::MeanSquaredError>(), optimizer);
  ta.add_inputs({{"x", x}});
  ta.allocate_user_gradient(middle);
  tb.add_inputs({{"middle", middle}}, {{"label", label}});
  options.link_graphs = true;
  ta.compile(device, options);
  tb.compile(device, options);
  ta.link({tb});
  const std::vector<NamedData> inputs{{"x", view(x_data)}},
      labels{{"label", view(label_data)}};
  for (int i = 0; i < 4; ++i) {
    emulator::hold_work(is_held && i > 0);
    ta.execute_forward(inputs, {});
    tb.execute_forward({}, labels);
    tb.execute_gradient();
    ta.execute_gradient();
    const Execution update = ta.execute_optimizer_update();
    emulator::hold_work(false);
    update.wait();
  }
  Floats all = read(w);
  const Floats last = read(bias);
  all.insert(all.end(), last.begin(), last.end());
  return all;
}

TEST_F(DeferredUpdates, OfLinkedGraphsAreInOrder) {
  const Floats expected = linked(Device::gpu(), {}, false);
  expect_near(expected, linked(composed, {}, false), 2e-5);
  expect_near(expected, linked(Device::cpu(), {}, false), 2e-5);
  EXPECT_EQ(linked(Device::gpu(), {}, true), expected);
  for (const bool is_held : {false, true}) {
    EXPECT_EQ(linked(Device::gpu(), {.max_gpu_ms = 1e-9}, is_held), expected);
  }
}

OptimizerPtr clipped() {
  OptimizerDescriptor d{.learning_rate = 0.02f};
  d.applies_gradient_clipping = true;
  d.gradient_clipping_type = GradientClippingType::ByGlobalNorm;
  d.maximum_clipping_norm = 0.1f;
  return std::make_shared<optimizers::Adam>(d);
}

/// Steps, phases and sums of gradients.
Floats trained(const Device& device, CompileOptions options, bool accumulates) {
  options.accumulate_gradients = accumulates;
  Stack net(device, clipped(), 4, options);
  net.compile();
  for (int i = 0; i < 3; ++i) {
    net.step();
    if (accumulates) {
      for (int k = 0; k < 2; ++k) net.pass(GradientAccumulation::Mean);
      net.t->execute_optimizer_update();
    } else {
      net.phases();
    }
  }
  return net.parameters();
}

TEST_F(DeferredUpdates, TrainAsMPSGraphDoesWhereverARunIsCut) {
  for (const bool accumulates : {false, true}) {
    const Floats expected = trained(Device::gpu(), {}, accumulates);
    for (const double max_gpu_ms : {0.0, 1e-9, 1e-4, 3e-4, 1e-3}) {
      for (const bool poisons : {false, true}) {
        const CompileOptions options{.poison_memory = poisons,
                                     .max_gpu_ms = max_gpu_ms};
        EXPECT_EQ(trained(Device::gpu(), options, accumulates), expected);
        expect_near(expected, trained(composed, options, accumulates), 2e-5);
      }
    }
  }
}

}  // namespace
}  // namespace traingraph::testing
