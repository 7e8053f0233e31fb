// SPDX-License-Identifier: MIT
// The LSTM over a source that is multiplied by its weights already, one
// direction.
#pragma once

#include <array>

#include "../array.h"

namespace emulator {

enum class RnnActivation { kNone, kRelu, kTanh, kSigmoid, kHardSigmoid };

struct Lstm {
  bool is_reverse = false, is_forget_last = false;
  /// Input, forget, candidate, output gate, and the cell's.
  std::array<RnnActivation, 5> activations;
  // Which optional inputs there are.
  bool has_state = false, has_cell = false, has_mask = false,
       has_peephole = false;
  // Of the gradients only.
  bool has_state_gradient = false, has_cell_gradient = false;
};

/// Inputs: source, recurrent weight, [state, cell, mask, peephole]. Results:
/// states, cells, gates.
Kernel lstm(const Lstm& lstm);

/// Inputs: recurrent weight, source gradient, gates, cells, [state gradient,
/// cell gradient, state, cell, mask, peephole]. Results: the gradients of
/// source, recurrent weight, [peephole, state, cell].
Kernel lstm_gradients(const Lstm& lstm);

}  // namespace emulator
