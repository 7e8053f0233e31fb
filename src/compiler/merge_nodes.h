// SPDX-License-Identifier: MIT
// The nodes of all graph objects in one program, the loss layer's behind them.
#pragma once

#include <vector>

#include "compiler/declaration.h"

namespace traingraph {

struct MergedNodes {
  ValueId result = kNoValue;  // last result of the last graph, before the loss
  std::vector<bool> depends_on_labels;  // by value
};

/// `into` is an empty graph state. Throws InvalidArgument, StateError.
MergedNodes merge_nodes(const Declaration& declaration, GraphState& into);

}  // namespace traingraph
