// SPDX-License-Identifier: MIT
// Which types the processor multiplies by itself. oneDNN emulates the others,
// slower than it computes in float32; ONEDNN_MAX_CPU_ISA counts.
#pragma once

#include <string>

#include "traingraph/types.h"

namespace traingraph::cpu {

/// Are products of this type at least as fast as float32's?
bool has_products(DataType type);
/// Are convolutions of this type, and their gradients, at least as fast?
bool has_convolutions(DataType type);
/// Has oneDNN more for pools of this type than its reference loops?
bool has_pools(DataType type);
/// Are products of float32 faster where they may round operands to bfloat16?
bool gains_by_rounding();

// The sentences are for who asked for it in vain.
std::string note_of_upcast_products(DataType type);
std::string note_of_exact_products();

}  // namespace traingraph::cpu
