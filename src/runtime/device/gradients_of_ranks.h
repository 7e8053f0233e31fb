// SPDX-License-Identifier: MIT
// Gradients in memory that processes of one machine see of each other. Updates
// sum them where they need them, so that no sum is ever stored.
#pragma once

#include <cstddef>
#include <span>

namespace traingraph {

struct GradientsOfRanks {
  /// Where those of each process begin, by rank; behind that they lie alike.
  /// Empty: what this process has are the sums.
  std::span<std::byte* const> begins;
  std::size_t rank = 0;  // this process
};

}  // namespace traingraph
