// SPDX-License-Identifier: MIT
// What processes agree on when they compile: that they train one graph, and
// that they begin with what rank 0 has.
#pragma once

#include <string>
#include <vector>

#include "compiler/merge.h"
#include "runtime/exchange/exchange.h"
#include "runtime/memory/placement.h"
#include "runtime/plans/plan_cache.h"
#include "traingraph/training_graph.h"

namespace traingraph {

/// A graph that is compiled and placed.
struct AgreeingGraph {
  const PlanCache& plan_cache;
  const UserObjects& objects;
  const Placement& placement;
  const TensorMap& constants;
  /// Parameters and running statistics.
  std::vector<TensorIndex> variables;
  /// What is fixed when an optimizer is made, as text.
  std::string optimizer;
};

/// Waits for all processes, and gives their tensors the values of rank 0.
/// Returns the `training_state` of that one. Throws the same InvalidArgument in
/// all of them when they have compiled different graphs; StateError,
/// DeviceError.
std::string agree(Exchange& exchange, const AgreeingGraph& graph,
                  const std::string& training_state);

}  // namespace traingraph
