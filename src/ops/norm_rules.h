// SPDX-License-Identifier: MIT
// What batch_norm and sample_norm have in common: inputs x, gamma, beta and
// running statistics, results y, mean and variance, and one gradient node for
// x, gamma and beta.
#pragma once

#include <variant>

#include "base/format.h"
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
    auto& norm = std::get<Attrs>(attrs);
    norm.training = false;
    norm.momentum = Attrs{}.momentum;
  };
  rules.mutates = [](const Attributes& attrs) {
    return std::get<Attrs>(attrs).training;
  };
  return rules;
}

/// The statistics stay without training.
template <class Attrs>
void require_momentum(const ShapeContext& ctx) {
  const auto& attrs = ctx.attrs<Attrs>();
  ctx.require_attribute(attrs.momentum >= 0 && attrs.momentum <= 1,
                        "momentum out of range", "0 to 1",
                        format_value(attrs.momentum));
  const float unset = Attrs{}.momentum;
  ctx.require_attribute(attrs.training || attrs.momentum == unset,
                        "momentum moves running statistics in training only",
                        format_value(unset) + " without training",
                        format_value(attrs.momentum));
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
