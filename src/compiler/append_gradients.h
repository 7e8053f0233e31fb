// SPDX-License-Identifier: MIT
// The gradient phase of a training program.
#pragma once

#include "compiler/assemble.h"

namespace traingraph {

/// Appends the gradients of all losses and user gradients with respect to what
/// is trained, asked for or debugged; fills gradient_of, trained,
/// input_gradients and debugged.
/// `accumulates`: in the graph's accumulators, where it has some.
void append_gradients(const MergedGraph& graph, bool accumulates,
                      Assembled& assembled);

}  // namespace traingraph
