// SPDX-License-Identifier: MIT
// The tasks of lowering/plans/norm_sample_plan.h on the thread pool.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/parallel.h"

namespace traingraph::cpu {

/// Tasks of so many elements that are worth a thread.
inline std::int64_t grain_of_tasks(std::int64_t elements) {
  return std::max<std::int64_t>(1, kCheapGrain / elements);
}

/// f(index) for `n` tasks of so many elements each.
template <class F>
void for_each_task(std::int64_t n, std::int64_t elements, F&& f) {
  parallel_for(
      n, grain_of_tasks(elements),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) f(i);
      },
      /*multiple=*/1);
}

/// The other way round: see norm_kernels.h.
template <class F>
void for_each_task_back(std::int64_t n, std::int64_t elements, F&& f) {
  parallel_for(
      n, grain_of_tasks(elements),
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = end; i-- > begin;) f(i);
      },
      /*multiple=*/1);
}

}  // namespace traingraph::cpu
