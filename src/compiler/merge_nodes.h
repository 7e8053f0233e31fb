// SPDX-License-Identifier: MIT
// The nodes of all graph objects in one program, the loss layer's behind them.
#pragma once

#include "compiler/declaration.h"

namespace traingraph {

/// `into` is an empty graph state. Returns the last result of the last graph,
/// before the loss. Throws InvalidArgument, StateError.
ValueId merge_nodes(const Declaration& declaration, GraphState& into);

}  // namespace traingraph
