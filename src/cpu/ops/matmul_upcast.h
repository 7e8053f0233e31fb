// SPDX-License-Identifier: MIT
// Products of 16 bits where the processor has none: in float32, with the casts
// of the operands and of the result inside.
#pragma once

#include "cpu/engine/product.h"

namespace traingraph::cpu {

/// Lowers a MatMul node, with alpha and bias.
void lower_upcast_product(UnitBuilder& unit, const ProductOperands& operands);

}  // namespace traingraph::cpu
