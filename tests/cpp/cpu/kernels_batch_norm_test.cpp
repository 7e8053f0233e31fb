// SPDX-License-Identifier: MIT
// Batch normalisation and its gradient against a formula in double that shares
// no code with them.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "support/run_op.h"

namespace traingraph::testing {
namespace {

// float32 arithmetic over a few hundred elements.
constexpr double kTolerance = 2e-5;

struct BatchNormCase {
  Shape shape;
  bool has_gamma, has_beta, training;
};

struct BatchNormReference {
  std::vector<double> y, mean, variance;
  std::int64_t count;
};

std::int64_t channel_of(const Shape& shape, std::int64_t i) {
  return i / (shape.num_elements() / (shape[0] * shape[1])) % shape[1];
}

BatchNormReference batch_norm(const Shape& shape, const Values& x,
                              const Values& gamma, const Values& beta,
                              const Values* mean, const Values* variance,
                              double epsilon) {
  const std::int64_t n = shape.num_elements(), channels = shape[1];
  BatchNormReference r{.y = Values(n),
                       .mean = Values(channels),
                       .variance = Values(channels),
                       .count = n / channels};
  for (std::int64_t i = 0; i < n; ++i) {
    r.mean[channel_of(shape, i)] += x[i] / r.count;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = channel_of(shape, i);
    r.variance[c] += (x[i] - r.mean[c]) * (x[i] - r.mean[c]) / r.count;
  }
  if (mean) r.mean = *mean, r.variance = *variance;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t c = channel_of(shape, i);
    r.y[i] = (x[i] - r.mean[c]) / std::sqrt(r.variance[c] + epsilon);
    if (!gamma.empty()) r.y[i] *= gamma[c];
    if (!beta.empty()) r.y[i] += beta[c];
  }
  return r;
}

class BatchNorm : public ::testing::TestWithParam<BatchNormCase> {};

TEST_P(BatchNorm, MatchesTheFormula) {
  const auto& [shape, has_gamma, has_beta, training] = GetParam();
  const Shape channels{shape[1]};
  const BatchNormAttrs attrs{.epsilon = 1e-3f,
                             .momentum = training ? 0.9f : 0.99f,
                             .training = training};
  const Values x = random_values(shape.num_elements(), 1);
  const Values gamma = has_gamma ? random_values(shape[1], 2) : Values{};
  const Values beta = has_beta ? random_values(shape[1], 3) : Values{};
  const Values mean = random_values(shape[1], 4);
  const Values variance(shape[1], 0.75);
  const auto expected =
      batch_norm(shape, x, gamma, beta, training ? nullptr : &mean,
                 training ? nullptr : &variance, attrs.epsilon);

  OpRun run(OpKind::BatchNorm, attrs);
  run.input(shape, x);
  has_gamma ? run.input(channels, gamma) : run.no_input();
  has_beta ? run.input(channels, beta) : run.no_input();
  run.variable(channels, mean).variable(channels, variance).run();
  expect_near(run.result(0), expected.y, kTolerance);
  expect_near(run.result(1), expected.mean, kTolerance);
  expect_near(run.result(2), expected.variance, kTolerance);

  Values running_mean = mean, running_variance = variance;
  const double n = static_cast<double>(expected.count);
  for (std::int64_t c = 0; training && c < shape[1]; ++c) {
    running_mean[c] = 0.9 * mean[c] + 0.1 * expected.mean[c];
    running_variance[c] = 0.9 * variance[c] + 0.1 * expected.variance[c] *
                                                  (n > 1 ? n / (n - 1) : 1);
  }
  expect_near(run.after(3), running_mean, kTolerance);
  expect_near(run.after(4), running_variance, kTolerance);
}

TEST_P(BatchNorm, GradientIsTheDerivative) {
  const auto& [case_shape, has_gamma, has_beta, case_training] = GetParam();
  // What lambdas capture: with OpenMP, clang 16 captures no parts of a binding.
  const Shape& shape = case_shape;
  const bool training = case_training;
  const Shape channels{shape[1]};
  const BatchNormAttrs attrs{.epsilon = 1e-2f, .training = training};
  const Values x = random_values(shape.num_elements(), 1);
  const Values g = random_values(shape.num_elements(), 5);
  Values gamma = has_gamma ? random_values(shape[1], 2) : Values{};
  const Values unit(shape[1], 1.0), none(shape[1], 0.0);
  const auto forward = batch_norm(shape, x, {}, {}, nullptr, nullptr, 0);
  const Values mean = training ? forward.mean : random_values(shape[1], 4);
  const Values variance = training ? forward.variance : Values(shape[1], 0.75);

  OpRun run(OpKind::BatchNormGradient, attrs);
  run.input(shape, g).input(shape, x);
  has_gamma ? run.input(channels, gamma) : run.no_input();
  run.input(channels, mean).input(channels, variance).run();

  const auto loss = [&](const Values& x, const Values& gamma,
                        const Values& beta) {
    const auto r = batch_norm(shape, x, gamma, beta, training ? nullptr : &mean,
                              training ? nullptr : &variance, attrs.epsilon);
    return std::inner_product(g.begin(), g.end(), r.y.begin(), 0.0);
  };
  const Values scale = has_gamma ? gamma : unit;
  expect_near(
      run.result(0),
      derivative(x, [&](const Values& v) { return loss(v, scale, none); }),
      1e-4);
  expect_near(
      run.result(1),
      derivative(scale, [&](const Values& v) { return loss(x, v, none); }),
      1e-4);
  expect_near(
      run.result(2),
      derivative(none, [&](const Values& v) { return loss(x, scale, v); }),
      1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BatchNorm,
    ::testing::Values(BatchNormCase{{4, 3, 2, 5}, true, true, true},
                      BatchNormCase{{4, 3, 2, 5}, true, true, false},
                      BatchNormCase{{2, 16, 3, 3}, true, true, true},
                      BatchNormCase{{3, 5, 2, 2}, false, false, true},
                      BatchNormCase{{3, 5, 2, 2}, false, false, false},
                      BatchNormCase{{3, 5, 2, 2}, true, false, true},
                      BatchNormCase{{3, 5, 2, 2}, false, true, true},
                      BatchNormCase{{7, 19}, true, true, true},
                      BatchNormCase{{7, 19}, true, true, false},
                      BatchNormCase{{2, 3, 11}, true, true, true},
                      BatchNormCase{{2, 3, 2, 2, 3}, true, true, true},
                      BatchNormCase{{2, 3, 2, 1, 2, 3}, true, false, true},
                      BatchNormCase{{1, 3}, true, true, true}));

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

// A convolution leaves its result in oneDNN's layout; the norm, its gradient
// and the convolution's gradient keep it.
TEST(BatchNormAfterConvolution, StaysInTheConvolutionsLayout) {
  const Shape shape{2, 20, 5, 6};  // 20 is no multiple of a block
  Program program;
  const auto add = [&](Role role, Shape s) {
    return program.add_value(role, {s, DataType::Float32}, "v");
  };
  const ValueId x = add(Role::Input, shape), g = add(Role::Input, shape);
  const ValueId weights = add(Role::Variable, {20, 20, 1, 1});
  const ValueId gamma = add(Role::Variable, {20});
  const ValueId beta = add(Role::Variable, {20});
  const ValueId mean = add(Role::Variable, {20});
  const ValueId variance = add(Role::Variable, {20});
  const ValueId z = program.append_one(
      OpKind::Convolution2d, Convolution2dAttrs{}, {x, weights, kNoValue});
  const BatchNormAttrs attrs{.epsilon = 1e-3f};
  const auto norm = program.append(OpKind::BatchNorm, attrs,
                                   {z, gamma, beta, mean, variance});
  const auto gradients = program.append(OpKind::BatchNormGradient, attrs,
                                        {g, z, gamma, norm[1], norm[2]});
  ProgramRun run(program, {norm[0], gradients[0], gradients[1], gradients[2]});

  const Values xs = random_values(shape.num_elements(), 1);
  const Values gs = random_values(shape.num_elements(), 2);
  const Values scale = random_values(20, 3), shift = random_values(20, 4);
  Values identity(400);
  for (int i = 0; i < 20; ++i) identity[i * 21] = 1;
  const auto set = [&](ValueId id, const Values& values) {
    run.set(id, std::vector<float>(values.begin(), values.end()));
  };
  set(x, xs), set(g, gs), set(weights, identity), set(gamma, scale);
  set(beta, shift), set(mean, Values(20)), set(variance, Values(20));
  run.run();

  const auto forward = [&](const Values& x, const Values& gamma) {
    return batch_norm(shape, x, gamma, shift, nullptr, nullptr, attrs.epsilon)
        .y;
  };
  const auto get = [&](ValueId id) {
    const auto values = run.get(id);
    return Values(values.begin(), values.end());
  };
  const auto loss = [&](const Values& x, const Values& gamma) {
    const Values y = forward(x, gamma);
    return std::inner_product(gs.begin(), gs.end(), y.begin(), 0.0);
  };
  expect_near(get(norm[0]), forward(xs, scale), kTolerance);
  expect_near(get(gradients[0]),
              derivative(xs, [&](const Values& v) { return loss(v, scale); }),
              1e-4);
  expect_near(get(gradients[1]),
              derivative(scale, [&](const Values& v) { return loss(xs, v); }),
              1e-4);
  EXPECT_TRUE(run.has_intact_guards());
}

}  // namespace
}  // namespace traingraph::testing
