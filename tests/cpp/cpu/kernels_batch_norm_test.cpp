// SPDX-License-Identifier: MIT
// Batch normalisation worked out by hand, and its gradient in part.
#include <gtest/gtest.h>

#include <cmath>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

// A frozen layer: gamma is read, and nobody wants its gradient.
TEST(BatchNormGradient, OfTheSourceAlone) {
  const Shape shape{2, 3, 4, 4}, channels{3};
  for (const bool training : {false, true}) {
    const BatchNormAttrs attrs{.epsilon = 1e-3f, .training = training};
    Program program;
    std::vector<ValueId> inputs;
    for (const Shape& s : {shape, shape, channels, channels, channels}) {
      inputs.push_back(
          program.add_value(Role::Input, {s, DataType::Float32}, "v"));
    }
    const auto gradients =
        program.append(OpKind::BatchNormGradient, attrs, inputs);
    const auto source_gradient = [&](std::vector<ValueId> kept) {
      ProgramRun run(program, std::move(kept));
      for (const ValueId id : inputs) {
        const auto values =
            random_values(program.shape(id).num_elements(), id + 1);
        std::vector<float> magnitudes(values.begin(), values.end());
        for (float& value : magnitudes) value = 1 + std::abs(value);
        run.set(id, magnitudes);
      }
      run.run();
      EXPECT_TRUE(run.has_intact_guards());
      return run.get(gradients[0]);
    };
    EXPECT_EQ(source_gradient({gradients[0]}), source_gradient(gradients));
  }
}

TEST(BatchNormHandComputed, TwoSamples) {
  OpRun run(OpKind::BatchNorm,
            BatchNormAttrs{.epsilon = 0, .momentum = 0.5f, .training = true});
  run.input({2, 1}, {1, 3}).input({1}, {10}).input({1}, {1});
  run.variable({1}, {0}).variable({1}, {1}).run();
  expect_near(run.result(0), {-9, 11}, 1e-5);
  expect_near(run.after(3), {1}, 1e-6);
  expect_near(run.after(4), {1.5}, 1e-6);  // unbiased variance is 2
}

}  // namespace
}  // namespace traingraph::testing
