// SPDX-License-Identifier: MIT
// What CompiledGraph::export_graph() and the load() of TrainingGraph and
// InferenceGraph take. docs/artefacts.md describes the file: a checkpoint that
// holds the graph, too.
#pragma once

#include <cstdint>

#include "traingraph/checkpoint.h"

namespace traingraph {

struct ExportOptions {
  /// Off: the graph alone; what is loaded begins as it was built.
  bool with_state = true;
  /// The user's own; "traingraph" is taken.
  Metadata metadata = {};
};

struct LoadOptions {
  /// Off: what the file says of the state is left out.
  bool with_state = true;
  /// To compile for; 0: as it was exported.
  std::int64_t batch_size = 0;
};

}  // namespace traingraph
