// SPDX-License-Identifier: MIT
// What oneDNN calls of GNU's OpenMP, on our ThreadPool.
// cmake/OneDnnOnThreadPool.cmake makes a copy of oneDNN that asks for these
// functions by these names, so that no other library's OpenMP and no
// environment variable decides how many threads there are, how long they spin
// and what happens when one cannot be started.
//
// Parallel regions become jobs; one that a thread without a thread pool meets,
// or one within a share, is run by that thread alone. The interface is
// libgomp's, of which its manual has a chapter ("The libgomp ABI").
#include <algorithm>

#include "cpu/thread_pool/thread_pool.h"

namespace traingraph::cpu {
namespace {

struct Region {
  void (*function)(void*) = nullptr;
  void* data = nullptr;
};

/// Regions that this thread runs alone, one within the other, and where it was
/// before the first.
struct Alone {
  int depth = 0;
  ThreadPool::Position before;
};

thread_local Region t_region;  // of the job that this thread has begun
thread_local Alone t_alone;

void run_region(void* context, int, int) {
  const auto* region = static_cast<const Region*>(context);
  region->function(region->data);
}

/// What is left of a statically scheduled loop for this thread.
struct Loop {
  long start = 0, increment = 1, count = 0, chunk = 0, next = 0;
};
thread_local Loop t_loop;

}  // namespace
}  // namespace traingraph::cpu

using traingraph::cpu::ThreadPool;
using namespace traingraph::cpu;  // NOLINT: the functions below are C's

// NOLINTBEGIN(readability-identifier-naming): libgomp's names
extern "C" {

TRAINGRAPH_THREAD_POOL_API int traingraph_omp_get_max_threads() {
  return ThreadPool::here().num_primitive_threads;
}

TRAINGRAPH_THREAD_POOL_API int traingraph_omp_get_num_threads() {
  return ThreadPool::here().count;
}

TRAINGRAPH_THREAD_POOL_API int traingraph_omp_get_thread_num() {
  return ThreadPool::here().index;
}

TRAINGRAPH_THREAD_POOL_API int traingraph_omp_in_parallel() {
  return ThreadPool::here().is_in_share ? 1 : 0;
}

TRAINGRAPH_THREAD_POOL_API void traingraph_GOMP_parallel_start(
    void (*function)(void*), void* data, unsigned num_threads) {
  ThreadPool::Position& here = ThreadPool::here();
  const int count = num_threads == 0 ? here.num_primitive_threads
                                     : static_cast<int>(num_threads);
  const bool is_alone =
      count <= 1 || !here.pool || here.is_in_share || t_alone.depth > 0;
  if (!is_alone) {
    t_region = {function, data};
    here.pool->begin(count, run_region, &t_region);
    return;
  }
  if (t_alone.depth++ == 0) t_alone.before = here;
  here.index = 0;
  here.count = 1;
}

TRAINGRAPH_THREAD_POOL_API void traingraph_GOMP_parallel_end() {
  ThreadPool::Position& here = ThreadPool::here();
  if (t_alone.depth == 0) return here.pool->end();
  if (--t_alone.depth == 0) here = t_alone.before;
}

/// What GCC 4.9 and later call for the whole region. The flags say where
/// threads should run.
TRAINGRAPH_THREAD_POOL_API void traingraph_GOMP_parallel(
    void (*function)(void*), void* data, unsigned num_threads,
    unsigned /*flags*/) {
  traingraph_GOMP_parallel_start(function, data, num_threads);
  function(data);
  traingraph_GOMP_parallel_end();
}

/// The number is the device's.
TRAINGRAPH_THREAD_POOL_API void traingraph_omp_set_num_threads(int) {}

TRAINGRAPH_THREAD_POOL_API void traingraph_GOMP_barrier() {
  const ThreadPool::Position& here = ThreadPool::here();
  if (here.count > 1) here.pool->barrier();
}

/// The next chunk of the loop: [*first, *last).
TRAINGRAPH_THREAD_POOL_API bool traingraph_GOMP_loop_static_next(long* first,
                                                                 long* last) {
  Loop& loop = t_loop;
  const ThreadPool::Position& here = ThreadPool::here();
  if (loop.next >= loop.count) return false;
  const long begin = loop.next;
  long end = 0;
  if (loop.chunk == 0) {
    // One part each, the first `rest` of them longer by one.
    const long part = loop.count / here.count, rest = loop.count % here.count;
    const long own_begin = here.index * part + std::min<long>(here.index, rest);
    end = own_begin + part + (here.index < rest ? 1 : 0);
    loop.next = loop.count;
    if (own_begin == end) return false;
    *first = loop.start + own_begin * loop.increment;
    *last = loop.start + end * loop.increment;
    return true;
  }
  end = std::min(loop.count, begin + loop.chunk);
  loop.next = begin + loop.chunk * here.count;
  *first = loop.start + begin * loop.increment;
  *last = loop.start + end * loop.increment;
  return true;
}

TRAINGRAPH_THREAD_POOL_API bool traingraph_GOMP_loop_static_start(
    long start, long end, long increment, long chunk, long* first, long* last) {
  const long step = increment > 0 ? increment : -increment;
  const long range = increment > 0 ? end - start : start - end;
  t_loop = {.start = start,
            .increment = increment,
            .count = range > 0 ? (range + step - 1) / step : 0,
            .chunk = chunk,
            .next = chunk * ThreadPool::here().index};
  return traingraph_GOMP_loop_static_next(first, last);
}

TRAINGRAPH_THREAD_POOL_API void traingraph_GOMP_loop_end_nowait() {}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
