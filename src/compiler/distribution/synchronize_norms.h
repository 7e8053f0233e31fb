// SPDX-License-Identifier: MIT
// Batch normalization of the samples of all ranks, a rewrite into parts of it
// with a collective between them:
//
//   before: y = norm(x)
//   after:  m = moments(x); M = reduce_moments(m); y = apply(x, M)
//
//   before: dx = gradient(g, x)
//   after:  s = sums(g, x, M); S = all_reduce(s); dx = apply(g, x, M, S)
//
// The gradients of gamma and beta are those of a rank's own samples: they are
// summed with all others.
#pragma once

#include "compiler/passes.h"

namespace traingraph {

/// Every batch normalization that trains, where that is asked for. Behind
/// append_gradients(). Throws UnsupportedError where a gradient was declared,
/// whose incoming gradients have no weight of this rank, or where a node reads
/// statistics, whose gradients would stay with one rank.
void synchronize_norms(const PassContext& context, Assembled& assembled);

}  // namespace traingraph
