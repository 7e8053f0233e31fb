// SPDX-License-Identifier: MIT
// Functions of one variable of which an engine has code that is faster than
// loops of ours. Each returns false, and does nothing, where it has none.
#pragma once

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// Has the engine code for the activation?
bool has_engine_activation(const ActivationAttrs& attrs);
/// Lowers an activation node in float32.
bool lower_engine_activation(UnitBuilder& unit);
/// Lowers an activation's gradient in float32; input 1 is the activation's
/// result where the node reads that (reads_activated()).
bool lower_engine_activation_gradient(UnitBuilder& unit);
/// result 0 = tanh(input 0), in float32.
bool lower_engine_tanh(UnitBuilder& unit);

}  // namespace traingraph::cpu
