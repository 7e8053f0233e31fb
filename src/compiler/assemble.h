// SPDX-License-Identifier: MIT
// Assembly takes a merged graph to one variant of its program at one batch
// size: gradients and updates are appended, and nodes without a use are
// dropped. A pure function of its arguments, so that each batch size is
// assembled the same way.
#pragma once

#include <memory>
#include <vector>

#include "autodiff/gradient.h"
#include "compiler/compiler_options.h"
#include "compiler/merged_graph.h"
#include "compiler/target.h"
#include "traingraph/rewrite.h"

namespace traingraph {

enum class Mode { Training, Inference };

/// When the phases of a training program run.
enum class Timeline {
  Phases,  // each by a call of its own
  OneRun,  // one behind the other, while the host sums gradients
  Joined,  // units may span them
};

/// A graph's programs at one batch size differ in this alone.
struct Variant {
  Mode mode = Mode::Training;
  Timeline timeline = Timeline::Phases;
  /// Gradients go to accumulators where there are some.
  bool accumulates = true;

  bool operator==(const Variant&) const = default;
};

/// A parameter that is trained.
struct Trained {
  TensorIndex tensor = kNoTensor;
  ValueId value = kNoValue;
  ValueId gradient = kNoValue;
};

struct Assembled {
  Program program;
  std::vector<ValueId> value_of;        // by tensor
  std::vector<bool> depends_on_labels;  // by value
  GradientMap gradient_of;
  std::vector<ValueId> losses;      // of MergedGraph::losses
  std::vector<ValueId> loss_seeds;  // their gradients: ones
  ValueId result = kNoValue;
  std::vector<Trained> trained;
  std::vector<int> trained_at;  // by tensor; -1: not trained
  /// Gradients of declared inputs are here when they are computed.
  std::vector<std::pair<TensorIndex, ValueId>> input_gradients;
  /// Results of linkable graphs that no node reads: others may.
  std::vector<ValueId> boundary;
  /// Results and gradients of layers that are debugged.
  std::vector<ValueId> debugged;
  std::vector<Rewrite> rewrites;

  ValueId find(TensorIndex tensor) const {
    return tensor == kNoTensor ? kNoValue : value_of[tensor];
  }
  /// Returns null when the tensor is not trained.
  const Trained* find_trained(TensorIndex tensor) const {
    const int at = tensor == kNoTensor ? -1 : trained_at[tensor];
    return at < 0 ? nullptr : &trained[at];
  }
};

/// Runs the passes of passes.h. Throws ShapeError, InvalidArgument, StateError;
/// UnsupportedError when `batch` differs from the declared one and a node
/// cannot follow.
Assembled assemble(const MergedGraph& graph, const Variant& variant,
                   std::int64_t batch, const Target& target,
                   const CompilerOptions& options = {});

/// Lists what the host reads after a run.
std::vector<ValueId> readable_values(const MergedGraph& graph,
                                     const Assembled& assembled);

/// Results of the layers that are debugged.
std::vector<TensorIndex> debugged_results(const MergedGraph& graph);

}  // namespace traingraph
