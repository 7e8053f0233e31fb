// SPDX-License-Identifier: MIT
// Optimizers as plain data.
#pragma once

#include "layers/optimizer_kinds.h"
#include "runtime/artefact/stored_graph.h"

namespace traingraph {

/// Throws UnsupportedError for classes of the user's own.
StoredOptimizer store_optimizer(const Optimizer& optimizer);
/// Throws std::runtime_error for a name that none has.
const OptimizerKind& find_kind(const std::string& name);
/// Throws InvalidArgument for settings that no optimizer has.
OptimizerPtr make_optimizer(const StoredOptimizer& stored);

}  // namespace traingraph
