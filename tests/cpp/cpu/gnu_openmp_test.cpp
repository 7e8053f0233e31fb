// SPDX-License-Identifier: MIT
// libgomp's functions on the thread pool: what compilers make of parallel
// regions runs on as many threads as asked for, each knows its number, and a
// region within another, or without a thread pool, runs on one.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "cpu/thread_pool/thread_pool.h"

// NOLINTBEGIN(readability-identifier-naming): libgomp's names
extern "C" {
int traingraph_omp_get_max_threads();
int traingraph_omp_get_num_threads();
int traingraph_omp_get_thread_num();
int traingraph_omp_in_parallel();
void traingraph_omp_set_num_threads(int);
void traingraph_GOMP_barrier();
void traingraph_GOMP_parallel(void (*)(void*), void*, unsigned, unsigned);
}
// NOLINTEND(readability-identifier-naming)

namespace traingraph::cpu {
namespace {

constexpr int kSize = 3;

struct Seen {
  std::vector<std::atomic<int>> runs = std::vector<std::atomic<int>>(kSize);
  std::atomic<int> count = 0, inner = 0, before = 0, wrong = 0;
};

void inner_region(void* data) {
  Seen& seen = *static_cast<Seen*>(data);
  ++seen.inner;
  if (traingraph_omp_get_num_threads() != 1) ++seen.wrong;
  if (traingraph_omp_get_thread_num() != 0) ++seen.wrong;
}

void region(void* data) {
  Seen& seen = *static_cast<Seen*>(data);
  const int number = traingraph_omp_get_thread_num();
  ++seen.runs[number];
  seen.count = traingraph_omp_get_num_threads();
  if (seen.count > 1 && traingraph_omp_in_parallel() != 1) ++seen.wrong;
  ++seen.before;
  traingraph_GOMP_barrier();
  if (seen.before != seen.count) ++seen.wrong;
  traingraph_GOMP_parallel(inner_region, &seen, kSize, 0);
  if (traingraph_omp_get_thread_num() != number) ++seen.wrong;
  traingraph_GOMP_barrier();
}

TEST(GnuOpenMP, RunsARegionOnTheThreadPool) {
  ThreadPool pool(kSize);
  const ThreadPool::Driver driver(pool);
  ThreadPool::here().num_primitive_threads = kSize;
  for (int job = 0; job < 200; ++job) {
    for (int threads : {2, kSize}) {
      Seen seen;
      traingraph_GOMP_parallel(region, &seen, threads, 0);
      EXPECT_EQ(seen.count, threads);
      for (int i = 0; i < kSize; ++i) EXPECT_EQ(seen.runs[i], i < threads);
      EXPECT_EQ(seen.inner, threads);
      EXPECT_EQ(seen.wrong, 0);
    }
  }
  ThreadPool::here().num_primitive_threads = 1;
}

TEST(GnuOpenMP, TheNumberOfThreadsIsTheDevices) {
  const int before = traingraph_omp_get_max_threads();
  traingraph_omp_set_num_threads(before + 5);
  EXPECT_EQ(traingraph_omp_get_max_threads(), before);
}

TEST(GnuOpenMP, RunsAloneWithoutAThreadPool) {
  Seen seen;
  traingraph_GOMP_parallel(region, &seen, kSize, 0);
  EXPECT_EQ(seen.count, 1);
  EXPECT_EQ(seen.runs[0], 1);
  EXPECT_EQ(seen.inner, 1);
  EXPECT_EQ(seen.wrong, 0);
}

}  // namespace
}  // namespace traingraph::cpu
