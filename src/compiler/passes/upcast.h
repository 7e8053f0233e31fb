// SPDX-License-Identifier: MIT
// Floats of 16 bits where the target has no code for them: the node computes in
// float32, between casts. What it computed is stored in 16 bits all the same,
// so that memory holds what the plan of a target with such code holds.
//
//   before: y16 = op(x16)
//   after:  x32 = cast(x16), y32 = op(x32), y16 = cast(y32)
//
// Casts to float32 that were there before, of gradients of parameters, read
// what was computed: y16 may be infinite where y32 is not.
//
// Throws UnsupportedError where such a node changes a variable of 16 bits.
#pragma once

#include "compiler/target.h"

namespace traingraph {

void upcast(const Target& target, Program& program);

}  // namespace traingraph
