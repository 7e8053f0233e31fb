// SPDX-License-Identifier: MIT
#include "cpu/primitive_threads.h"

#include <algorithm>

#include "cpu/thread_pool/thread_pool.h"

#ifndef TRAINGRAPH_ENGINE_ON_THREAD_POOL
#include <omp.h>
#endif

namespace traingraph::cpu {

#ifdef TRAINGRAPH_ENGINE_ON_THREAD_POOL
int PrimitiveThreads::count() {
  return ThreadPool::here().num_primitive_threads;
}

PrimitiveThreads::PrimitiveThreads(int count)
    : before_(PrimitiveThreads::count()) {
  ThreadPool::here().num_primitive_threads = count;
}

PrimitiveThreads::~PrimitiveThreads() {
  ThreadPool::here().num_primitive_threads = before_;
}

int promised_threads(int wanted) { return wanted; }
#else
int PrimitiveThreads::count() { return omp_get_max_threads(); }

PrimitiveThreads::PrimitiveThreads(int count)
    : before_(PrimitiveThreads::count()) {
  omp_set_num_threads(count);
}

PrimitiveThreads::~PrimitiveThreads() { omp_set_num_threads(before_); }

int promised_threads(int wanted) {
  int got = 1;
#pragma omp parallel num_threads(wanted)
#pragma omp single
  got = omp_get_num_threads();
  return got == wanted ? wanted : 1;
}
#endif

int threads_for(const NodeCost& cost, int most) {
  // What one core does at least, and the time that makes up for waking another.
  constexpr double kFlopsPerSecond = 60e9, kBytesPerSecond = 15e9;
  constexpr double kSecondsPerThread = 5e-6;
  const double seconds =
      std::max(cost.flops / kFlopsPerSecond, cost.bytes / kBytesPerSecond);
  const double threads = std::min(seconds / kSecondsPerThread, 1e6);
  return std::clamp(static_cast<int>(threads), 1, most);
}

}  // namespace traingraph::cpu
