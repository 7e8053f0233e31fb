// SPDX-License-Identifier: MIT
// How gradients of several batches become that of all their samples: it is
// what the losses do with the elements of one batch.
#pragma once

#include <string>

#include "compiler/merged_graph.h"

namespace traingraph {

struct LossReduction {
  /// Sum or Mean; of element losses it is the Sum.
  ReductionType type = ReductionType::Sum;
  /// Why it is neither, as a sentence without its full stop; else empty.
  std::string obstacle;
};

/// Of all losses of a training graph. A loss that does not follow the batch
/// goes with a mean only.
LossReduction reduction_of_losses(const MergedGraph& graph);

}  // namespace traingraph
