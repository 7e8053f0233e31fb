// SPDX-License-Identifier: MIT
// Positions that are sorted, so that sums of what names the same one are short
// loops in a fixed order.
#pragma once

#include <string>
#include <vector>

#include "cuda/ops/walk.h"

namespace traingraph::cuda {

/// Scratch of kernels/sort.cuh.
struct SortedPositions {
  int sorted = -1, order = -1;

  /// Writes the range of `position`; returns `data` and the sum of the sources
  /// that name it, of type `type`; NaN where a position is outside of `size`.
  std::string sum(KernelWriter& kernel, const Extent& count, const Extent& size,
                  DataType type, const std::string& data,
                  const std::string& position, const std::string& source) const;
};

/// Shorter lists are looked through by every reader.
bool is_worth_sorting(const Extent& count);

/// Adds the launch that sorts the `count` positions at argument `at`.
SortedPositions sort_positions(UnitBuilder& unit, int at, DataType type,
                               const Extent& count, const Extent& size,
                               std::vector<Launch>& launches);

}  // namespace traingraph::cuda
