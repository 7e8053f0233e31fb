// SPDX-License-Identifier: MIT
// The kernels of the GPU: for every op the function that writes it as calls of
// MPSGraph, and whether a node with floats of 16 bits computes in them.
// Everything that such a node reads and writes is stored in its type. Ops that
// only move elements, that round once, and products, whose type is what makes
// them fast, are MPSGraph's in that type. All others are computed in float32
// between two casts inside the same executable, so that each of their results
// is rounded once: statistics, sums, exponentials and what divides by them have
// too few digits, or overflow, in 16 bits, and in which type MPSGraph adds up
// is not documented. Plain C++, tested everywhere.
#pragma once

#include "graph/program.h"

namespace traingraph::metal {

class GraphBuilder;

using LowerFunction = void (*)(GraphBuilder&);

// The families define these in metal/ops/<family>.mm.
#define OP(Kind, name, Attrs) void lower_##name(GraphBuilder&);
#include "traingraph/ops.inc"
#undef OP

LowerFunction lower_function(OpKind kind);
/// Is the node MPSGraph's in the type of its floats? Else float32 inside.
bool computes_in_half(const Program& program, const Node& node);

}  // namespace traingraph::metal
