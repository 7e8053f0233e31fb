// SPDX-License-Identifier: MIT
// Training by the update kernels, by MPSGraph's operations and on the CPU is
// the same training; variables change in place and at the end of a step.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "metal/update_net.h"

namespace traingraph::testing {
namespace {

class Updates : public UpdateTest {};

using optimizers::Adam;
using optimizers::AdamW;
using optimizers::RMSProp;
using optimizers::SGD;

struct Choice {
  std::string name;
  std::function<OptimizerPtr()> make;
};

template <class Make>
void add(std::vector<Choice>& choices, std::string name, Make make) {
  choices.push_back({std::move(name), make});
}

/// Every optimizer with every option that its kernel has.
std::vector<Choice> choices() {
  using enum GradientClippingType;
  using enum RegularizationType;
  std::vector<Choice> all;
  for (const auto& [clipping, clip_name] : {std::pair{ByValue, " by value"},
                                            {ByNorm, " by norm"},
                                            {ByGlobalNorm, " by global norm"},
                                            {ByGlobalNorm, ""}}) {
    for (RegularizationType type : {None, L1, L2}) {
      OptimizerDescriptor d{.learning_rate = 0.02f};
      d.gradient_rescale = 0.75f;
      d.applies_gradient_clipping = *clip_name != 0;
      d.gradient_clipping_type = clipping;
      if (clipping == ByValue) {
        d.gradient_clip_max = 0.05f;
        d.gradient_clip_min = -0.04f;
      } else {
        d.maximum_clipping_norm = 0.1f;
      }
      d.regularization_type = type;
      d.regularization_scale = type == None ? 0 : 0.03f;
      const std::string options = clip_name + std::string(" L") +
                                  std::to_string(static_cast<int>(type));
      add(all, "sgd" + options, [=] { return std::make_shared<SGD>(d); });
      add(all, "momentum" + options,
          [=] { return std::make_shared<SGD>(d, 0.9f); });
      add(all, "nesterov" + options,
          [=] { return std::make_shared<SGD>(d, 0.9f, true); });
      add(all, "adam" + options, [=] { return std::make_shared<Adam>(d); });
      add(all, "amsgrad" + options,
          [=] { return std::make_shared<Adam>(d, 0.8f, 0.9f, 1e-5f, true); });
      if (type == None) {
        OptimizerDescriptor decays = d;
        decays.regularization_scale = 0.1f;
        add(all, "adamw" + options,
            [=] { return std::make_shared<AdamW>(decays); });
      }
      for (bool centered : {false, true}) {
        for (float momentum : {0.0f, 0.9f}) {
          add(all, "rmsprop" + options, [=] {
            return std::make_shared<RMSProp>(d, momentum, 0.9f, 1e-4f,
                                             centered);
          });
        }
      }
    }
  }
  return all;
}

/// Parameters after some steps, the last one in phases.
Floats trained(const Device& device, const OptimizerPtr& optimizer,
               const CompileOptions& options = {}) {
  Stack net(device, optimizer, 3, options);
  net.compile();
  for (int i = 0; i < 3; ++i) net.step();
  optimizer->set_learning_rate(0.01f);
  net.phases();
  return net.parameters();
}

TEST_F(Updates, AgreeWithMPSGraphAndTheCpu) {
  for (const Choice& choice : choices()) {
    SCOPED_TRACE(choice.name);
    const Floats got = trained(Device::gpu(), choice.make());
    // float32 in another order; L1 has a jump where a parameter is small.
    expect_near(got, trained(composed, choice.make()), 2e-5);
    expect_near(got, trained(Device::cpu(), choice.make()), 2e-5);
    if (HasFailure()) return;
  }
}

TEST_F(Updates, CutsPoisonAndReuseDoNotChangeABit) {
  for (const auto& make : std::vector<std::function<OptimizerPtr()>>{
           [] { return std::make_shared<Adam>(0.01f); },
           [] { return std::make_shared<RMSProp>(0.01f, 0.9f); }}) {
    const Floats expected = trained(Device::gpu(), make());
    for (const CompileOptions& options : std::vector<CompileOptions>{
             {.reuse_memory = false},
             {.poison_memory = true},
             {.max_gpu_ms = 1e-9},
             {.poison_memory = true, .max_gpu_ms = 1e-9}}) {
      EXPECT_EQ(trained(Device::gpu(), make(), options), expected);
    }
  }
}

TEST_F(Updates, StepsAndPhasesGiveTheSameBits) {
  Stack steps(Device::gpu(), std::make_shared<Adam>(0.01f), 4);
  Stack phases(Device::gpu(), std::make_shared<Adam>(0.01f), 4);
  steps.compile();
  phases.compile();
  for (int i = 0; i < 5; ++i) {
    steps.step();
    phases.phases();
  }
  EXPECT_EQ(steps.parameters(), phases.parameters());
}

TEST_F(Updates, RandomStacksTrainAsOnTheCpu) {
  const auto all = choices();
  for (unsigned seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 engine(seed);
    const auto num_layers = static_cast<int>(1 + engine() % 9);
    const Choice& choice = all[engine() % all.size()];
    const bool separate = engine() % 2 == 0;
    const auto train = [&](const Device& device) {
      Stack net(device, choice.make(), num_layers, {}, seed);
      net.compile();
      for (int i = 0; i < 4; ++i) {
        separate ? void(net.phases()) : void(net.step());
      }
      return net.parameters();
    };
    expect_near(train(Device::gpu()), train(Device::cpu()), 2e-5);
  }
}

TEST_F(Updates, GradientsStayReadableAndWritable) {
  Stack net(Device::gpu(), std::make_shared<Adam>(0.01f), 3);
  net.compile();
  net.pass();
  const Tensor tensor = net.t->parameters()[1];
  const Floats gradient = net.t->gradient_data(tensor);
  net.t->execute_optimizer_update().wait();
  EXPECT_EQ(net.t->gradient_data(tensor), gradient);
  net.pass();
  const Floats before = read(tensor);
  net.t->set_gradient_data(tensor, Floats(before.size(), 0));
  net.t->execute_optimizer_update();
  EXPECT_NE(read(tensor), before);  // by its momentum
}

TEST_F(Updates, ANaNReachesItsParameterAlone) {
  Stack gpu(Device::gpu(), std::make_shared<Adam>(0.01f), 2);
  Stack cpu(Device::cpu(), std::make_shared<Adam>(0.01f), 2);
  for (Stack* net : {&gpu, &cpu}) {
    net->compile();
    net->pass();
    const Tensor tensor = net->t->parameters()[0];
    Floats gradient = net->t->gradient_data(tensor);
    gradient[1] = std::numeric_limits<float>::quiet_NaN();
    net->t->set_gradient_data(tensor, gradient);
    net->t->execute_optimizer_update().wait();
  }
  const Floats got = gpu.parameters(), expected = cpu.parameters();
  int num_nan = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(std::isnan(got[i]), std::isnan(expected[i])) << i;
    num_nan += std::isnan(got[i]) ? 1 : 0;
  }
  EXPECT_EQ(num_nan, 1);
}

TEST_F(Updates, OfAccumulatedGradientsAgree) {
  const CompileOptions options{.accumulate_gradients = true};
  for (bool clips : {false, true}) {
    const auto make = [&] {
      OptimizerDescriptor d{.learning_rate = 0.02f};
      d.applies_gradient_clipping = clips;
      d.gradient_clipping_type = GradientClippingType::ByGlobalNorm;
      d.maximum_clipping_norm = 0.1f;
      return std::make_shared<Adam>(d);
    };
    const auto train = [&](const Device& device) {
      Stack net(device, make(), 3, options);
      net.compile();
      for (int i = 0; i < 3; ++i) {
        for (int pass = 0; pass < 3; ++pass) {
          net.pass(GradientAccumulation::Mean);
        }
        net.t->execute_optimizer_update();
        net.step();
      }
      return net.parameters();
    };
    const Floats got = train(Device::gpu());
    expect_near(got, train(composed), 2e-5);
    expect_near(got, train(Device::cpu()), 2e-5);
  }
}

TEST_F(Updates, GroupsHaveTheirRates) {
  const auto train = [&](const Device& device) {
    Stack net(device, std::make_shared<AdamW>(0.01f), 3);
    const std::vector<Tensor>& parameters = net.tensors;
    net.t->set_parameter_groups(
        {{{parameters[0], parameters[3]}, 0.1f, 0.5f}, {{parameters[2]}, 0}});
    net.compile();
    const Floats before = read(parameters[2]);
    for (int i = 0; i < 4; ++i) net.step();
    EXPECT_EQ(read(parameters[2]), before);
    return net.parameters();
  };
  expect_near(train(Device::gpu()), train(Device::cpu()), 2e-5);
}

/// What failed before an update leaves every variable as it was, slots too.
TEST_F(Updates, HappenToAllVariablesOrToNone) {
  for (int every : {0, 1, 2}) {
    for (bool separate : {false, true}) {
      Stack gpu(Device::gpu(), std::make_shared<Adam>(0.01f), 3);
      Stack cpu(Device::cpu(), std::make_shared<Adam>(0.01f), 3);
      const auto train = [&](Stack& net) {
        separate ? net.phases().wait() : net.step().wait();
      };
      gpu.compile();
      cpu.compile();
      int failures = 0;
      for (int n = 0; n < 12; ++n) {
        train(gpu);
        train(cpu);
        const Floats before = gpu.parameters();
        emulator::commit_and_continue_every(every);
        emulator::delay_completion(0.0005);
        emulator::fail_command_buffer(/*code=*/1, /*after=*/n);
        try {
          train(gpu);
          emulator::reset_faults();
          train(cpu);
        } catch (const DeviceError&) {
          emulator::reset_faults();
          EXPECT_EQ(gpu.parameters(), before) << "after failure " << n;
          // What was not done does not count.
          gpu.optimizer->set_time_step(cpu.optimizer->time_step());
          ++failures;
        }
      }
      EXPECT_GT(failures, 0);
      train(gpu);
      train(cpu);
      expect_near(gpu.parameters(), cpu.parameters(), 1e-5);
    }
  }
}

TEST_F(Updates, DoWithoutKernelsThatMetalDoesNotCompile) {
  emulator::fail_library(/*after=*/1);
  const Device device{metal::make_context([](metal::GpuLimits&) {})};
  EXPECT_NE(device.context()->description().find("fails on demand"),
            std::string::npos);
  const auto make = [] { return std::make_shared<Adam>(0.01f); };
  EXPECT_EQ(trained(device, make()), trained(composed, make()));
  device.context()->drain();

  emulator::fail_library();
  EXPECT_EQ(metal::make_context([](metal::GpuLimits&) {}), nullptr);
}

}  // namespace
}  // namespace traingraph::testing
