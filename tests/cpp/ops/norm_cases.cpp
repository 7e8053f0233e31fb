// SPDX-License-Identifier: MIT
// Cases of batch normalisation and softmax with their gradient ops.
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

constexpr const char* kStatisticsReason =
    "the statistics of a channel are sums of differences in float32";
constexpr double kStatisticsTolerance = 2e-5;

std::vector<CaseInput> normalized_inputs(const Shape& x, bool has_gamma,
                                         bool has_beta) {
  const Shape channels{x[1]};
  return {{x, uniform(-2, 3)},
          has_gamma ? CaseInput{channels, uniform(0.5, 1.5)} : absent(),
          has_beta ? CaseInput{channels} : absent(),
          {channels},
          {channels, uniform(0.5, 2)}};
}

/// The batch's statistics, as the forward op gives them to its gradient.
Domain statistic_of_x(int result) {
  return derived([result](const RefTensors& earlier) {
    const RefTensor& x = earlier.at(1);
    RefTensors in{x, {}, {}, zeros({x.shape[1]}), filled({x.shape[1]}, 1)};
    return evaluate(OpKind::BatchNorm, BatchNormAttrs{}, in).at(result);
  });
}

void add_batch_norm(OpCases& cases, const Shape& x, const BatchNormAttrs& attrs,
                    int affine) {
  const bool has_gamma = (affine & 1) != 0, has_beta = (affine & 2) != 0;
  OpCase forward{.op = OpKind::BatchNorm,
                 .attrs = attrs,
                 .inputs = normalized_inputs(x, has_gamma, has_beta),
                 .gradients = {0},
                 .tolerance = kStatisticsTolerance,
                 .gradient_tolerance = 4 * kStatisticsTolerance,
                 .reason = kStatisticsReason};
  if (has_gamma) forward.gradients.push_back(1);
  if (has_beta) forward.gradients.push_back(2);
  cases.push_back(forward);
  // The reference takes differences of every element: keep it small.
  if (x.num_elements() > 200) return;
  const Shape channels{x[1]};
  const CaseInput mean{channels,
                       attrs.training ? statistic_of_x(1) : uniform()};
  const CaseInput variance{
      channels, attrs.training ? statistic_of_x(2) : uniform(0.5, 2)};
  cases.push_back(
      {.op = OpKind::BatchNormGradient,
       .attrs = attrs,
       .inputs = {{x}, {x, uniform(-2, 3)}, forward.inputs[1], mean, variance},
       .tolerance = 4 * kStatisticsTolerance,
       .reason = kStatisticsReason});
}

void add_batch_norms(OpCases& cases, Random& random) {
  const Shape shapes[] = {
      {4, 3},        {7, 5},       {2, 3, 5},         {3, 2, 2, 3},
      {1, 4, 3, 3},  {2, 1, 4, 4}, {2, 3, 2, 1, 2},   {3, 17, 5, 5},
      {2, 16, 4, 4}, {7, 19},      {2, 3, 2, 1, 2, 3}};
  for (const Shape& x : shapes) {
    for (int affine = 0; affine < 4; ++affine) {
      for (bool training : {true, false}) {
        add_batch_norm(cases, x, {.epsilon = 1e-3f, .training = training},
                       affine);
      }
    }
  }
  for (float momentum : {0.0f, 0.9f, 1.0f}) {
    add_batch_norm(cases, {3, 2, 2, 3}, {.epsilon = 0.1f, .momentum = momentum},
                   3);
  }
  // One sample per channel: no variance at all.
  add_batch_norm(cases, {1, 5}, {.epsilon = 0.5f}, 3);
  for (int i = 0; i < 8; ++i) {
    Shape x = random_shape(random, 2 + i % 4, 5);
    x[0] += 2;
    add_batch_norm(cases, x, {.epsilon = 1e-2f, .training = i % 3 != 0}, i % 4);
  }
}

void add_softmax(OpCases& cases, const Shape& x, std::int64_t axis) {
  for (auto operation :
       {SoftmaxOperation::Softmax, SoftmaxOperation::LogSoftmax}) {
    const SoftmaxAttrs attrs{operation, axis};
    const bool is_log = operation == SoftmaxOperation::LogSoftmax;
    const char* reason =
        is_log ? "oneDNN's vectorised logarithm is off by up to 5e-6" : "";
    cases.push_back({.op = OpKind::Softmax,
                     .attrs = attrs,
                     .inputs = {{x, uniform(-4, 4)}},
                     .gradients = {0},
                     .tolerance = is_log ? 1e-5 : kTolerance,
                     .reason = reason});
    if (x.num_elements() > 200) continue;
    const Domain result = [attrs](const Shape& shape, const RefTensors& earlier,
                                  Random& random) {
      RefTensors in{uniform(-2, 2)(shape, earlier, random)};
      return evaluate(OpKind::Softmax, attrs, in).at(0);
    };
    cases.push_back({.op = OpKind::SoftmaxGradient,
                     .attrs = attrs,
                     .inputs = {{x}, {x, result}}});
  }
}

void add_softmaxes(OpCases& cases, Random& random) {
  for (const Shape& x : common_shapes()) {
    for (int axis = 0; axis < x.rank(); ++axis) add_softmax(cases, x, axis);
  }
  for (int axis = 0; axis < kMaxRank; ++axis) {
    add_softmax(cases, {2, 1, 2, 3, 1, 2, 2, 2}, axis);
  }
  add_softmax(cases, {70, 10}, 1);
  // More columns than one block.
  for (int axis = 0; axis < 3; ++axis) add_softmax(cases, {3, 4, 70}, axis);
  add_softmax(cases, {2, 1000}, 1);
  add_softmax(cases, {2, 1100}, 1);
  for (int i = 0; i < 6; ++i) {
    const int rank = 1 + i % 5;
    add_softmax(cases, random_shape(random, rank, 6),
                pick(random, 0, rank - 1));
  }
}

}  // namespace

void add_norm_cases(OpCases& cases, Random& random) {
  add_batch_norms(cases, random);
  add_softmaxes(cases, random);
}

}  // namespace traingraph::testing
