// SPDX-License-Identifier: MIT
// All combinations of stopped values and incoming gradients around a node with
// two results: a stopped value passes nothing on, whatever its siblings do.
#include <gtest/gtest.h>

#include "autodiff/gradient.h"
#include "support/run_program.h"

namespace traingraph {
namespace {

using testing::ProgramRun;
using Floats = std::vector<float>;

/// x (2) -> split -> y0, y1 (1 each);  z0 = a0 y0,  z1 = a1 y1.
struct Network {
  Network() {
    x = input({2});
    const auto parts = program.append(
        OpKind::Split, SplitAttrs{.lengths = {1, 1}, .axis = 0}, {x}, "split");
    for (int i = 0; i < 2; ++i) {
      a[i] = input({1});
      values.push_back(parts[i]);
    }
    for (int i = 0; i < 2; ++i) {
      values.push_back(program.append_one(
          OpKind::Binary, ArithmeticAttrs{ArithmeticOperation::Multiply},
          {parts[i], a[i]}, "product"));
    }
  }
  ValueId input(Shape shape) {
    return program.add_value(Role::Input, {shape}, "input");
  }
  Program program;
  ValueId x = kNoValue;
  ValueId a[2] = {};
  std::vector<ValueId> values;  // y0, y1, z0, z1
};

TEST(StoppedGradients, InAllCombinationsWithSeeds) {
  const float factor[] = {3, 5}, seed[] = {1, 10, 100, 1000};
  for (unsigned seeded = 1; seeded < 16; ++seeded) {
    for (unsigned stopped = 0; stopped < 16; ++stopped) {
      const auto passes = [&](unsigned set, int i) { return set >> i & 1u; };
      Network net;
      GradientRequest request{.seeds = {}, .wanted = {net.x}, .stopped = {}};
      std::vector<std::pair<ValueId, Floats>> data;
      for (int i = 0; i < 4; ++i) {
        if (passes(stopped, i)) request.stopped.insert(net.values[i]);
        if (!passes(seeded, i)) continue;
        const ValueId gradient = net.input({1});
        request.seeds.emplace_back(net.values[i], gradient);
        data.emplace_back(gradient, Floats{seed[i]});
      }
      Floats expected(2, 0.0f);
      for (int i = 0; i < 2; ++i) {
        if (passes(stopped, i)) continue;
        if (passes(seeded, i)) expected[i] += seed[i];
        if (passes(seeded, 2 + i) && !passes(stopped, 2 + i)) {
          expected[i] += factor[i] * seed[2 + i];
        }
      }
      const GradientMap gradients = differentiate(net.program, request);
      const auto dx = gradients.find(net.x);
      if (dx == gradients.end()) {
        EXPECT_EQ(expected, Floats(2, 0.0f)) << seeded << " " << stopped;
        continue;
      }
      ProgramRun run(net.program, {dx->second});
      for (int i = 0; i < 2; ++i) run.set(net.a[i], Floats{factor[i]});
      run.set(net.x, Floats{7, 11});
      for (const auto& [value, contents] : data) run.set(value, contents);
      run.run();
      EXPECT_EQ(run.get(dx->second), expected) << seeded << " " << stopped;
    }
  }
}

}  // namespace
}  // namespace traingraph
