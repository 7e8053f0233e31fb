// SPDX-License-Identifier: MIT
// Which engine runs a node, which nodes run together as one unit, and what
// crosses its border. Plain C++: tested on every platform.
#pragma once

#include <string>
#include <vector>

#include "compiler/target.h"
#include "metal/gpu_limits.h"

namespace traingraph::metal {

/// The code of the GPU device that computes a node. A change cuts a unit.
enum class Engine {
  Graph,       // MPSGraph: all that follow each other are one executable
  Kernel,      // a kernel of our own: one node is one unit
  ImageGraph,  // MPSNN: filters that follow each other are one MPSNNGraph
  Host,        // not the GPU: one node is one unit
};

/// The engine of a node that MPSNN does not take. Dropout is the only one that
/// a kernel takes, of float32, and only when its mask is larger than
/// `limits.max_mask_bytes`; a smaller one is worth no cut.
Engine engine_of(const Program& program, const Node& node,
                 const GpuLimits& limits);

/// Which elements dropout, or attention's dropout, keeps, a Boolean tensor: a
/// kernel makes it before the executable runs. Nodes that drop the same
/// elements (forward and gradient) share it.
struct Mask {
  DropoutAttrs attrs;
  TensorDescriptor desc;
  ValueId random_state = kNoValue;
  std::vector<NodeId> nodes;
};

/// A node that changes its variables in place, by a kernel of ours.
struct InPlaceUpdate {
  struct Input {
    ValueId value = kNoValue;
    std::int64_t first = 0;  // element of it that the kernel reads
  };
  NodeId node = -1;
  std::vector<Input> inputs;  // the node's
};

struct GpuUnit {
  Engine engine = Engine::Graph;
  Phase phase = Phase::Forward;
  std::vector<NodeId> nodes;     // in program order
  std::vector<ValueId> feeds;    // read from outside
  std::vector<ValueId> targets;  // results that are read outside
  std::vector<ValueId> updated;  // variables that MPSGraph has new contents of
  std::vector<Mask> masks;       // made first
  double estimated_ms = 0;       // without updates
  /// Among the nodes; they run last, when `updated` has its new contents.
  std::vector<InPlaceUpdate> in_place;

  // --- image graphs ---
  /// Indices of the filters, which are in their order. Feeds are images and
  /// parameters, targets results, losses and gradients of parameters.
  std::vector<int> filters;
  /// What trains parameters: encoded by MPSNN's gradient filters, which hand
  /// over their gradients. Units of MPSGraph.
  std::vector<GpuUnit> updates;
  /// The filter whose parameters an update trains.
  int updates_filter = -1;
};

/// There is one unit per phase, or one for all when `options.joins_phases`.
/// What may be left out of a run has units of its own
/// (LowerOptions::may_be_absent, separates_updates). A unit is cut where the
/// engine changes, and where its estimated time exceeds `options.max_gpu_ms`
/// (0: never).
///
/// Filters run on MPSNN with their gradient filters and the updates of their
/// parameters (mpsnn/filter_family.h), or not at all: where MPSNN has a class
/// that means the same, where they come to lie in one unit, and where nobody
/// reads what only their ops compute.
std::vector<GpuUnit> partition(const Program& program,
                               const LowerOptions& options,
                               const GpuLimits& limits);

/// Says of each filter of the program, for people, why MPSNN does not run it;
/// empty where it does, and for filters that the program does without.
std::vector<std::string> reasons_not_mpsnn(const Program& program,
                                           const LowerOptions& options,
                                           const GpuLimits& limits);

/// The label names layers, for people: "conv1 ... fc2 (forward)".
std::string label_of(const Program& program, const GpuUnit& unit);

}  // namespace traingraph::metal
