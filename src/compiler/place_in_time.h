// SPDX-License-Identifier: MIT
// Placing buffers in the order in which they live, as an allocator would that
// sees them come and go. Takes n log n, where placing them in other orders
// (memory_plan.cpp) takes n^2 and often less memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compiler/memory_plan.h"

namespace traingraph {

/// Fills `offsets` and returns the bytes of the arena: the smaller of two, one
/// made forwards and one backwards in time, unless the first has no more than
/// `lower_bound`. Sizes are multiples of the alignment, and so are offsets.
std::size_t place_in_time(std::span<const Lifetime> lifetimes,
                          std::size_t lower_bound,
                          std::vector<std::size_t>& offsets);

}  // namespace traingraph
