// SPDX-License-Identifier: MIT
// Arenas of real networks are hardly larger than what lives at once.
#include <gtest/gtest.h>

#include <cstdio>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

void expect_tight(const char* name, const PlanMemory& plan) {
  std::printf("%s: arena %zu, live peak %zu, without reuse %zu\n", name,
              plan.arena_bytes, plan.live_peak_bytes, plan.unplanned_bytes);
  EXPECT_LE(plan.arena_bytes, plan.live_peak_bytes * 1.1) << name;
}

void expect_tight(Graph graph, const Tensor& x, std::int64_t classes,
                  const std::string& name) {
  const Tensor label({{x.shape()[0], classes}}, "label");
  TrainingGraph t({graph}, std::make_shared<losses::SoftmaxCrossEntropy>(),
                  std::make_shared<optimizers::Adam>());
  t.add_inputs({{"x", x}}, {{"label", label}});
  t.compile(test_device());
  const MemoryReport report = t.memory();
  expect_tight((name + " step").c_str(), report.step);
  expect_tight((name + " phases").c_str(), report.phases);
  expect_tight((name + " inference").c_str(), report.inference);
}

LayerPtr conv(std::int64_t in, std::int64_t out) {
  return std::make_shared<layers::Convolution>(in, out, 3, PaddingPolicy::Same);
}

Tensor normalized(Graph& g, const Tensor& x) {
  return g.node(
      std::make_shared<layers::ReLU>(),
      g.node(std::make_shared<layers::BatchNormalization>(x.shape()[1]), x));
}

TEST(ArenaSize, DigitsNetwork) {
  const Tensor x({{64, 1, 28, 28}}, "x");
  Graph g;
  Tensor h = normalized(g, g.node(conv(1, 16), x));
  h = g.node(std::make_shared<layers::MaxPooling>(2), h);
  h = normalized(g, g.node(conv(16, 32), h));
  h = g.node(std::make_shared<layers::MaxPooling>(2), h);
  h = g.node(std::make_shared<layers::Dropout>(0.25f), h);
  h = g.reshape({64, -1}, h);
  h = g.node(std::make_shared<layers::FullyConnected>(32 * 49, 64), h);
  h = g.node(std::make_shared<layers::ReLU>(), h);
  g.node(std::make_shared<layers::FullyConnected>(64, 10), h);
  expect_tight(g, x, 10, "digits");
}

TEST(ArenaSize, ResidualNetwork) {
  const Tensor x({{16, 3, 32, 32}}, "x");
  Graph g;
  Tensor h = normalized(g, g.node(conv(3, 16), x));
  for (std::int64_t channels : {16, 16, 32, 32, 64}) {
    Tensor skip = h;
    if (h.shape()[1] != channels) {
      skip = g.node(
          std::make_shared<layers::Convolution>(h.shape()[1], channels, 1), h);
      skip = g.node(std::make_shared<layers::AveragePooling>(2), skip);
    }
    Tensor r = normalized(g, g.node(conv(h.shape()[1], channels), h));
    if (h.shape()[1] != channels) {
      r = g.node(std::make_shared<layers::MaxPooling>(2), r);
    }
    r = g.node(conv(channels, channels), r);
    h = g.node(
        std::make_shared<layers::ReLU>(),
        g.node(std::make_shared<layers::Arithmetic>(ArithmeticOperation::Add),
               {r, skip}));
  }
  h = g.reshape({16, -1}, h);
  g.node(std::make_shared<layers::FullyConnected>(h.shape()[1], 10), h);
  expect_tight(g, x, 10, "residual");
}

}  // namespace
}  // namespace traingraph
