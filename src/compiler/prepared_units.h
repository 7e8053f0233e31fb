// SPDX-License-Identifier: MIT
// Prepared units: weights in the layouts and types of their kernels, and what
// is computed from constants. While no variable changes they give the same in
// every run, so a device that keeps track of writes makes them once, and again
// when what they read was written.
//
//   before   w -> reorder -> w'        x, w' -> convolution -> y
//   after    w -> reorder (prepared) -> w' (kept)        the same
//
// For programs that are run one by one with the same variables: inference.
// Their results are kept, so they take memory of their own for the whole run.
// What reads nothing, such as a fill, costs no more than reading it would, and
// runs each time, unless prepared units alone want it.
#pragma once

#include "compiler/target.h"

namespace traingraph {

/// Follows lowering.
void mark_prepared(const Program& program, LoweredProgram& lowered);

}  // namespace traingraph
