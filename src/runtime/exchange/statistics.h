// SPDX-License-Identifier: MIT
// Statistics of the samples of several processes, which become those of all of
// them between two units (SharedStatistics).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace traingraph {

struct BoundStatistics {
  /// The number of samples; then means and, behind them, sums of squared
  /// deviations from these; or else sums.
  std::span<double> values;
  bool are_moments = false;
  std::string_view node;
};

/// "statistics of \"stem\""
std::string name_of(const BoundStatistics& statistics);

/// Makes `statistics` those of all processes, which `all` has one after the
/// other, in this order. The same numbers give the same bits.
void merge_statistics(std::span<const double> all,
                      const BoundStatistics& statistics);

}  // namespace traingraph
