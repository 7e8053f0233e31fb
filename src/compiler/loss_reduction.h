// SPDX-License-Identifier: MIT
// How gradients of several batches become that of all their samples: it is
// what the losses do with the elements of one batch.
#pragma once

#include <string>

#include "compiler/merged_graph.h"
#include "traingraph/training_graph.h"

namespace traingraph {

struct LossReduction {
  /// Sum or Mean; of element losses it is the Sum.
  ReductionType type = ReductionType::Sum;
  /// Says why it is neither, as a sentence without its full stop; else empty.
  std::string obstacle;
};

/// Finds the reduction of the loss of one layer.
LossReduction reduction_of(const MergedGraph& graph, const LayerInfo& layer);

/// Finds the one reduction of all losses of a training graph. A loss that does
/// not follow the batch goes with a mean only.
LossReduction reduction_of_losses(const MergedGraph& graph);

/// Throws InvalidArgument unless there are losses, each of them one number.
void require_losses_reduce(const MergedGraph& graph);

/// Sum or Mean. Throws InvalidArgument, which names `op` and `node`, when it is
/// left to losses that do not say.
GradientAccumulation resolved(GradientAccumulation by,
                              const LossReduction& losses, const char* op,
                              const char* node);

}  // namespace traingraph
