// SPDX-License-Identifier: MIT
// Cases of instance, group and layer normalization with their gradient op.
#include <algorithm>

#include "ops/cases.h"
#include "ops/norm_sample.h"

namespace traingraph::testing {
namespace {

constexpr const char* kStatisticsReason =
    "the statistics of a row are sums of differences in float32";
constexpr double kStatisticsTolerance = 2e-5;

/// The row's statistics, as the forward op gives them to its gradient.
Domain statistic_of_x(const SampleNormAttrs& attrs, int result) {
  return derived([=](const RefTensors& earlier) {
    RefTensors in{earlier.at(1), {}, {}, {}, {}};
    return evaluate(OpKind::SampleNorm, attrs, in).at(result);
  });
}

enum Parameters { kNone = 0, kGamma = 1, kBeta = 2, kBoth = 3 };

void add_case(OpCases& cases, const Shape& x, SampleNormAttrs attrs,
              int parameters, bool is_running = false) {
  const Shape parameter = sample_parameters_shape(x, attrs);
  const Shape statistic = sample_statistics_shape(x, attrs);
  const CaseInput gamma = (parameters & kGamma) != 0
                              ? CaseInput{parameter, uniform(0.5, 1.5)}
                              : absent();
  OpCase forward{
      .op = OpKind::SampleNorm,
      .attrs = attrs,
      .inputs = {{x, uniform(-2, 3)},
                 gamma,
                 (parameters & kBeta) != 0 ? CaseInput{parameter} : absent()},
      .gradients = {0},
      .tolerance = kStatisticsTolerance,
      .gradient_tolerance = 4 * kStatisticsTolerance,
      .reason = kStatisticsReason};
  if (is_running) {
    forward.inputs.push_back({{attrs.groups}});
    forward.inputs.push_back({{attrs.groups}, uniform(0.5, 2)});
  }
  if ((parameters & kGamma) != 0) forward.gradients.push_back(1);
  if ((parameters & kBeta) != 0) forward.gradients.push_back(2);
  cases.push_back(forward);
  // The reference takes differences of every element: keep it small.
  if (x.num_elements() > 200) return;
  // There are no statistics to be constants without running ones.
  attrs.training = attrs.training || !is_running;
  const CaseInput mean{statistic,
                       attrs.training ? statistic_of_x(attrs, 1) : uniform()};
  const CaseInput variance{
      statistic, attrs.training ? statistic_of_x(attrs, 2) : uniform(0.5, 2)};
  cases.push_back({.op = OpKind::SampleNormGradient,
                   .attrs = attrs,
                   .inputs = {{x}, {x, uniform(-2, 3)}, gamma, mean, variance},
                   .tolerance = 4 * kStatisticsTolerance,
                   .reason = kStatisticsReason});
}

void add_layer_norms(OpCases& cases, Random& random) {
  const SampleNormAttrs small{.epsilon = 1e-3f};
  for (const Shape& x :
       {Shape{5}, Shape{4, 3}, Shape{3, 33}, Shape{2, 3, 5}, Shape{3, 2, 2, 3},
        Shape{1, 4, 3, 3}, Shape{2, 3, 2, 1, 2}}) {
    for (std::int64_t axis = 0; axis < x.rank(); ++axis) {
      for (int parameters : {kNone, kGamma, kBeta, kBoth}) {
        SampleNormAttrs attrs = small;
        attrs.axis = axis;
        attrs.training = parameters != kBeta;  // changes nothing
        add_case(cases, x, attrs, parameters);
      }
    }
  }
  // Several rows of a chunk, several chunks, rows with a rest.
  add_case(cases, {70, 40}, small, kBoth);
  add_case(cases, {3, 50, 64}, {.axis = 2, .epsilon = 1e-3f}, kBoth);
  for (int i = 0; i < 6; ++i) {
    const int rank = 1 + i % 5;
    add_case(cases, random_shape(random, rank, 6),
             {.axis = pick(random, 0, rank - 1), .epsilon = 1e-2f}, i % 4);
  }
}

void add_group_norms(OpCases& cases, Random& random) {
  struct Grouped {
    Shape x;
    std::int64_t groups;
    std::int64_t axis = 1;
  };
  for (const auto& [x, groups, axis] :
       {Grouped{{3, 4}, 2}, Grouped{{2, 6, 5}, 3}, Grouped{{2, 4, 3, 3}, 4},
        Grouped{{2, 4, 3, 3}, 1}, Grouped{{3, 6, 2, 2}, 2},
        Grouped{{1, 2, 2, 3, 2}, 2}, Grouped{{6, 4}, 3, 0},
        Grouped{{2, 3, 4, 5}, 2, 2}, Grouped{{2, 3, 6, 7}, 3}}) {
    for (int parameters : {kNone, kGamma, kBeta, kBoth}) {
      for (bool is_running : {false, true}) {
        for (bool training : {true, false}) {
          add_case(cases, x,
                   {.axis = axis,
                    .groups = groups,
                    .epsilon = 1e-3f,
                    .training = training},
                   parameters, is_running);
        }
      }
    }
  }
  for (float momentum : {0.0f, 0.9f, 1.0f}) {
    add_case(cases, {3, 2, 2, 3},
             {.groups = 2, .epsilon = 0.1f, .momentum = momentum}, kBoth,
             /*is_running=*/true);
  }
  // One element per row: no variance at all.
  add_case(cases, {2, 3, 1, 1}, {.groups = 3, .epsilon = 0.5f}, kBoth, true);
  for (int i = 0; i < 8; ++i) {
    Shape x = random_shape(random, 2 + i % 4, 4);
    const std::int64_t groups = pick(random, 1, 3);
    x[1] *= groups;
    add_case(cases, x,
             {.groups = groups, .epsilon = 1e-2f, .training = i % 3 != 0},
             i % 4, i % 2 == 0);
  }
}

/// Rows that several tasks share, and more than one piece.
void add_long_rows(OpCases& cases) {
  add_case(cases, {2, 9000}, {.epsilon = 1e-3f}, kBoth);
  add_case(cases, {2, 2, 5000}, {.groups = 1, .epsilon = 1e-3f}, kBoth);
  add_case(cases, {1, 3, 9001}, {.groups = 3, .epsilon = 1e-3f}, kGamma, true);
  add_case(cases, {65, 5000}, {.epsilon = 1e-3f}, kGamma);
}

}  // namespace

void add_sample_norm_cases(OpCases& cases, Random& random) {
  add_layer_norms(cases, random);
  add_group_norms(cases, random);
  add_long_rows(cases);
}

}  // namespace traingraph::testing
