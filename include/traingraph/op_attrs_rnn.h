// SPDX-License-Identifier: MIT
// Attributes of the rnn family. Include op_attrs.h instead.
#pragma once

#include "traingraph/enums.h"
#include "traingraph/op_field.h"

namespace traingraph {

// Gate blocks are contiguous on the gate axis. `reverse`: from the last step to
// the first. `a` and `b` are the parameters of the activation before them.

/// Blocks in the order input, forget, cell, output, or, with
/// `forget_gate_last`, input, cell, forget, output. `activation` is that of the
/// cell.
struct LstmAttrs {
  bool reverse = false;
  bool forget_gate_last = false;
  /// The output gate's peephole reads the step's own cell, else the last one.
  bool output_peephole_reads_new_cell = false;
  ActivationType input_gate_activation = ActivationType::Sigmoid;
  float input_gate_a = kOfType, input_gate_b = kOfType;
  ActivationType forget_gate_activation = ActivationType::Sigmoid;
  float forget_gate_a = kOfType, forget_gate_b = kOfType;
  ActivationType cell_gate_activation = ActivationType::Tanh;
  float cell_gate_a = kOfType, cell_gate_b = kOfType;
  ActivationType output_gate_activation = ActivationType::Sigmoid;
  float output_gate_a = kOfType, output_gate_b = kOfType;
  ActivationType activation = ActivationType::Tanh;
  float activation_a = kOfType, activation_b = kOfType;
  TRAINGRAPH_FIELDS(
      LstmAttrs, TRAINGRAPH_FIELD(reverse), TRAINGRAPH_FIELD(forget_gate_last),
      TRAINGRAPH_FIELD(output_peephole_reads_new_cell),
      TRAINGRAPH_FIELD(input_gate_activation), TRAINGRAPH_FIELD(input_gate_a),
      TRAINGRAPH_FIELD(input_gate_b), TRAINGRAPH_FIELD(forget_gate_activation),
      TRAINGRAPH_FIELD(forget_gate_a), TRAINGRAPH_FIELD(forget_gate_b),
      TRAINGRAPH_FIELD(cell_gate_activation), TRAINGRAPH_FIELD(cell_gate_a),
      TRAINGRAPH_FIELD(cell_gate_b), TRAINGRAPH_FIELD(output_gate_activation),
      TRAINGRAPH_FIELD(output_gate_a), TRAINGRAPH_FIELD(output_gate_b),
      TRAINGRAPH_FIELD(activation), TRAINGRAPH_FIELD(activation_a),
      TRAINGRAPH_FIELD(activation_b))
};

/// Blocks in the order reset, update, output, as the layer has them, or,
/// without `reset_gate_first`, update, reset, output. The output gate's value
/// is the candidate.
struct GruAttrs {
  bool reverse = false;
  bool reset_gate_first = true;
  /// The reset gate multiplies what the recurrent product gives, else what it
  /// reads.
  bool reset_after = true;
  /// The update gate is the share of the candidate, else of the state before.
  bool flip_z = false;
  ActivationType update_gate_activation = ActivationType::Sigmoid;
  float update_gate_a = kOfType, update_gate_b = kOfType;
  ActivationType reset_gate_activation = ActivationType::Sigmoid;
  float reset_gate_a = kOfType, reset_gate_b = kOfType;
  ActivationType output_gate_activation = ActivationType::Tanh;
  float output_gate_a = kOfType, output_gate_b = kOfType;
  TRAINGRAPH_FIELDS(
      GruAttrs, TRAINGRAPH_FIELD(reverse), TRAINGRAPH_FIELD(reset_gate_first),
      TRAINGRAPH_FIELD(reset_after), TRAINGRAPH_FIELD(flip_z),
      TRAINGRAPH_FIELD(update_gate_activation), TRAINGRAPH_FIELD(update_gate_a),
      TRAINGRAPH_FIELD(update_gate_b), TRAINGRAPH_FIELD(reset_gate_activation),
      TRAINGRAPH_FIELD(reset_gate_a), TRAINGRAPH_FIELD(reset_gate_b),
      TRAINGRAPH_FIELD(output_gate_activation), TRAINGRAPH_FIELD(output_gate_a),
      TRAINGRAPH_FIELD(output_gate_b))
};

/// The vanilla RNN, which MPSGraph calls a single gate.
struct SingleGateAttrs {
  bool reverse = false;
  ActivationType activation = ActivationType::Tanh;
  float activation_a = kOfType, activation_b = kOfType;
  TRAINGRAPH_FIELDS(SingleGateAttrs, TRAINGRAPH_FIELD(reverse),
                    TRAINGRAPH_FIELD(activation),
                    TRAINGRAPH_FIELD(activation_a),
                    TRAINGRAPH_FIELD(activation_b))
};

}  // namespace traingraph
