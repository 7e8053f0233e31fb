// SPDX-License-Identifier: MIT
// Whether gradients of several processes are weighed before they are summed.
#pragma once

#include "compiler/declaration.h"
#include "compiler/merged_graph.h"

namespace traingraph {

/// Do they make a mean? Throws InvalidArgument when that is left to losses that
/// do not say.
bool weights_gradients(const Declaration& declaration,
                       const MergedGraph& graph);

}  // namespace traingraph
