// SPDX-License-Identifier: MIT
// Recurrent layers and ops on the CPU: the same values on any number of
// threads, also one after the other in a process, which shares oneDNN's
// primitives.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/recurrent_networks.h"

namespace traingraph::testing {
namespace {

// One sample; odd sizes; products of the engine; and several blocks of columns.
#ifdef TRAINGRAPH_EMULATED
// The last two at once: a training of the larger ones takes a minute there.
constexpr std::array<RecurrentSize, 3> kSizes{{
    {.steps = 5, .samples = 1, .features = 7, .hidden = 12},
    {.steps = 3, .samples = 21, .features = 30, .hidden = 67},
    {.steps = 2, .samples = 34, .features = 33, .hidden = 136},
}};
#else
constexpr std::array<RecurrentSize, 4> kSizes{{
    {.steps = 5, .samples = 1, .features = 7, .hidden = 12},
    {.steps = 7, .samples = 21, .features = 30, .hidden = 67},
    {.steps = 9, .samples = 32, .features = 64, .hidden = 128},
    {.steps = 4, .samples = 64, .features = 33, .hidden = 256},
}};
#endif

// The seed of dropout is fixed, for failures that can be repeated.
constexpr std::int64_t kSeed = 3;

/// What oneDNN sums up in which order depends on threads (with AVX2, not with
/// AVX-512).
constexpr float kReordered = 1e-5f;

/// Largest difference over the largest value; infinite where one is no number,
/// which std::max would pass over.
float difference(const std::vector<Floats>& x, const std::vector<Floats>& y) {
  float largest = 0, distance = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = 0; k < x[i].size(); ++k) {
      const float apart = std::abs(x[i][k] - y[i].at(k));
      if (!std::isfinite(apart)) return std::numeric_limits<float>::infinity();
      largest = std::max(largest, std::abs(x[i][k]));
      distance = std::max(distance, apart);
    }
  }
  return distance / largest;
}

TEST(CpuRecurrent, WhatIsNoNumberDiffers) {
  const Floats numbers{1, 2};
  EXPECT_EQ(difference({numbers}, {{1, 1}}), 0.5f);
  EXPECT_FALSE(difference({numbers}, {{1, NAN}}) < kReordered);
  EXPECT_FALSE(difference({{NAN, 2}}, {numbers}) < kReordered);
}

std::string describe(const char* name, const RecurrentSize& size, int threads) {
  return std::string(name) + ", hidden " + std::to_string(size.hidden) + ", " +
         std::to_string(threads) + " threads";
}

std::vector<Floats> trained(const char* name, const RecurrentSize& size,
                            int threads) {
  Platform::set_rng_seed(kSeed);
  const RecurrentTraining net(name, size);
  TrainingGraph t = net.train(Device::cpu(threads));
  for (int i = 0; i < 3; ++i) t.execute(net.inputs, net.labels).wait();
  std::vector<Floats> all;
  for (const TensorParameter& parameter : net.layer->parameters()) {
    all.push_back(read(parameter.tensor()));
  }
  return all;
}

std::vector<Floats> results(const char* name, const RecurrentSize& size,
                            int threads) {
  const RecurrentOps ops(name, size);
  InferenceGraph inference = ops.compile(Device::cpu(threads));
  const auto run = inference.execute(ops.data).result();
  std::vector<Floats> all;
  for (std::size_t i = 0; i < ops.results.size(); ++i) {
    all.push_back(floats_of(run.output(std::to_string(i))));
  }
  return all;
}

TEST(CpuRecurrent, LayersDoNotDependOnThreads) {
  for (const char* name : kRecurrentLayers) {
    for (const RecurrentSize& size : kSizes) {
      const auto expected = trained(name, size, 1);
      EXPECT_EQ(trained(name, size, 1), expected);
      for (int threads : {2, 3, 4}) {
        EXPECT_LT(difference(trained(name, size, threads), expected),
                  kReordered)
            << describe(name, size, threads);
      }
    }
  }
}

TEST(CpuRecurrent, OpsAndTheirGradientsDoNotDependOnThreads) {
  for (const char* name : kRecurrentOps) {
    for (const RecurrentSize& size : kSizes) {
      const auto expected = results(name, size, 1);
      for (int threads : {2, 3, 4}) {
        EXPECT_LT(difference(results(name, size, threads), expected),
                  kReordered)
            << describe(name, size, threads);
      }
    }
  }
}

}  // namespace
}  // namespace traingraph::testing
