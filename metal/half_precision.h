// SPDX-License-Identifier: MIT
// How nodes with floats of 16 bits compute. Everything that such a node reads
// and writes is stored in its type. Ops that only move elements, that round
// once, and products, whose type is what makes them fast, are MPSGraph's in
// that type. All others are computed in float32 between two casts inside the
// same executable, so that each of their results is rounded once: statistics,
// sums, exponentials and what divides by them have too few digits, or
// overflow, in 16 bits, and in which type MPSGraph adds up is not documented.
// Plain C++, tested everywhere.
#pragma once

#include "graph/program.h"

namespace traingraph::metal {

/// Is the node MPSGraph's in the type of its floats? Else float32 inside.
bool computes_in_half(const Program& program, const Node& node);

}  // namespace traingraph::metal
