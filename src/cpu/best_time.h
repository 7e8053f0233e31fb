// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>

namespace traingraph::cpu {

/// The best of several calls, seconds; the first one warms up.
template <class F>
double best_time(F&& f) {
  constexpr int kRepeats = 6;
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = Clock::now();
    f();
    const std::chrono::duration<double> seconds = Clock::now() - start;
    if (i > 0) best = std::min(best, seconds.count());
  }
  return best;
}

}  // namespace traingraph::cpu
