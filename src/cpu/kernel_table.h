// SPDX-License-Identifier: MIT
// The kernels of the CPU: for every op the function that lowers it, and the
// floats of 16 bits that it takes.
#pragma once

#include "graph/program.h"

namespace traingraph {
class UnitBuilder;
}

namespace traingraph::cpu {

using LowerFunction = void (*)(UnitBuilder&);
/// Table entry for each OpKind; the families define the functions as
/// `void lower_<name>(UnitBuilder&)` in cpu/ops/<family>.cpp.
LowerFunction lower_function(OpKind kind);
/// Can it run with floats of 16 bits that are of this type?
bool has_half_kernels(const Node& node, DataType type);

#define OP(Kind, name, Attrs) void lower_##name(UnitBuilder&);
#include "traingraph/ops.inc"
#undef OP

}  // namespace traingraph::cpu
