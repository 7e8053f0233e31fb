// SPDX-License-Identifier: MIT
// What a TrainingGraph counts by itself.
#pragma once

#include "bindings.h"
#include "traingraph/training_graph.h"

namespace traingraph::python {

void bind_training_state(Handle<TrainingGraph, CompiledGraph>& graph);

}  // namespace traingraph::python
