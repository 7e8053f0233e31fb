// SPDX-License-Identifier: MIT
// The gates of an LSTM: where their blocks are and what the forward op saves of
// them.
#pragma once

#include <array>

#include "traingraph/op_attrs.h"

namespace traingraph {

/// In the order of the formulas, which is not always that of the blocks.
enum LstmGate { kInputGate, kForgetGate, kCellGate, kOutputGate };
inline constexpr int kNumLstmGates = 4;

/// The activations of the gates, by LstmGate.
std::array<ActivationAttrs, kNumLstmGates> lstm_gates(const LstmAttrs& attrs);
/// That of the cell.
ActivationAttrs lstm_activation(const LstmAttrs& attrs);
/// The block of each gate on the gate axis.
std::array<int, kNumLstmGates> lstm_blocks(const LstmAttrs& attrs);

/// Is f'(x) a function of f(x)? Then f(x) is what is saved of a gate, else x.
bool has_slope_of_result(const ActivationAttrs& attrs);

}  // namespace traingraph
