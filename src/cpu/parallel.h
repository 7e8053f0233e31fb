// SPDX-License-Identifier: MIT
// parallel_for: a range of elements on the thread pool that serves the calling
// thread. The partition depends on nothing but the range and the size of the
// thread pool, and results should depend on neither.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cpu/instruction_set.h"
#include "cpu/thread_pool/thread_pool.h"

namespace traingraph::cpu {

/// Elements of a cheap loop that are worth waking a thread for.
inline constexpr std::int64_t kCheapGrain = 1 << 14;
/// The grain where each element costs an exponential or so.
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

/// Shares of `n` elements for a thread pool of `size`: none below `grain`, and
/// a few per thread where there is enough, so that a thread that is late delays
/// the others less.
inline int num_shares(std::int64_t n, std::int64_t grain, int size) {
  const std::int64_t worth = (n + grain - 1) / grain;
  if (worth < size) return static_cast<int>(worth);
  const std::int64_t per_thread =
      std::min<std::int64_t>(worth / size, ThreadPool::kMaxSharesPerThread);
  return static_cast<int>(per_thread) * size;
}

/// Calls f(begin, end), compiled for the processor's vectors, on disjoint parts
/// that cover [0, n). Ranges up to `grain` run here, on the calling thread.
/// Parts begin at multiples of `multiple`; pass 1 when an index stands for a
/// whole row.
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f,
                  std::int64_t multiple = 16) {
  if (n <= 0) return;
  const ThreadPool::Position& here = ThreadPool::here();
  const bool is_alone = !here.pool || here.is_in_share || n <= grain;
  const int shares = is_alone ? 1 : num_shares(n, grain, here.pool->size());
  // One place calls `f`, so that its loop is compiled once.
  const auto run_share = [&](int index, int count) {
    const Part part(n, index, count, multiple);
    if (part.begin < part.end) vectorized([&] { f(part.begin, part.end); });
  };
  if (shares == 1) return run_share(0, 1);
  here.pool->run(
      shares,
      [](void* context, int index, int count) {
        (*static_cast<decltype(&run_share)>(context))(index, count);
      },
      const_cast<void*>(static_cast<const void*>(&run_share)));
}

/// Calls f(i) for all i in [0, count), side by side where there are threads for
/// it. For workers that take tasks from a common list, each with memory of its
/// own: a worker may come late, or run after the others on one thread.
template <class F>
void run_workers(int count, F&& f) {
  const ThreadPool::Position& here = ThreadPool::here();
  if (!here.pool || here.is_in_share || count == 1) {
    for (int i = 0; i < count; ++i) f(i);
    return;
  }
  here.pool->run(
      count,
      [](void* context, int index, int) {
        (*static_cast<std::remove_reference_t<F>*>(context))(index);
      },
      const_cast<void*>(static_cast<const void*>(&f)));
}

}  // namespace traingraph::cpu
