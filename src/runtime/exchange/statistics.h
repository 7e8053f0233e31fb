// SPDX-License-Identifier: MIT
// Statistics of the samples of several processes, which reduce_moments and
// all_reduce make those of all of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/program.h"

namespace traingraph {

struct BoundStatistics {
  /// Moments (graph/moments.h), or else sums.
  std::span<float> values;
  bool are_moments = false;
  std::string_view node;
};

/// Are the node's results statistics of all processes?
bool reduces_statistics(const Node& node);

/// "statistics of \"stem\""
std::string name_of(const BoundStatistics& statistics);

/// Makes `statistics` those of all processes, which `all` has one after the
/// other, in this order. The same numbers give the same bits.
void merge_statistics(std::span<const float> all,
                      const BoundStatistics& statistics);

}  // namespace traingraph
