// SPDX-License-Identifier: MIT
// Gates of the recurrent ops: where their blocks are, their activations, and
// what the forward ops save of them.
#pragma once

#include <vector>

#include "traingraph/op_attrs.h"

namespace traingraph {

/// Parameters of activations that are kOfType become those of the type.
void fill_gate_defaults(Attributes& attrs);

// Gates are in the order of the formulas, which is not always that of the
// blocks.

enum LstmGate { kInputGate, kForgetGate, kCellGate, kOutputGate };
inline constexpr int kNumLstmGates = 4;

/// The candidate is what MPSGraph calls the output gate.
enum GruGate { kUpdateGate, kResetGate, kCandidate };
inline constexpr int kNumGruGates = 3;

// --- attributes of a recurrent op ---

/// The activations of the gates; last that of an LSTM's cell.
std::vector<ActivationAttrs> gate_activations(const Attributes& attrs);
/// The block of each gate on the gate axis.
std::vector<int> gate_blocks(const Attributes& attrs);
/// Does the op run from the last step to the first?
bool is_reverse(const Attributes& attrs);
Attributes in_direction(Attributes attrs, bool is_reverse);

/// Is f'(x) a function of f(x)? Then f(x) is what is saved of the gates of an
/// LSTM or GRU, else x.
bool has_slope_of_result(const ActivationAttrs& attrs);

}  // namespace traingraph
