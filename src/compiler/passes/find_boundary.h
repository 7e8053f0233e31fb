// SPDX-License-Identifier: MIT
// Names the results that linked graphs may read: those that no node reads, and
// those that take a gradient from outside.
#pragma once

#include "compiler/assemble.h"

namespace traingraph {

/// Fills Assembled::boundary, in the order of values.
void find_boundary(const MergedGraph& graph, Assembled& assembled);

}  // namespace traingraph
