// SPDX-License-Identifier: MIT
// Call: one execute* call, as its arguments came.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/plans/plan_cache.h"
#include "traingraph/training_graph.h"

namespace traingraph {

class ExecutionState;

struct CallData {
  DataList inputs, labels, label_weights;
};

/// How a gradient pass joins the gradients that wait for the update.
struct GradientPass {
  GradientAccumulation by = GradientAccumulation::None;  // or Sum, or Mean
  /// Factors of what waits and of the new ones.
  float keep = 0, add = 1;
  std::shared_ptr<ExecutionState> adds_to = nullptr;
};

struct Call {
  const char* name;
  EntryPoint entry_point;
  CallData data;
  std::shared_ptr<ExecutionState> depends_on;
  GradientPass pass = {};
  bool skips_writing = false;  // data of the call
  std::int64_t batch = 0;      // samples
};

}  // namespace traingraph
