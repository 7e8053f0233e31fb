// SPDX-License-Identifier: MIT
// What batch_norm and sample_norm have in common: inputs x, gamma, beta and
// running statistics, results y, mean and variance, and one gradient node for
// x, gamma and beta.
#pragma once

#include <variant>

#include "ops/shape_rules.h"

namespace traingraph {

/// The end of both gradient rules: what the gradient of y becomes.
inline void append_norm_gradient(GradContext& ctx, OpKind kind,
                                 Attributes attrs) {
  const ValueId gradient = ctx.result_gradient(0);
  if (gradient == kNoValue) return;
  const auto results = ctx.program().append(
      kind, std::move(attrs),
      {gradient, ctx.input(0), ctx.input(1), ctx.result(1), ctx.result(2)});
  for (int input = 0; input < 3; ++input) {
    if (ctx.has(input) && ctx.wants(input)) ctx.set(input, results[input]);
  }
}

/// Running statistics may be left out when they are optional.
template <class Attrs>
OpDef norm_def(bool is_optional, OpDef rules) {
  const auto running = [&](const char* name) {
    return InputDef{.name = name,
                    .types = kFloat32,
                    .is_optional = is_optional,
                    .is_mutated = true};
  };
  rules.inputs = {{"x"},
                  {"gamma", kFloat32, true},
                  {"beta", kFloat32, true},
                  running("running_mean"),
                  running("running_variance")};
  rules.results = {"y", "mean", "variance"};
  rules.inference_form = [](Attributes& attrs) {
    std::get<Attrs>(attrs).training = false;
  };
  rules.mutates = [](const Attributes& attrs) {
    return std::get<Attrs>(attrs).training;
  };
  return rules;
}

inline OpDef norm_gradient_def(OpDef rules) {
  rules.inputs = {{"gradient"},
                  {"x"},
                  {"gamma", kFloat32, true},
                  {"mean", kFloat32},
                  {"variance", kFloat32}};
  rules.results = {"dx", "dgamma", "dbeta"};
  rules.no_gradient = NoGradient::Missing;
  return rules;
}

}  // namespace traingraph
