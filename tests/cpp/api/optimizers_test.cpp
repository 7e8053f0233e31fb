// SPDX-License-Identifier: MIT
// Every optimizer, clipping and regularization against formulas in double.
// Gradients are written between the phases, so that they are exact.
#include <gtest/gtest.h>

#include <functional>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

/// Runs the three phases with gradients of our own.
class Updates {
 public:
  explicit Updates(OptimizerPtr optimizer) : graph(net.train(optimizer)) {}

  void update(const Floats& w_gradient, const Floats& b_gradient) {
    graph.execute_forward(net.inputs, net.labels);
    graph.execute_gradient();
    graph.set_gradient_data(net.w(), w_gradient);
    graph.set_gradient_data(net.b(), b_gradient);
    graph.execute_optimizer_update();
  }

  Linear net;
  TrainingGraph graph;
};

/// One scalar's rule; t counts from 1. State persists between calls.
using Rule = std::function<double(double p, double g, int t)>;
using MakeRule = std::function<Rule()>;

MakeRule sgd_rule(double lr, double mu = 0, bool nesterov = false) {
  return [=] {
    return [=, m = 0.0](double p, double g, int) mutable {
      if (mu == 0) return p - lr * g;
      m = mu * m + (nesterov ? g : lr * g);
      return nesterov ? p - lr * (g + mu * m) : p - m;
    };
  };
}

MakeRule adam_rule(double lr, double b1, double b2, double eps, bool amsgrad,
                   double decay = 0) {
  return [=] {
    return
        [=, m = 0.0, v = 0.0, vmax = 0.0](double p, double g, int t) mutable {
          m = b1 * m + (1 - b1) * g;
          v = b2 * v + (1 - b2) * g * g;
          vmax = std::max(vmax, v);
          const double rate =
              lr * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t));
          return p - rate * m / (std::sqrt(amsgrad ? vmax : v) + eps) -
                 lr * decay * p;
        };
  };
}

MakeRule rmsprop_rule(double lr, double mu, double a, double eps,
                      bool centered) {
  return [=] {
    return [=, n = 0.0, mean = 0.0, d = 0.0](double p, double g, int) mutable {
      n = a * n + (1 - a) * g * g;
      mean = a * mean + (1 - a) * g;
      const double root = std::sqrt(centered ? n - mean * mean : n) + eps;
      d = mu * d - lr * g / root;
      return p + d;
    };
  };
}

/// Five updates with five gradients; `prepare` is what happens to g first.
void expect_follows(
    OptimizerPtr optimizer, const MakeRule& make,
    const std::function<double(double g, double p)>& prepare =
        [](double g, double) { return g; }) {
  Updates run(optimizer);
  const Floats start = host(run.net.w());
  Doubles p(start.begin(), start.end());
  std::vector<Rule> rules;
  for (std::size_t i = 0; i < p.size(); ++i) rules.push_back(make());
  for (int t = 1; t <= 5; ++t) {
    EXPECT_EQ(optimizer->time_step(), static_cast<std::uint64_t>(t));
    const Floats g = random_floats(p.size(), 100 + t);
    run.update(g, {0, 0});
    for (std::size_t i = 0; computes() && i < p.size(); ++i) {
      p[i] = rules[i](p[i], prepare(g[i], p[i]), t);
    }
    expect_near(read(run.net.w()), p, 2e-5);
  }
}

TEST(Optimizers, Sgd) { expect_follows(sgd(0.3f), sgd_rule(0.3)); }

TEST(Optimizers, SgdMomentum) {
  expect_follows(sgd(0.3f, 0.9f), sgd_rule(0.3, 0.9));
}

TEST(Optimizers, SgdNesterov) {
  expect_follows(std::make_shared<optimizers::SGD>(0.3f, 0.9f, true),
                 sgd_rule(0.3, 0.9, true));
}

TEST(Optimizers, Adam) {
  expect_follows(std::make_shared<optimizers::Adam>(0.1f),
                 adam_rule(0.1, 0.9, 0.999, 1e-8, false));
  expect_follows(
      std::make_shared<optimizers::Adam>(0.1f, 0.5f, 0.7f, 1e-3f, true),
      adam_rule(0.1, 0.5, 0.7, 1e-3, true));
}

TEST(Optimizers, AdamW) {
  const OptimizerDescriptor descriptor{.learning_rate = 0.1f,
                                       .regularization_scale = 0.2f};
  expect_follows(std::make_shared<optimizers::AdamW>(descriptor),
                 adam_rule(0.1, 0.9, 0.999, 1e-8, false, 0.2));
}

TEST(Optimizers, RmsProp) {
  expect_follows(std::make_shared<optimizers::RMSProp>(0.1f, 0.0f, 0.9f, 1e-6f),
                 rmsprop_rule(0.1, 0, 0.9, 1e-6, false));
  expect_follows(std::make_shared<optimizers::RMSProp>(0.1f, 0.5f, 0.9f, 1e-6f),
                 rmsprop_rule(0.1, 0.5, 0.9, 1e-6, false));
  expect_follows(
      std::make_shared<optimizers::RMSProp>(0.1f, 0.5f, 0.9f, 1e-3f, true),
      rmsprop_rule(0.1, 0.5, 0.9, 1e-3, true));
}

TEST(Optimizers, ClipRescaleAndRegularizeInThisOrder) {
  OptimizerDescriptor descriptor{.learning_rate = 0.3f,
                                 .gradient_rescale = 0.5f,
                                 .applies_gradient_clipping = true,
                                 .gradient_clip_max = 0.4f,
                                 .gradient_clip_min = -0.2f,
                                 .regularization_type = RegularizationType::L2,
                                 .regularization_scale = 0.1f};
  const auto clipped = [](double g) { return std::clamp(g, -0.2, 0.4) * 0.5; };
  expect_follows(std::make_shared<optimizers::SGD>(descriptor), sgd_rule(0.3),
                 [&](double g, double p) { return clipped(g) + 0.1 * p; });
  descriptor.regularization_type = RegularizationType::L1;
  expect_follows(
      std::make_shared<optimizers::SGD>(descriptor), sgd_rule(0.3),
      [&](double g, double p) { return clipped(g) + (p > 0 ? 0.1 : -0.1); });
}

Doubles scaled(const Floats& values, double factor) {
  Doubles result(values.begin(), values.end());
  for (double& v : result) v *= factor;
  return result;
}

OptimizerPtr clipping(GradientClippingType type, float maximum,
                      float custom = 0) {
  return std::make_shared<optimizers::SGD>(
      OptimizerDescriptor{.learning_rate = 1,
                          .applies_gradient_clipping = true,
                          .gradient_clipping_type = type,
                          .maximum_clipping_norm = maximum,
                          .custom_global_norm = custom});
}

const Floats kWeights{3, 0, 0, 0, 4, 0};  // norm 5
const Floats kBiases{0, 12};              // norm 12, together 13

TEST(Clipping, ByNormClipsEachParameter) {
  Updates run(clipping(GradientClippingType::ByNorm, 10));
  const Floats w = host(run.net.w()), b = host(run.net.b());
  run.update(kWeights, kBiases);
  expect_near(read(run.net.w()), stepped(w, scaled(kWeights, 1), 1));
  expect_near(read(run.net.b()), stepped(b, scaled(kBiases, 10.0 / 12), 1));
}

TEST(Clipping, ByGlobalNormClipsAllAlike) {
  Updates run(clipping(GradientClippingType::ByGlobalNorm, 6.5f));
  const Floats w = host(run.net.w()), b = host(run.net.b());
  run.update(kWeights, kBiases);
  expect_near(read(run.net.w()), stepped(w, scaled(kWeights, 0.5), 1));
  expect_near(read(run.net.b()), stepped(b, scaled(kBiases, 0.5), 1));
}

TEST(Clipping, TheGlobalNormIsThatOfAllParameters) {
  // Two layers, four parameters; each has a gradient that would change the norm
  // (2^2 + 4^2 + 5^2 + 6^2 = 81) if it were left out or taken twice.
  Linear net;
  const auto second = std::make_shared<layers::FullyConnected>(2, 2);
  net.y = net.graph.node(second, net.y);
  TrainingGraph t = net.train(clipping(GradientClippingType::ByGlobalNorm, 3));
  const Tensor parameters[] = {net.w(), net.b(), second->weights(),
                               second->biases()};
  const float sizes[] = {2, 4, 5, 6};
  std::vector<Floats> before;
  for (const Tensor& p : parameters) before.push_back(host(p));
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient();
  for (int i = 0; i < 4; ++i) {
    Floats gradient(before[i].size(), 0.0f);
    gradient[0] = sizes[i];
    t.set_gradient_data(parameters[i], gradient);
  }
  t.execute_optimizer_update();
  for (int i = 0; i < 4; ++i) {
    SCOPED_TRACE(i);
    Doubles clipped(before[i].size());
    clipped[0] = sizes[i] * 3.0 / 9;
    expect_near(read(parameters[i]), stepped(before[i], clipped, 1));
  }
}

TEST(Clipping, ACustomNormReplacesTheGlobalOne) {
  Updates run(clipping(GradientClippingType::ByGlobalNorm, 6, 24));
  const Floats w = host(run.net.w()), b = host(run.net.b());
  run.update(kWeights, kBiases);
  expect_near(read(run.net.w()), stepped(w, scaled(kWeights, 0.25), 1));
  expect_near(read(run.net.b()), stepped(b, scaled(kBiases, 0.25), 1));
}

TEST(Clipping, TheSwitchTakesEffectAtTheNextUpdate) {
  for (auto type : {GradientClippingType::ByValue, GradientClippingType::ByNorm,
                    GradientClippingType::ByGlobalNorm}) {
    const auto optimizer = clipping(type, 1);
    optimizer->set_applies_gradient_clipping(false);
    Updates run(optimizer);
    Floats b = host(run.net.b());
    run.update(kWeights, kBiases);
    expect_near(read(run.net.b()), stepped(b, {0, 12}, 1));
    b = read(run.net.b());
    optimizer->set_applies_gradient_clipping(true);
    run.update(Floats(6, 0.0f), kBiases);
    expect_near(read(run.net.b()), stepped(b, {0, 1}, 1));
  }
}

TEST(Optimizers, TheLearningRateTakesEffectAtTheNextUpdate) {
  const OptimizerPtr optimizer = sgd(0.5f);
  Linear net;
  TrainingGraph t = net.train(optimizer);
  Floats w = host(net.w()), b = host(net.b());
  for (float rate : {0.5f, 0.1f, 0.0f}) {
    optimizer->set_learning_rate(rate);
    t.execute(net.inputs, net.labels);
    expect_near(read(net.w()), stepped(w, net.weight_gradient(w, b), rate));
    w = read(net.w());
    b = read(net.b());
  }
}

TEST(Optimizers, SlotsExistFromCompileOn) {
  Linear net;
  TrainingGraph t =
      net.train(std::make_shared<optimizers::Adam>(0.1f, 0.9f, 0.999f, 1e-8f,
                                                   /*uses_amsgrad=*/true));
  const auto slots = net.w().optimizer_data();
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots[0].name, "momentum");
  EXPECT_EQ(slots[1].name, "velocity");
  EXPECT_EQ(slots[2].name, "maximum_velocity");
  net.w().synchronize_optimizer_data();
  for (const auto& slot : net.w().optimizer_data()) {
    ASSERT_EQ(slot.data.size(), 24u);
    for (std::byte byte : slot.data) EXPECT_EQ(byte, std::byte{0});
  }
}

std::vector<Floats> slots_of(const Tensor& tensor) {
  tensor.synchronize_optimizer_data();
  std::vector<Floats> slots;
  for (const auto& slot : tensor.optimizer_data()) {
    slots.emplace_back(slot.data.size() / sizeof(float));
    std::memcpy(slots.back().data(), slot.data.data(), slot.data.size());
  }
  return slots;
}

std::vector<TensorData> views(const std::vector<Floats>& slots) {
  std::vector<TensorData> data;
  for (const Floats& slot : slots) data.push_back(view(slot));
  return data;
}

using MakeOptimizer = std::function<OptimizerPtr()>;

const std::vector<MakeOptimizer>& all_optimizers() {
  static const std::vector<MakeOptimizer> all{
      [] { return sgd(0.1f, 0.9f); },
      [] { return std::make_shared<optimizers::SGD>(0.1f, 0.9f, true); },
      [] { return std::make_shared<optimizers::Adam>(0.1f); },
      [] {
        return std::make_shared<optimizers::Adam>(0.1f, 0.9f, 0.99f, 1e-6f,
                                                  true);
      },
      [] { return std::make_shared<optimizers::AdamW>(0.1f); },
      [] {
        return std::make_shared<optimizers::RMSProp>(0.1f, 0.5f, 0.9f, 1e-3f,
                                                     true);
      }};
  return all;
}

TEST(Optimizers, StateMovesToAnotherGraph) {
  for (const auto& make : all_optimizers()) {
    Linear a, b;
    TrainingGraph first = a.train(make());
    for (int i = 0; i < 3; ++i) first.execute(a.inputs, a.labels);
    const auto w_slots = slots_of(a.w()), b_slots = slots_of(a.b());
    EXPECT_EQ(w_slots[0] != Floats(6, 0.0f), computes());
    const OptimizerPtr optimizer = make();
    optimizer->set_time_step(4);
    TrainingGraph second = b.train(optimizer);
    const Floats w = read(a.w()), bias = read(a.b());
    b.w().bind_and_write_data(view(w), test_device());
    b.b().bind_and_write_data(view(bias), test_device());
    second.bind_optimizer_data(views(w_slots), b.w());
    b.b().bind_optimizer_data(views(b_slots));
    EXPECT_EQ(slots_of(b.w()), w_slots);
    for (int i = 0; i < 2; ++i) {
      first.execute(a.inputs, a.labels);
      second.execute(b.inputs, b.labels);
    }
    EXPECT_EQ(read(a.w()), read(b.w()));
    EXPECT_EQ(read(a.b()), read(b.b()));
  }
}

TEST(Optimizers, StateBoundBeforeCompileIsUsed) {
  Linear net;
  const Floats momentum(6, 2.0f), w = host(net.w()), b = host(net.b());
  net.w().bind_optimizer_data(views({momentum}));
  TrainingGraph t = net.train(sgd(0.1f, 0.5f));
  t.execute(net.inputs, net.labels);
  Doubles expected = stepped(w, net.weight_gradient(w, b), 0.1);
  for (double& v : expected) v -= computes() ? 0.5 * 2 : 0;
  expect_near(read(net.w()), expected);
}

TEST(Optimizers, CompiledLateAndReplaced) {
  Linear net;
  const Floats w = host(net.w()), b = host(net.b());
  TrainingGraph t = net.train(nullptr);
  EXPECT_EQ(t.memory().optimizer_bytes, 0u);
  t.execute(net.inputs, net.labels).wait();  // without update
  EXPECT_EQ(read(net.w()), w);
  t.compile_optimizer(sgd(0.5f, 0.9f));
  EXPECT_EQ(t.compile_count(), 2);
  EXPECT_EQ(net.w().optimizer_data().size(), 1u);
  t.execute(net.inputs, net.labels);
  const Floats w1 = read(net.w()), b1 = read(net.b());
  expect_near(w1, stepped(w, net.weight_gradient(w, b), 0.5));
  const OptimizerPtr adam = std::make_shared<optimizers::Adam>(0.1f);
  t.compile_optimizer(adam);
  EXPECT_EQ(t.optimizer(), adam);
  EXPECT_EQ(net.w().optimizer_data().size(), 2u);
  t.execute(net.inputs, net.labels).wait();
  const auto rule = adam_rule(0.1, 0.9, 0.999, 1e-8, false);
  const Doubles g = net.weight_gradient(w1, b1);
  Doubles expected;
  for (std::size_t i = 0; i < w1.size(); ++i) {
    expected.push_back(rule()(w1[i], g[i], 1));
  }
  expect_near(read(net.w()), expected);
  EXPECT_EQ(t.memory().predicted_bytes, t.memory().allocated_bytes);
}

}  // namespace
}  // namespace traingraph
