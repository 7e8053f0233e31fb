// SPDX-License-Identifier: MIT
// Which nodes run together as one MPSGraph executable, and what crosses its
// border. Plain C++: tested on every platform.
#pragma once

#include <string>
#include <vector>

#include "compiler/target.h"

namespace traingraph::metal {

/// A dropout mask that a kernel makes before the executable runs. Nodes that
/// drop the same elements (forward and gradient) share it.
struct Mask {
  DropoutAttrs attrs;
  Shape shape;
  ValueId random_state = kNoValue;
  std::vector<NodeId> nodes;
};

struct GraphUnit {
  Phase phase = Phase::Forward;
  std::vector<NodeId> nodes;     // in program order
  std::vector<ValueId> feeds;    // read from outside
  std::vector<ValueId> targets;  // results that somebody outside reads
  std::vector<ValueId> updated;  // variables that get new contents
  std::vector<Mask> masks;
};

/// One unit per phase, or one for all when `options.joins_phases`. What may be
/// left out of a run has units of its own (LowerOptions::may_be_absent,
/// separates_updates). A unit is cut where its estimated time on the slowest
/// GPU exceeds `options.max_gpu_ms` (0: never).
std::vector<GraphUnit> partition(const Program& program,
                                 const LowerOptions& options);

/// For people, by layers: "conv1 ... fc2 (forward)".
std::string label_of(const Program& program, const GraphUnit& unit);

}  // namespace traingraph::metal
