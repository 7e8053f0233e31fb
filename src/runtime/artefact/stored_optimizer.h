// SPDX-License-Identifier: MIT
// Optimizers as plain data.
#pragma once

#include "runtime/artefact/stored_graph.h"

namespace traingraph {

/// Throws UnsupportedError for classes of the user's own.
StoredOptimizer store_optimizer(const Optimizer& optimizer);
/// Throws InvalidArgument for settings that no optimizer has.
OptimizerPtr make_optimizer(const StoredOptimizer& stored);

}  // namespace traingraph
