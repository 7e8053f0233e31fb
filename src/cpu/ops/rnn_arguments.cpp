// SPDX-License-Identifier: MIT
#include "cpu/ops/rnn_steps.h"
#include "ops/rnn_gates.h"

namespace traingraph::cpu {

RecurrentArguments::RecurrentArguments(UnitBuilder& unit) {
  using enum rnn::Operand;
  const rnn::Op& op = rnn::op_of(unit.node().op->kind);
  const Shape& sequence = unit.input_shape(op.sequence());
  steps_ = {sequence[0], sequence[1], unit.input_shape(op.input(Weights))[1],
            is_reverse(unit.node().attrs)};
  type_ = unit.input_desc(op.sequence()).data_type;
  for (auto& args : args_) args.fill(-1);
  const auto arg = [&](const rnn::Slot& slot) -> int& {
    return args_[slot.is_gradient ? 1 : 0]
                [static_cast<std::size_t>(slot.operand)];
  };
  for (int r = 0; r < std::ssize(op.results); ++r) {
    // Loops read dx again.
    const bool is_written = unit.is_used(r) || (op.is_gradient() && r == 0);
    if (is_written) arg(op.results[r]) = unit.write(r);
  }
  const auto is_given = [&](rnn::Operand operand) {
    return op.input(operand) >= 0 && unit.has(op.input(operand));
  };
  is_shifted_ = is_given(Hidden) && !is_given(InitialState) && !is_given(Mask);
  for (int i = 0; i < std::ssize(op.inputs); ++i) {
    const rnn::Slot& slot = op.inputs[i];
    // An LSTM's states follow from its cells.
    const bool is_read = slot.operand != Hidden || slot.is_gradient ||
                         !is_given(Cells) ||
                         (is_shifted_ && has_gradient(Weights));
    if (is_read && unit.has(i)) arg(slot) = unit.read(i);
  }
  if (op.is_gradient()) {
    unit.may_run_in_place(0, op.sequence());
  } else if (has(Gates)) {
    unit.may_run_in_place(op.result(Gates), op.sequence());
  }
}

}  // namespace traingraph::cpu
