// SPDX-License-Identifier: MIT
// The recurrent ops: what each of them reads and gives, by name. A kernel or a
// rule asks for an operand and serves every cell that has it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "traingraph/op_attrs.h"

namespace traingraph::rnn {

/// The op of all steps has these inputs, then results. Sequences are (steps,
/// samples, any), states (samples, hidden), weights (gates * hidden, hidden).
enum class Operand : std::uint8_t {
  X,  // a sequence of the arguments of all gates
  Weights,
  InitialState,
  InitialCell,
  Peephole,
  Mask,
  SecondaryBias,
  Lengths,
  Hidden,  // the sequence of states
  Cells,
  Gates,  // what is saved of them
  LastHidden,
  LastCell
};
inline constexpr int kNumOperands = 13;

struct Slot {
  Operand operand;
  bool is_gradient;  // that of the operand
};

struct Op {
  OpKind kind;
  OpKind gradient;  // of a gradient op: itself
  int num_gates;
  std::vector<Slot> inputs, results;

  bool is_gradient() const { return kind == gradient; }
  /// The number of a slot; -1: there is none.
  int input(Operand operand, bool is_gradient = false) const;
  int result(Operand operand, bool is_gradient = false) const;
  /// The input whose shape says how many steps and samples there are.
  int sequence() const {
    return input(is_gradient() ? Operand::Gates : Operand::X);
  }
};

/// The result is null where `kind` is no recurrent op.
const Op* find_op(OpKind kind);
/// `kind` must be a recurrent op.
const Op& op_of(OpKind kind);

struct Sizes {
  std::int64_t steps, samples, hidden;
};
Shape shape_of(Operand operand, const Sizes& sizes, int num_gates);

}  // namespace traingraph::rnn
