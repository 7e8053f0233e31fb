// SPDX-License-Identifier: MIT
// Cases of the parts of batch normalization, whose moments and sums are not of
// x alone.
#include "ops/cases.h"

namespace traingraph::testing {
namespace {

/// Of more samples than those of `x`, the earlier input.
Domain moments_around(int x) {
  return derived([x](const RefTensors& earlier) {
    RefTensors in{earlier.at(x)};
    RefTensor moments = evaluate(OpKind::BatchNormMoments, NoAttrs{}, in)[0];
    for (std::int64_t c = 0; c < moments.shape[1]; ++c) {
      moments({0, c}) *= 3;
      moments({1, c}) += 0.25;
      moments({2, c}) = 0x1p-12;
      moments({3, c}) += 0.5;
    }
    return moments;
  });
}

void add_parts(OpCases& cases, const Shape& x, const BatchNormAttrs& attrs,
               int affine) {
  const std::int64_t channels = x[1];
  const auto add = [&](OpKind op, const Attributes& of,
                       std::vector<CaseInput> inputs) {
    cases.push_back(
        {.op = op,
         .attrs = of,
         .inputs = std::move(inputs),
         .tolerance = 8e-5,
         .reason = "the statistics of a channel are sums of differences in "
                   "float32"});
  };
  const Shape vector{channels};
  const CaseInput gradient{x}, source{x, uniform(-2, 3)},
      gamma = affine & 1 ? CaseInput{vector, uniform(0.5, 1.5)} : absent(),
      beta = affine & 2 ? CaseInput{vector} : absent();
  add(OpKind::BatchNormMoments, NoAttrs{}, {source});
  add(OpKind::BatchNormApply, attrs,
      {source,
       gamma,
       beta,
       {vector},
       {vector, uniform(0.5, 2)},
       {{4, channels}, moments_around(0)}});
  if (!attrs.training) return;
  const CaseInput moments{{4, channels}, moments_around(1)};
  add(OpKind::BatchNormGradientSums, attrs, {gradient, source, moments});
  add(OpKind::BatchNormGradientApply, attrs,
      {gradient, source, gamma, moments, {{2, channels}, uniform(-3, 3)}});
}

}  // namespace

void add_norm_part_cases(OpCases& cases, Random&) {
  const Shape shapes[] = {{4, 3},       {7, 5},        {2, 3, 5},
                          {3, 2, 2, 3}, {2, 1, 4, 4},  {2, 3, 2, 1, 2},
                          {1, 5},       {3, 17, 5, 5}, {2, 16, 4, 4}};
  for (const Shape& x : shapes) {
    for (int affine = 0; affine < 4; ++affine) {
      add_parts(cases, x, {.epsilon = 1e-3f, .momentum = 0.9f}, affine);
      add_parts(cases, x, {.epsilon = 1e-3f, .training = false}, affine);
    }
  }
}

}  // namespace traingraph::testing
