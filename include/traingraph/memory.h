// SPDX-License-Identifier: MIT
// MemoryReport: exact device bytes of a compiled graph, known before anything
// is allocated. Predicted equals allocated, to the byte.
#pragma once

#include <cstddef>
#include <string>

#include "traingraph/export.h"

namespace traingraph {

/// The memory of one plan. Categories overlap in time, so they do not add up to
/// arena_bytes; arena_bytes is what is allocated.
struct PlanMemory {
  std::size_t arena_bytes = 0;
  /// No plan can be smaller than the most bytes alive at one time.
  std::size_t live_peak_bytes = 0;
  /// The arena would have this size without any reuse.
  std::size_t unplanned_bytes = 0;
  /// These bytes are kept from the forward for the gradient.
  std::size_t saved_bytes = 0;
  /// Parameter gradients take these bytes; in the phase plan they are one
  /// block.
  std::size_t gradient_bytes = 0;
  /// Single units take these bytes as scratch.
  std::size_t workspace_bytes = 0;
  bool is_allocated = false;
};

struct TRAINGRAPH_API MemoryReport {
  /// Persistent bytes that this graph brings; parameters that another graph on
  /// the device already holds are in shared_bytes instead.
  std::size_t parameter_bytes = 0;
  std::size_t statistics_bytes = 0;
  std::size_t optimizer_bytes = 0;
  std::size_t input_bytes = 0;
  std::size_t constant_bytes = 0;
  /// Gradient accumulators: of linkable graphs, and of those compiled with
  /// accumulate_gradients.
  std::size_t accumulator_bytes = 0;
  std::size_t shared_bytes = 0;
  PlanMemory step;       // execute
  PlanMemory phases;     // execute_forward, _gradient, _optimizer_update
  PlanMemory inference;  // forward_for_inference, and inference graphs
  /// Transfer buffers of executions in flight; not part of the sums below.
  std::size_t staging_bytes = 0;
  /// The device's engine (MPSGraph) holds this besides our buffers, for all
  /// graphs of the process: measured now, not knowable before a run. 0 on
  /// devices that hold nothing.
  std::size_t engine_bytes = 0;
  /// Persistent bytes are always allocated by the first execution.
  std::size_t persistent_bytes = 0;
  /// Sum over the arenas that have been allocated so far, as planned ...
  std::size_t predicted_bytes = 0;
  /// The device counts the same bytes.
  std::size_t allocated_bytes = 0;

  /// persistent_bytes plus the arenas of the plans that will be used.
  std::size_t total_bytes(bool with_step, bool with_phases = false,
                          bool with_inference = false) const;
  /// Formats a table for people.
  std::string to_string() const;
};

}  // namespace traingraph
