// SPDX-License-Identifier: MIT
// Families of filters: a filter with its gradient filters and the updates of
// its parameters. MPSNN's states lead from one to the other and cannot leave an
// MPSNNGraph, so a family runs on MPSNN as a whole or not at all. Plain C++,
// tested everywhere.
#pragma once

#include <string>
#include <vector>

#include "graph/image_filter.h"
#include "metal/gpu_limits.h"

namespace traingraph::metal {

struct FilterFamily {
  int forward = -1;            // in the program's filters
  std::vector<int> gradients;  // likewise
  std::vector<NodeId> nodes;   // of all of them
  /// Update what the gradients are for; in program order.
  std::vector<NodeId> updates;
  /// The variables that these updates train.
  std::vector<ValueId> trained;
};

/// The node that writes each value, -1 where there is none in the program.
std::vector<NodeId> producers_of(const Program& program);

/// Finds the families of all filters that have nodes.
std::vector<FilterFamily> find_families(const Program& program);

/// Why the family cannot run on MPSNN, whatever else does; empty: it can.
std::string reason_not_mpsnn(const Program& program, const FilterFamily& family,
                             const GpuLimits& limits);

}  // namespace traingraph::metal
