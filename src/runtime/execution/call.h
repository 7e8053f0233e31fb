// SPDX-License-Identifier: MIT
// Call: one execute* call, as its arguments came.
#pragma once

#include <memory>

#include "runtime/execution/batches.h"
#include "traingraph/training_graph.h"

namespace traingraph {

class ExecutionState;

struct CallData {
  DataList inputs, labels, label_weights;
};

struct Call {
  const char* name;
  Segment segment;
  CallData data;
  std::shared_ptr<ExecutionState> depends_on;
};

}  // namespace traingraph
