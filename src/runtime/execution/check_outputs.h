// SPDX-License-Identifier: MIT
// The buffers that a call wants its outputs in.
#pragma once

#include "runtime/execution/bind.h"
#include "traingraph/training_graph.h"

namespace traingraph {

/// Throws InvalidArgument, DTypeError, ShapeError.
void check_outputs(const char* call, DataList outputs_data,
                   const OutputPlan& plan, const MergedGraph& graph);

}  // namespace traingraph
