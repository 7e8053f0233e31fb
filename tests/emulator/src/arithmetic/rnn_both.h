// SPDX-License-Identifier: MIT
// Two directions at once: each has its half of every input and result, the
// forward one the first.
#pragma once

#include <set>

#include "../array.h"

namespace emulator {

/// Halves are on the last axis, except of the stacked ones (by their place):
/// these lie one behind the other, (2, rows, columns) or vectors.
struct Stacked {
  std::set<std::size_t> inputs, results;
};
Kernel in_both_directions(const Kernel& forward, const Kernel& reverse,
                          const Stacked& stacked);

}  // namespace emulator
