// SPDX-License-Identifier: MIT
// Optimizer updates, as the policy joins them.
#pragma once

#include "lowering/fusion_search.h"

namespace traingraph::cuda {

/// Joins updates whose gradients are all there when the first one runs: they
/// are launched together.
void join_updates(FusionSearch& search);

}  // namespace traingraph::cuda
