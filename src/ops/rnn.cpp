// SPDX-License-Identifier: MIT
// lstm_steps, gru_steps, single_gate_steps and their gradients: one layer and
// direction over a whole sequence. The input comes as (steps, samples, gates *
// hidden), multiplied by its weights and with the bias added: for all steps
// that is one product, of a node before.
//
// With k = h' * mask, where h' and c' are of the step before (or initial), an
// LSTM:
//   u = x[t] + k R^T + peephole * c'       for each of the four gates
//   i, f, z, o = their activations of u
//   c = f c' + i z
//   h = o activation(c)
// The output gate's peephole reads c instead when the attributes say so.
//
// A GRU, with b of the secondary bias:
//   z = f_z(x_z[t] + k R_z^T)               the update gate
//   r = f_r(x_r[t] + k R_r^T)               the reset gate
//   u = (k * r) R_o^T                       or, with reset_after,
//   u = r * (k R_o^T + b)
//   o = f_o(x_o[t] + u)                     the candidate
//   h = z h' + (1 - z) o                    or, with flip_z,
//   h = (1 - z) h' + z o
//
// A single gate, of which u is saved whatever f is:
//   u = x[t] + k R^T
//   h = f(u)
//
// Samples take part in the first `lengths` steps; there the reverse direction
// begins. Further steps give zeros and leave h and c alone.
//
// Gradients of inputs that are absent are those of zeros, and of ones for the
// mask; that of the secondary bias is zero unless `reset_after`. Without the
// hidden states an LSTM's gradient computes them again from gates and cells.
#include <cmath>
#include <string>

#include "base/format.h"
#include "graph/batch_context.h"
#include "ops/batch_rules.h"
#include "ops/elementwise_parameters.h"
#include "ops/flops.h"
#include "ops/registry.h"
#include "ops/rnn_gates.h"
#include "ops/rnn_ops.h"

namespace traingraph {
namespace {

using rnn::Op;
using rnn::Operand;
using rnn::Slot;
using enum rnn::Operand;

/// The operand's name, or that of its gradient.
const char* name_of(const Slot& slot) {
  static constexpr std::array<std::array<const char*, 2>, rnn::kNumOperands>
      kNames{{{"x", "dx"},
              {"recurrent_weights", "drecurrent_weights"},
              {"initial_state", "dinitial_state"},
              {"initial_cell", "dinitial_cell"},
              {"peephole", "dpeephole"},
              {"mask", "dmask"},
              {"secondary_bias", "dsecondary_bias"},
              {"lengths", ""},
              {"hidden", "hidden_gradient"},
              {"cells", "cells_gradient"},
              {"gates", "gates_gradient"},
              {"last_hidden", "last_hidden_gradient"},
              {"last_cell", "last_cell_gradient"}}};
  return kNames[static_cast<std::size_t>(slot.operand)]
               [slot.is_gradient ? 1 : 0];
}

/// Throws unless they are functions with finite parameters.
void require_activations(const ShapeContext& ctx,
                         const std::vector<ActivationAttrs>& activations) {
  for (const ActivationAttrs& activation : activations) {
    ctx.require_attribute(to_string(activation.type) != "?",
                          "activation is unknown", "a case of ActivationType",
                          std::to_string(static_cast<int>(activation.type)));
    const std::string got = std::string(to_string(activation.type)) +
                            " with a " + format_value(activation.a) + ", b " +
                            format_value(activation.b);
    ctx.require_attribute(
        std::isfinite(activation.a) && std::isfinite(activation.b),
        "parameters of an activation are out of range", "finite numbers", got);
    // The layer and ActivationAttrs have these values where they are not used.
    const auto is_unset = [](float value) { return value == 0 || value == 1; };
    ctx.require_attribute(
        (uses_a(activation.type) || is_unset(activation.a)) &&
            (uses_b(activation.type) || is_unset(activation.b)),
        "an activation does not use its parameters", "1", got);
  }
}

void require_options(const ShapeContext& ctx, const Op& op,
                     const LstmAttrs& attrs) {
  ctx.require_attribute(
      !attrs.output_peephole_reads_new_cell || ctx.has(op.input(Peephole)),
      "output_peephole_reads_new_cell is about a peephole",
      "false, or an input \"peephole\"", "true");
}

void require_options(const ShapeContext& ctx, const Op& op,
                     const GruAttrs& attrs) {
  ctx.require_attribute(
      attrs.reset_after || !ctx.has(op.input(SecondaryBias)),
      "the secondary bias is part of what the reset gate multiplies",
      "reset_after", "the reset gate before the product",
      "Set reset_after, or add it to the bias of the output gate.");
}

void require_options(const ShapeContext&, const Op&, const SingleGateAttrs&) {}

/// Throws unless the sequence and the weights fit.
rnn::Sizes require_sizes(const ShapeContext& ctx, const Op& op) {
  const int sequence = op.sequence(), weights = op.input(Weights);
  ctx.require_rank(weights, 2);
  const std::int64_t hidden = ctx.shape(weights)[1];
  ctx.require_shape(weights, {op.num_gates * hidden, hidden});
  ctx.require_rank(sequence, 3);
  return {ctx.shape(sequence)[0], ctx.shape(sequence)[1], hidden};
}

template <OpKind kKind, class Attrs>
void infer_shapes(ShapeContext& ctx) {
  const Op& op = rnn::op_of(kKind);
  require_options(ctx, op, ctx.attrs<Attrs>());
  require_activations(ctx, gate_activations(ctx.attrs<Attrs>()));
  const rnn::Sizes sizes = require_sizes(ctx, op);
  const auto shape = [&](const Slot& slot) {
    return rnn::shape_of(slot.operand, sizes, op.num_gates);
  };
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) continue;
    ctx.require_shape(i, shape(op.inputs[static_cast<std::size_t>(i)]));
    if (is_float(ctx.data_type(i))) {
      ctx.require_same_data_type(i, op.sequence());
    }
  }
  for (const Slot& slot : op.results) {
    ctx.add_result(shape(slot), ctx.data_type(op.sequence()));
  }
}

/// The axis of an operand that its samples are on; -1: it has none.
int samples_axis(Operand operand) {
  switch (operand) {
    case X:
    case Gates:
    case Hidden:
    case Cells:
      return 1;
    case Weights:
    case Peephole:
    case SecondaryBias:
      return -1;
    default:
      return 0;
  }
}

template <OpKind kKind>
void find_batch(BatchContext& ctx) {
  const Op& op = rnn::op_of(kKind);
  // Operands have the axes of a result (steps, samples, any); others are
  // parameters.
  std::vector<batch::Operand> operands;
  for (int i = 0; i < ctx.num_inputs(); ++i) {
    if (!ctx.has(i)) continue;
    const int first =
        samples_axis(op.inputs[static_cast<std::size_t>(i)].operand);
    Shape axes;
    for (int axis = 0; axis < ctx.shape(i).rank(); ++axis) {
      axes.push_back(first < 0 ? 3 + axis : 1 - first + axis);
    }
    operands.push_back({.input = i, .axes = axes});
  }
  const BatchAxis joined = batch::join(ctx, operands);
  if (joined && joined.axis != 1) batch::refuse_axis(ctx, joined.axis);
  for (int i = 0; i < ctx.num_results(); ++i) {
    BatchAxis own = joined;
    own.axis = samples_axis(op.results[static_cast<std::size_t>(i)].operand);
    if (joined && own.axis >= 0) ctx.set(i, own);
  }
}

template <OpKind kKind>
void differentiate(GradContext& ctx) {
  const Op& op = rnn::op_of(kKind);
  const Op& gradient = rnn::op_of(op.gradient);
  std::vector<ValueId> inputs;
  for (const auto& [operand, is_gradient] : gradient.inputs) {
    const int result = op.result(operand);
    inputs.push_back(is_gradient   ? ctx.result_gradient(result)
                     : result >= 0 ? ctx.result(result)
                                   : ctx.input(op.input(operand)));
  }
  const auto results =
      ctx.program().append(op.gradient, ctx.node().attrs, std::move(inputs));
  for (std::size_t i = 0; i < results.size(); ++i) {
    ctx.set(op.input(gradient.results[i].operand), results[i]);
  }
}

/// x, the weights and what was saved must be there, but for states that
/// are computed again.
bool is_optional(const Op& op, const Slot& slot) {
  if (slot.is_gradient) return true;
  if (slot.operand == Hidden) return op.input(Cells) >= 0;
  return slot.operand != X && slot.operand != Weights &&
         slot.operand != Gates && slot.operand != Cells;
}

/// One recurrent product per step; the gradient has that of the weights, too.
template <OpKind kKind>
double step_flops(const Program& program, const Node& node) {
  const Op& op = rnn::op_of(kKind);
  const Shape& weights = program.shape(node.inputs[op.input(Weights)]);
  return (op.is_gradient() ? 4 : 2) * flops::elements(program, node.inputs[0]) *
         static_cast<double>(weights[1]);
}

template <OpKind kKind, class Attrs>
OpDef define() {
  const Op& op = rnn::op_of(kKind);
  OpDef def{.shape_rule = infer_shapes<kKind, Attrs>,
            .flops = step_flops<kKind>,
            .batch_rule = find_batch<kKind>,
            .fill_defaults = fill_gate_defaults};
  for (const Slot& slot : op.inputs) {
    def.inputs.push_back({.name = name_of(slot),
                          .types = slot.operand == Lengths ? kInt32 : kFloat,
                          .is_optional = is_optional(op, slot)});
  }
  for (const Slot& slot : op.results) def.results.push_back(name_of(slot));
  if (op.is_gradient()) {
    def.no_gradient = NoGradient::Missing;
  } else {
    def.gradient_rule = differentiate<kKind>;
    def.autocast_list = AutocastList::LowPrecision;
  }
  return def;
}

}  // namespace

OpDef define_lstm_steps() { return define<OpKind::LstmSteps, LstmAttrs>(); }
OpDef define_lstm_steps_gradient() {
  return define<OpKind::LstmStepsGradient, LstmAttrs>();
}
OpDef define_gru_steps() { return define<OpKind::GruSteps, GruAttrs>(); }
OpDef define_gru_steps_gradient() {
  return define<OpKind::GruStepsGradient, GruAttrs>();
}
OpDef define_single_gate_steps() {
  return define<OpKind::SingleGateSteps, SingleGateAttrs>();
}
OpDef define_single_gate_steps_gradient() {
  return define<OpKind::SingleGateStepsGradient, SingleGateAttrs>();
}

}  // namespace traingraph
