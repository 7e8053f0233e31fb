// SPDX-License-Identifier: MIT
// Recurrent ops: which they are, where the blocks of their gates are and what
// the forward ops save of them.
#pragma once

#include <array>

#include "traingraph/op_attrs.h"

namespace traingraph {

/// Steps of a recurrent layer, forward or their gradient?
bool is_recurrent(OpKind kind);

/// Parameters of activations that are kOfType become those of the type.
void fill_gate_defaults(Attributes& attrs);

// In the order of the formulas, which is not always that of the blocks.

enum LstmGate { kInputGate, kForgetGate, kCellGate, kOutputGate };
inline constexpr int kNumLstmGates = 4;

/// The candidate is what MPSGraph calls the output gate.
enum GruGate { kUpdateGate, kResetGate, kCandidate };
inline constexpr int kNumGruGates = 3;

/// The activations of the gates, by LstmGate.
std::array<ActivationAttrs, kNumLstmGates> lstm_gates(const LstmAttrs& attrs);
/// That of the cell.
ActivationAttrs lstm_activation(const LstmAttrs& attrs);
/// The block of each gate on the gate axis.
std::array<int, kNumLstmGates> lstm_blocks(const LstmAttrs& attrs);

/// By GruGate.
std::array<ActivationAttrs, kNumGruGates> gru_gates(const GruAttrs& attrs);
std::array<int, kNumGruGates> gru_blocks(const GruAttrs& attrs);

ActivationAttrs single_gate_activation(const SingleGateAttrs& attrs);

/// Is f'(x) a function of f(x)? Then f(x) is what is saved of the gates of an
/// LSTM or GRU, else x.
bool has_slope_of_result(const ActivationAttrs& attrs);

}  // namespace traingraph
