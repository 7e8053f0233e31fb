// SPDX-License-Identifier: MIT
// The networks of the benchmarks in 16 bits: what memory they save, what is
// left of the casts, and that steps learn.
#include <gtest/gtest.h>

#include "support/benchmark_networks.h"

namespace traingraph::testing {
namespace {

CompileOptions in(Precision precision) { return {.precision = precision}; }

class MixedNetworks : public ::testing::TestWithParam<const char*> {};

// The others hold mostly parameters, which stay float32.
TEST_P(MixedNetworks, TakeLessMemory) {
  if (test_device_type() == DeviceType::GPU) {
    GTEST_SKIP() << "what MPSGraph's executables hold is not in the arena";
  }
  const BenchmarkNetwork net(GetParam());
  const Report all = net.train().report();
  for (Precision mixed : {Precision::MixedBFloat16, Precision::MixedFloat16}) {
    const TrainingGraph t = net.train(test_device(), in(mixed));
    const Report report = t.report();
    EXPECT_EQ(t.notes(), report.notes);
    // A CBLAS needs less scratch for float32 than oneDNN, and as much for
    // casts.
    const bool is_onednn =
        test_device().name().find("oneDNN") != std::string::npos;
    const double most = is_onednn || !computes() ? 0.6 : 0.62;
    EXPECT_LE(static_cast<double>(report.arena_bytes),
              most * static_cast<double>(all.arena_bytes))
        << to_string(mixed);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MixedNetworks,
                         ::testing::Values("resnet-cifar", "transformer"),
                         [](const auto& info) {
                           return std::string(info.param).substr(0, 6);
                         });

bool is_cpu() { return test_device_type() == DeviceType::CPU && computes(); }

// Parameters are cast by the reorders that products ask for, and gradients by
// the products; what is left is at the borders of losses and norms.
TEST(MixedCasts, AreCounted) {
  const BenchmarkNetwork net("resnet-cifar");
  EXPECT_EQ(net.train().report().casts, 0);
  const Report report =
      net.train(test_device(), in(Precision::MixedBFloat16)).report();
  EXPECT_GT(report.casts, 20);
  EXPECT_LE(report.cast_units, report.casts);
  const bool is_native = is_cpu() && report.notes.empty();
  if (is_native) {
    EXPECT_LT(report.cast_units, 10);
  }
}

// Order of addition and rounding depend on nothing but the shapes.
TEST(MixedSteps, AreReproducible) {
  if (!computes()) GTEST_SKIP() << "needs numbers";
  const auto losses = [] {
    Platform::set_rng_seed(1);
    const BenchmarkNetwork net("cnn-mnist");
    TrainingGraph t = net.train(test_device(), in(Precision::MixedBFloat16));
    Floats values;
    for (int i = 0; i < 4; ++i) {
      values.push_back(t.execute(net.inputs, net.labels).get().loss());
    }
    return values;
  };
  const Floats first = losses();
  EXPECT_LT(first.back(), first.front());
  EXPECT_EQ(first, losses());
}

// Rounded operands, float32 sums; or float32, and a note that says so.
TEST(FastPrecision, RoundsOperandsAtMost) {
  if (!computes()) GTEST_SKIP() << "needs numbers";
  Linear fast(32, 300, 70), exact(32, 300, 70);
  TrainingGraph t = fast.train(sgd(0.1f), in(Precision::Fast));
  TrainingGraph u = exact.train(sgd(0.1f));
  const auto y_of = [](TrainingGraph& graph, const Linear& net) {
    const auto run = graph.execute_forward(net.inputs, net.labels).get();
    return floats_of(run.outputs().at(0));
  };
  const Floats y = y_of(t, fast), expected = y_of(u, exact);
  if (is_cpu() && !t.report().notes.empty()) {
    EXPECT_EQ(y, expected);
    return;
  }
  const Floats w = host(fast.w());
  for (std::int64_t i = 0; i < fast.batch * fast.out; ++i) {
    double size = 0;  // of the terms
    for (std::int64_t k = 0; k < fast.in; ++k) {
      size += std::abs(fast.x_data[i / fast.out * fast.in + k] *
                       w[i % fast.out * fast.in + k]);
    }
    ASSERT_NEAR(y[i], expected[i], 2.01 * 0x1p-9 * size + 1e-5) << "at " << i;
  }
}

}  // namespace
}  // namespace traingraph::testing
