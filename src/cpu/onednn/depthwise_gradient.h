// SPDX-License-Identifier: MIT
// Gradients of the weights of depthwise convolutions, where a channel is a
// lane. oneDNN 3.2 has such code for filters of three columns; for others it
// multiplies matrices of one row, which takes 25 times as long.
#pragma once

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// Can lower_depthwise_weights_gradient() compute the node?
bool is_depthwise_weights_gradient(const UnitBuilder& unit);
/// inputs (gradient, x), results (dw); with the gradient of the bias.
void lower_depthwise_weights_gradient(UnitBuilder& unit);

}  // namespace traingraph::cpu
