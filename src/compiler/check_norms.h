// SPDX-License-Identifier: MIT
// Can batch normalization have the statistics of several processes?
#pragma once

#include "compiler/assemble.h"

namespace traingraph {

/// Throws UnsupportedError, with the node, where gradients would be wrong.
void require_norms_to_share(const MergedGraph& graph,
                            const Assembled& assembled, const Target& target);

}  // namespace traingraph
