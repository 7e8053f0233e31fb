// SPDX-License-Identifier: MIT
// The tables beside a program that was read.
#pragma once

#include "runtime/artefact/stored_graph.h"

namespace traingraph {

/// Every index names something, which may have the part that the table gives
/// it. `graph.value_of` is filled. Throws std::runtime_error.
void check_tables(const MergedGraph& graph,
                  const std::vector<TensorEntry>& tensors);

}  // namespace traingraph
