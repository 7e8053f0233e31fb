// SPDX-License-Identifier: MIT
// The RNN ops over a source that is multiplied by its weights already, one
// direction.
#pragma once

#include <array>

#include "rnn_activation.h"

namespace emulator {

struct Lstm {
  bool is_reverse = false, is_forget_last = false;
  /// Input, forget, candidate, output gate, and the cell's.
  std::array<RnnActivation, 5> activations;
  // Which optional inputs there are.
  bool has_state = false, has_cell = false, has_mask = false,
       has_peephole = false;
  // Only the gradients have these.
  bool has_state_gradient = false, has_cell_gradient = false;
};

/// Inputs: source, recurrent weight, [state, cell, mask, peephole]. Results:
/// states, cells, gates.
Kernel lstm(const Lstm& lstm);

/// Inputs: recurrent weight, source gradient, gates, cells, [state gradient,
/// cell gradient, state, cell, mask, peephole]. Results: the gradients of
/// source, recurrent weight, [peephole, state, cell].
Kernel lstm_gradients(const Lstm& lstm);

struct Gru {
  bool is_reverse = false, is_reset_first = false, is_reset_after = false,
       is_flipped = false;
  RnnActivation update, reset, output;
  // Which optional inputs there are.
  bool has_state = false, has_mask = false, has_bias = false;
  // Only the gradients have this.
  bool has_state_gradient = false;
};

/// Inputs: source, recurrent weight, [state, mask, secondary bias]. Results:
/// states, gates.
Kernel gru(const Gru& gru);

/// Inputs: recurrent weight, source gradient, gates, states, [state gradient,
/// state, mask, secondary bias]. Results: the gradients of source, recurrent
/// weight, [state, secondary bias].
Kernel gru_gradients(const Gru& gru);

struct SingleGate {
  bool is_reverse = false;
  RnnActivation activation;
  // Which optional inputs there are.
  bool has_state = false, has_mask = false;
  // Only the gradients have this.
  bool has_state_gradient = false;
};

/// Inputs: source, recurrent weight, [state, mask]. Results: states, and what
/// the activation gets.
Kernel single_gate(const SingleGate& single);

/// Inputs: recurrent weight, source gradient, what the activation got, [state
/// gradient, state, mask]. Results: the gradients of source, recurrent weight,
/// [state].
Kernel single_gate_gradients(const SingleGate& single);

}  // namespace emulator
