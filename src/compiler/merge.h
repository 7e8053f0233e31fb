// SPDX-License-Identifier: MIT
// Merging: the forward half of assembling. Copies the nodes of all graph
// objects into one graph in which a tensor is one value, at a given batch size
// and mode, and appends the loss layer.
#pragma once

#include <vector>

#include "compiler/assemble.h"

namespace traingraph {

struct Merged {
  GraphState graph;
  std::vector<bool> depends_on_labels;  // by value
  ValueId result = kNoValue;
};

/// Throws as assemble() does.
void merge_graphs(const Declaration& declaration, Mode mode, std::int64_t batch,
                  Merged& merged);

}  // namespace traingraph
