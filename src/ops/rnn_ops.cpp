// SPDX-License-Identifier: MIT
#include "ops/rnn_ops.h"

#include <algorithm>

#include "traingraph/error.h"

namespace traingraph::rnn {
namespace {

using enum Operand;
using Operands = std::vector<Operand>;

/// The ops of a cell. The gradient op reads what was `saved`, the inputs but x,
/// and the gradients of all results; it gives those of inputs that have one, x
/// first.
struct Cell {
  OpKind steps, gradient;
  int num_gates;
  Operands inputs, results, saved, differentiated;
};

void add_ops(std::vector<Op>& ops, const Cell& cell) {
  const auto slots = [](const Operands& operands, bool is_gradient = false) {
    std::vector<Slot> all;
    for (Operand operand : operands) all.push_back({operand, is_gradient});
    return all;
  };
  ops.push_back({cell.steps, cell.gradient, cell.num_gates, slots(cell.inputs),
                 slots(cell.results)});
  Op gradient{cell.gradient, cell.gradient, cell.num_gates, slots(cell.saved),
              slots(cell.differentiated, true)};
  for (Operand operand : cell.inputs) {
    if (operand != X) gradient.inputs.push_back({operand, false});
  }
  for (Operand operand : cell.results) {
    gradient.inputs.push_back({operand, true});
  }
  ops.push_back(std::move(gradient));
}

const std::vector<Op>& all_ops() {
  static const std::vector<Op> ops = [] {
    std::vector<Op> all;
    add_ops(all, {.steps = OpKind::LstmSteps,
                  .gradient = OpKind::LstmStepsGradient,
                  .num_gates = 4,
                  .inputs = {X, Weights, InitialState, InitialCell, Peephole,
                             Mask, Lengths},
                  .results = {Hidden, Cells, Gates, LastHidden, LastCell},
                  .saved = {Gates, Cells, Hidden},
                  .differentiated = {X, Weights, Peephole, InitialState,
                                     InitialCell, Mask}});
    add_ops(
        all,
        {.steps = OpKind::GruSteps,
         .gradient = OpKind::GruStepsGradient,
         .num_gates = 3,
         .inputs = {X, Weights, InitialState, Mask, SecondaryBias, Lengths},
         .results = {Hidden, Gates, LastHidden},
         .saved = {Gates, Hidden},
         .differentiated = {X, Weights, InitialState, Mask, SecondaryBias}});
    add_ops(all, {.steps = OpKind::SingleGateSteps,
                  .gradient = OpKind::SingleGateStepsGradient,
                  .num_gates = 1,
                  .inputs = {X, Weights, InitialState, Mask, Lengths},
                  .results = {Hidden, Gates, LastHidden},
                  .saved = {Gates},
                  .differentiated = {X, Weights, InitialState, Mask}});
    return all;
  }();
  return ops;
}

int find(const std::vector<Slot>& slots, Operand operand, bool is_gradient) {
  const auto at = std::ranges::find_if(slots, [&](const Slot& slot) {
    return slot.operand == operand && slot.is_gradient == is_gradient;
  });
  return at == slots.end() ? -1 : static_cast<int>(at - slots.begin());
}

}  // namespace

int Op::input(Operand operand, bool is_gradient) const {
  return find(inputs, operand, is_gradient);
}

int Op::result(Operand operand, bool is_gradient) const {
  return find(results, operand, is_gradient);
}

const Op* find_op(OpKind kind) {
  for (const Op& op : all_ops()) {
    if (op.kind == kind) return &op;
  }
  return nullptr;
}

const Op& op_of(OpKind kind) {
  if (const Op* op = find_op(kind)) return *op;
  throw InternalError("no recurrent op");
}

Shape shape_of(Operand operand, const Sizes& sizes, int num_gates) {
  const auto& [steps, samples, hidden] = sizes;
  switch (operand) {
    case X:
    case Gates:
      return {steps, samples, num_gates * hidden};
    case Hidden:
    case Cells:
      return {steps, samples, hidden};
    case Weights:
      return {num_gates * hidden, hidden};
    case Peephole:
      return {num_gates * hidden};
    case SecondaryBias:
      return {hidden};
    case Lengths:
      return {samples};
    default:
      return {samples, hidden};
  }
}

}  // namespace traingraph::rnn
