// SPDX-License-Identifier: MIT
// Tasks that workers take from a common list. Which worker takes which must not
// change results.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>

#include "cpu/parallel.h"

namespace traingraph::cpu {

using Counter = std::shared_ptr<std::atomic<std::int64_t>>;

inline Counter make_counter() {
  return std::make_shared<std::atomic<std::int64_t>>();
}

/// Calls task(index, worker) for all of `count` tasks.
template <class Task>
void run_tasks(std::atomic<std::int64_t>& next, std::int64_t count,
               int num_workers, const Task& task) {
  next.store(0, std::memory_order_relaxed);
  const auto work = [&](int worker) {
    for (;;) {
      const std::int64_t index = next.fetch_add(1, std::memory_order_relaxed);
      if (index >= count) return;
      task(index, worker);
    }
  };
  run_workers(num_workers, work);
}

/// Blocks of `channels` that make at least a task for each worker.
inline std::int64_t blocks_for(std::int64_t tasks, std::int64_t workers,
                               std::int64_t channels) {
  return std::clamp<std::int64_t>((workers + tasks - 1) / tasks, 1, channels);
}

}  // namespace traingraph::cpu
