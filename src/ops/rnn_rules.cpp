// SPDX-License-Identifier: MIT
#include "ops/rnn_rules.h"

#include <cmath>
#include <string>

#include "base/format.h"
#include "ops/batch_rules.h"
#include "ops/elementwise_parameters.h"

namespace traingraph::rnn {

void require_activations(const ShapeContext& ctx,
                         std::span<const ActivationAttrs> activations) {
  for (const ActivationAttrs& activation : activations) {
    ctx.require_attribute(to_string(activation.type) != "?",
                          "activation is unknown", "a case of ActivationType",
                          std::to_string(static_cast<int>(activation.type)));
    ctx.require_attribute(
        std::isfinite(activation.a) && std::isfinite(activation.b),
        "parameters of an activation are out of range", "finite numbers",
        std::string(to_string(activation.type)) + " with a " +
            format_value(activation.a) + ", b " + format_value(activation.b));
    // As the layer and ActivationAttrs have them where they are not used.
    const auto is_unset = [](float value) { return value == 0 || value == 1; };
    ctx.require_attribute(
        (uses_a(activation.type) || is_unset(activation.a)) &&
            (uses_b(activation.type) || is_unset(activation.b)),
        "an activation does not use its parameters", "1",
        std::string(to_string(activation.type)) + " with a " +
            format_value(activation.a) + ", b " + format_value(activation.b));
  }
}

Sizes require_sizes(const ShapeContext& ctx, int gates, int weights,
                    std::int64_t num_gates) {
  ctx.require_rank(weights, 2);
  const std::int64_t hidden = ctx.shape(weights)[1];
  ctx.require_shape(weights, {num_gates * hidden, hidden});
  ctx.require_rank(gates, 3);
  const Sizes sizes{ctx.shape(gates)[0], ctx.shape(gates)[1], hidden};
  ctx.require_shape(gates, sizes.gates(num_gates));
  return sizes;
}

void require_if_present(const ShapeContext& ctx, int input, const Shape& shape,
                        int like) {
  if (!ctx.has(input)) return;
  ctx.require_shape(input, shape);
  if (is_float(ctx.data_type(input))) ctx.require_same_data_type(input, like);
}

BatchAxis join_samples(BatchContext& ctx, int weights) {
  // As axes of a result (steps, samples, any); others are those of parameters.
  std::vector<batch::Operand> operands;
  for (int input = 0; input < ctx.num_inputs(); ++input) {
    if (!ctx.has(input)) continue;
    const int rank = ctx.shape(input).rank();
    Shape axes{0, 1, 2};
    if (input == weights) {
      axes = {3, 4};
    } else if (rank == 1) {
      axes = {is_float(ctx.data_type(input)) ? 3 : 1};
    } else if (rank == 2) {
      axes = {1, 2};
    }
    operands.push_back({.input = input, .axes = axes});
  }
  const BatchAxis joined = batch::join(ctx, operands);
  if (joined && joined.axis != 1) batch::refuse_axis(ctx, joined.axis);
  return joined;
}

BatchAxis on_axis(BatchAxis batch, int axis) {
  if (batch) batch.axis = axis;
  return batch;
}

InputDef optional(const char* name) {
  return {.name = name, .is_optional = true};
}

InputDef lengths() {
  return {.name = "lengths", .types = kInt32, .is_optional = true};
}

ValueId input_of(GradContext& ctx, int input) {
  return ctx.has(input) ? ctx.input(input) : kNoValue;
}

}  // namespace traingraph::rnn
