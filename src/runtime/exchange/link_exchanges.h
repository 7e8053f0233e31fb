// SPDX-License-Identifier: MIT
// What linked graphs are to other processes: one order of calls over one
// collective.
#pragma once

#include <vector>

#include "compiler/merged_graph.h"
#include "runtime/device/device_context.h"
#include "runtime/exchange/exchange.h"
#include "runtime/plans/linked_parts.h"

namespace traingraph {

/// One of several graphs that are linked.
struct LinkedGraph {
  const MergedGraph& graph;
  const LinkedParts& linked;
  DeviceContext& context;
  Exchange* exchange;  // null: with nobody
};

/// Throws InvalidArgument unless all graphs that train have one collective, or
/// none has one.
void require_one_collective(const std::vector<LinkedGraph>& group);

/// Waits, after the graphs are linked here, until all processes have linked
/// theirs. Throws the same InvalidArgument in all of them when these differ;
/// StateError, DeviceError.
void link_exchanges(const std::vector<LinkedGraph>& group);

}  // namespace traingraph
