// SPDX-License-Identifier: MIT
// Drops nodes that pass their input on unchanged: dropout at rate 0, reductions
// and activations of type None.
//
//   before: y = dropout(x, rate 0); z = f(y)
//   after:                          z = f(x)      tables say x for y
//
// Where the gradient stops at y, it becomes a view of its own, so that other
// readers of x are not stopped.
#pragma once

#include "compiler/assemble.h"

namespace traingraph {

/// Runs before gradients are appended.
void remove_identities(const MergedGraph& graph, Assembled& assembled);

}  // namespace traingraph
