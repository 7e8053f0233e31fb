// SPDX-License-Identifier: MIT
// Products that the thread pool divides, not oneDNN: those of a transposed left
// operand, as gradients of weights are. On 4, 8 and 16 threads tiles of
// one-thread primitives took 0.4 to 0.8 of the time of one primitive. Threads
// take tiles as they come, so a thread that the operating system does not run
// delays the others by one tile at most.
#pragma once

#include "cpu/engine/product.h"

namespace traingraph::cpu {

/// Lowers z = x y, without bias, alpha and activation, as tiles; false, and
/// nothing is done: one primitive is as fast, or there are too few tiles.
bool lower_tiled_product(UnitBuilder& unit, const ProductOperands& operands);

}  // namespace traingraph::cpu
