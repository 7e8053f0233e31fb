// SPDX-License-Identifier: MIT
// The array of OpDefs, one per row of ops.inc, filled explicitly: no static
// constructors, nothing to keep alive at link time.
#pragma once

#include <span>
#include <string_view>

#include "graph/op_def.h"

namespace traingraph {

/// All ops in table order.
std::span<const OpDef> op_defs();
const OpDef& op_def(OpKind kind);
/// For programs that are read from a file: null when there is no such op.
const OpDef* find_op(std::string_view name);

// Each family file defines one function per row: `OpDef define_<name>()`.
#define OP(Kind, name, Attrs) OpDef define_##name();
#include "traingraph/ops.inc"
#undef OP
// Host ops.
OpDef define_all_reduce_start();
OpDef define_all_reduce_done();
OpDef define_all_gather();
OpDef define_all_reduce();
OpDef define_reduce_moments();

}  // namespace traingraph
