// SPDX-License-Identifier: MIT
// Graphs that compute in 16 bits: what stays float32, how far the numbers may
// be off, and what a loss scale does with gradients that are not finite.
#include <gtest/gtest.h>

#include <limits>

#include "support/training.h"

namespace traingraph {
namespace {

using namespace testing;

constexpr double kUnit[] = {0x1p-24, 0, 0x1p-8, 0x1p-11};  // by Precision / 1

double unit_of(Precision precision) {
  return kUnit[static_cast<int>(precision)];
}

float rounded(Precision precision, float x) {
  if (precision == Precision::MixedBFloat16) return bfloat16(x);
  if (precision == Precision::MixedFloat16) return float16(x);
  return x;
}

CompileOptions in(Precision precision) { return {.precision = precision}; }

class Mixed : public ::testing::TestWithParam<Precision> {
 protected:
  /// The linear layer in double, of operands that are rounded.
  Doubles expected_output(const Linear& net) const {
    const Floats w = host(net.w()), b = host(net.b());
    const auto low = [&](float x) { return double{rounded(GetParam(), x)}; };
    Doubles y(net.batch * net.out);
    for (std::int64_t n = 0; n < net.batch; ++n) {
      for (std::int64_t o = 0; o < net.out; ++o) {
        double& sum = y[n * net.out + o];
        sum = low(b[o]);
        for (std::int64_t i = 0; i < net.in; ++i) {
          sum += low(net.x_data[n * net.in + i]) * low(w[o * net.in + i]);
        }
      }
    }
    return computed(std::move(y));
  }
};

// One rounding of the result and float32 sums; MPSGraph adds the bias to what
// the product was rounded to.
TEST_P(Mixed, AProductIsRoundedOnce) {
  Linear net(16, 70, 9);
  TrainingGraph t = net.train(sgd(0.1f), in(GetParam()));
  const auto result = t.execute_forward(net.inputs, net.labels).get();
  const Floats y = floats_of(result.outputs()[0]);
  const Doubles expected = expected_output(net);
  const Floats b = host(net.b());
  const bool is_gpu = test_device().type() == DeviceType::GPU;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double product = expected[i] - b[i % b.size()];
    const double rounded =
        std::abs(expected[i]) + (is_gpu ? std::abs(product) : 0);
    const double bound = unit_of(GetParam()) * rounded + 1e-5;
    ASSERT_NEAR(y[i], expected[i], bound) << "at " << i;
  }
}

TEST_P(Mixed, ParametersAndGradientsStayFloat32) {
  Linear net(16, 70, 9);
  TrainingGraph t = net.train(sgd(0.5f), in(GetParam()));
  t.execute_forward(net.inputs, net.labels);
  t.execute_gradient().wait();
  if (has_host_views()) {
    EXPECT_EQ(t.gradient_view(net.w()).descriptor.data_type, DataType::Float32);
  }
  const Floats w = host(net.w());
  const Floats g = t.gradient_data(net.w());
  const Doubles exact = net.weight_gradient(w, host(net.b()));
  double norm = 0, difference = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    norm += exact[i] * exact[i];
    difference += (g[i] - exact[i]) * (g[i] - exact[i]);
  }
  // x, w and y are rounded, then dy and dw: each once.
  EXPECT_LE(std::sqrt(difference), 5 * unit_of(GetParam()) * std::sqrt(norm));
  t.execute_optimizer_update().wait();
  const Doubles stepped_w = stepped(w, Doubles(g.begin(), g.end()), 0.5);
  expect_near(read(net.w()), stepped_w, 1e-6);
}

TEST_P(Mixed, AStepIsThatOfThePhases) {
  Linear a(16, 70, 9), b(16, 70, 9);
  TrainingGraph phases = a.train(sgd(0.5f, 0.9f), in(GetParam()));
  TrainingGraph steps = b.train(sgd(0.5f, 0.9f), in(GetParam()));
  for (int i = 0; i < 3; ++i) {
    phases.execute_forward(a.inputs, a.labels);
    phases.execute_gradient();
    phases.execute_optimizer_update().wait();
    steps.execute(b.inputs, b.labels).wait();
  }
  EXPECT_EQ(read(a.w()), read(b.w()));
}

TEST_P(Mixed, TheMemoryReportIsExact) {
  Linear net(16, 70, 9);
  TrainingGraph t =
      net.train(std::make_shared<optimizers::Adam>(), in(GetParam()));
  const std::size_t predicted = t.memory().total_bytes(true, true);
  t.execute(net.inputs, net.labels).wait();
  t.execute_forward(net.inputs, net.labels).wait();
  EXPECT_EQ(t.memory().allocated_bytes, predicted);
  EXPECT_EQ(t.memory().predicted_bytes, predicted);
}

TEST_P(Mixed, AGradientThatANodeComputesIsFloat32) {
  Graph graph;
  const Tensor x({{4, 3}}, "x"), dy({{4, 2}}, "dy");
  const Tensor w = Tensor::filled({{3, 2}}, 5, "w", std::nullopt);
  const Tensor y = graph.op(OpKind::MatMul, MatMulAttrs{}, {x, w}, "y").front();
  const Tensor dw = graph
                        .op(OpKind::MatMul, MatMulAttrs{.transposes_x = true},
                            {x, dy}, "dw", Phase::Gradient)
                        .front();
  TrainingGraph t({graph}, nullptr, sgd(1));
  t.add_inputs({{"x", x}, {"dy", dy}});
  t.add_outputs({{"y", y}});
  t.set_training_tensor_parameters({TensorParameter(w)});
  t.set_gradient(w, dw);
  t.compile(test_device(), in(GetParam()));
  const Floats ones(12, 1), halves(8, 0.5f);  // exact in 16 bits
  t.execute({{"x", view(ones)}, {"dy", view(halves)}}).wait();
  const float expected = computes() ? 5 - 4 * 0.5f : 5;
  EXPECT_EQ(read(w), Floats(6, expected));
}

INSTANTIATE_TEST_SUITE_P(All, Mixed,
                         ::testing::Values(Precision::MixedBFloat16,
                                           Precision::MixedFloat16),
                         [](const auto& info) {
                           return std::string(to_string(info.param));
                         });

TEST(ComputeType, OfALayerComesFirst) {
  Linear net(16, 70, 9), exact(16, 70, 9);
  net.layer->set_compute_type(DataType::Float32);
  TrainingGraph t = net.train(sgd(0.1f), in(Precision::MixedBFloat16));
  TrainingGraph u = exact.train(sgd(0.1f));
  const auto y = [](TrainingGraph& graph, Linear& of) {
    const auto run = graph.execute_forward(of.inputs, of.labels).get();
    return floats_of(run.outputs()[0]);
  };
  EXPECT_EQ(y(t, net), y(u, exact));

  Linear low(16, 70, 9), mixed(16, 70, 9);
  low.layer->set_compute_type(DataType::BFloat16);
  TrainingGraph v = low.train(sgd(0.1f));
  TrainingGraph w = mixed.train(sgd(0.1f), in(Precision::MixedBFloat16));
  EXPECT_EQ(y(v, low), y(w, mixed));
}

class LossScale : public ::testing::Test {
 protected:
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();

  void overflow(TrainingGraph& t, Linear& net) {
    const float x = std::exchange(net.x_data[0], kInfinity);
    t.execute(net.inputs, net.labels).wait();
    net.x_data[0] = x;
  }
};

TEST_F(LossScale, AnOverflowChangesNothing) {
  if (!computes()) GTEST_SKIP() << "needs numbers";
  Linear net(16, 70, 9);
  TrainingGraph t = net.train(std::make_shared<optimizers::Adam>(0.1f),
                              in(Precision::MixedFloat16));
  EXPECT_EQ(t.loss_scale(), 65536);
  t.execute(net.inputs, net.labels).wait();
  const Floats w = read(net.w()), b = read(net.b());
  overflow(t, net);
  EXPECT_EQ(read(net.w()), w);
  EXPECT_EQ(read(net.b()), b);
  EXPECT_EQ(t.loss_scale(), 32768);
  EXPECT_EQ(t.skipped_steps(), 1);
  t.execute(net.inputs, net.labels).wait();
  EXPECT_NE(read(net.w()), w);
  EXPECT_EQ(t.skipped_steps(), 1);
}

// Adam's step 2 is the second update that counts. The factor is a power of
// two, so that the gradients are the same; the corrected rate is rounded anew.
TEST_F(LossScale, AdamDoesNotCountWhatWasLeftOut) {
  if (!computes()) GTEST_SKIP() << "needs numbers";
  const auto trained = [&](bool overflows) {
    Linear net(16, 70, 9);
    TrainingGraph t = net.train(std::make_shared<optimizers::Adam>(0.1f),
                                in(Precision::MixedFloat16));
    t.set_loss_scale(64);
    if (overflows) overflow(t, net);
    for (int i = 0; i < 3; ++i) t.execute(net.inputs, net.labels).wait();
    return read(net.w());
  };
  expect_near(trained(true), trained(false), 1e-6);
}

TEST_F(LossScale, EveryKindOfUpdateAndClippingLeavesOut) {
  if (!computes()) GTEST_SKIP() << "needs numbers";
  for (auto type : {GradientClippingType::ByValue, GradientClippingType::ByNorm,
                    GradientClippingType::ByGlobalNorm}) {
    OptimizerDescriptor d;
    d.learning_rate = 0.1f;
    d.applies_gradient_clipping = true;
    d.gradient_clipping_type = type;
    if (type != GradientClippingType::ByValue) d.maximum_clipping_norm = 0.5f;
    const std::vector<OptimizerPtr> kinds{
        std::make_shared<optimizers::SGD>(d),
        std::make_shared<optimizers::SGD>(d, 0.9f),
        std::make_shared<optimizers::Adam>(d),
        std::make_shared<optimizers::RMSProp>(d, 0.9f)};
    for (const OptimizerPtr& optimizer : kinds) {
      Linear net(16, 70, 9);
      TrainingGraph t = net.train(optimizer, in(Precision::MixedFloat16));
      const Floats w = host(net.w());
      overflow(t, net);
      EXPECT_EQ(read(net.w()), w);
      t.execute(net.inputs, net.labels).wait();
      const Floats next = read(net.w());
      EXPECT_NE(next, w);
      for (float x : next) EXPECT_TRUE(std::isfinite(x));
    }
  }
}

// The host may edit them: an infinity that it writes is found.
TEST_F(LossScale, GradientsAreSeenWithoutIt) {
  if (!computes()) GTEST_SKIP() << "needs numbers";
  Linear net(16, 70, 9);
  TrainingGraph t = net.train(sgd(0.5f), in(Precision::MixedFloat16));
  const auto gradient_at = [&](float scale) {
    t.set_loss_scale(scale);
    t.execute_forward(net.inputs, net.labels);
    t.execute_gradient().wait();
    return t.gradient_data(net.w());
  };
  const Floats g = gradient_at(64);
  EXPECT_EQ(gradient_at(128), g);
  Floats edited = g;
  edited[3] = kInfinity;
  t.set_gradient_data(net.w(), edited);
  const Floats w = host(net.w());
  t.execute_optimizer_update().wait();
  EXPECT_EQ(read(net.w()), w);
  EXPECT_EQ(t.skipped_steps(), 1);
}

TEST_F(LossScale, IsAPowerOfTwo) {
  Linear net;
  TrainingGraph t = net.train(sgd(0.1f), in(Precision::MixedFloat16));
  for (float bad : {0.0f, -2.0f, 3.0f, kInfinity, 0x1p25f, std::nanf("")}) {
    const auto info = error_of<InvalidArgument>([&] { t.set_loss_scale(bad); });
    EXPECT_NE(info.expected.find("power of two"), std::string::npos);
  }
  t.set_loss_scale(0x1p-24f);
  Linear plain;
  TrainingGraph u = plain.train(sgd(0.1f));
  error_of<StateError>([&] { (void)u.loss_scale(); });
}

TEST_F(LossScale, LinkedGraphsHaveNone) {
  Linear net;
  const auto info = error_of<UnsupportedError>([&] {
    net.train(sgd(0.1f),
              {.link_graphs = true, .precision = Precision::MixedFloat16});
  });
  EXPECT_NE(info.expected.find("mixed_bfloat16"), std::string::npos);
}

}  // namespace
}  // namespace traingraph
