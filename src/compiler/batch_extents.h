// SPDX-License-Identifier: MIT
// Which extents of a program change with the batch size, gradients and updates
// included. A target that generates code passes these as arguments and writes
// the others into it, so that another batch size needs no other code:
//
//   x (32, 784)  ->  x (n, 784)        weights (784, 10)  ->  as they are
#pragma once

#include <cstdint>
#include <vector>

#include "graph/program.h"

namespace traingraph {

/// By value, bit k for axis k; empty: nothing is known.
using BatchExtents = std::vector<std::uint32_t>;

/// Compares the program with itself at another batch size. Empty where they
/// differ by more than extents: then every extent is the batch size's.
BatchExtents find_batch_extents(const Program& program, const Program& other);

}  // namespace traingraph
