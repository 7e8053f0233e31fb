// SPDX-License-Identifier: MIT
// parallel_for: a range of elements on the OpenMP team. The partition depends
// on nothing but the range and the number of threads, so that runs repeat.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "cpu/instruction_set.h"

namespace traingraph::cpu {

/// Elements of a cheap loop that are worth waking the team for.
inline constexpr std::int64_t kCheapGrain = 1 << 14;
/// The same where each element costs an exponential or so.
inline constexpr std::int64_t kCostlyGrain = 1 << 11;

/// Part `index` of `count` equal parts of [0, n), at multiples of 16 so that
/// threads share no cache line.
struct Part {
  std::int64_t begin, end;
  Part(std::int64_t n, int index, int count, std::int64_t multiple = 16) {
    const std::int64_t blocks = (n + multiple - 1) / multiple;
    begin = std::min(n, blocks * index / count * multiple);
    end = std::min(n, blocks * (index + 1) / count * multiple);
  }
};

/// Calls f(begin, end), compiled for the processor's vectors, on disjoint parts
/// that cover [0, n). Ranges up to `grain` run here, on the calling thread. The
/// team is all or nothing: libgomp rebuilds its threads when the size of a team
/// changes. Parts begin at multiples of `multiple`; pass 1 when an index stands
/// for a whole row.
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f,
                  std::int64_t multiple = 16) {
  if (n <= 0) return;
  if (n <= grain || omp_get_max_threads() == 1 || omp_in_parallel()) {
    vectorized([&] { f(std::int64_t{0}, n); });
    return;
  }
#pragma omp parallel
  {
    const Part part(n, omp_get_thread_num(), omp_get_num_threads(), multiple);
    if (part.begin < part.end) {
      vectorized([&] { f(part.begin, part.end); });
    }
  }
}

}  // namespace traingraph::cpu
