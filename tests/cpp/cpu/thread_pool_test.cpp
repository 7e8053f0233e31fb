// SPDX-License-Identifier: MIT
// The thread pool: every share runs once, shares may wait for one another, and
// nobody waits for a thread that does not come.
#include "cpu/thread_pool/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "cpu/parallel.h"

namespace traingraph::cpu {
namespace {

/// Calls f(index, count) for each share.
template <class F>
void run(ThreadPool& pool, int count, F f) {
  pool.run(
      count,
      [](void* context, int index, int of) {
        (*static_cast<F*>(context))(index, of);
      },
      &f);
}

TEST(ThreadPool, RunsEveryShareOnce) {
  for (int size : {1, 2, 3, 8}) {
    ThreadPool pool(size);
    EXPECT_EQ(pool.size(), size);
    std::mt19937 random(size);
    for (int job = 0; job < 2000; ++job) {
      const int most = size * ThreadPool::kMaxSharesPerThread;
      const int count = 1 + static_cast<int>(random() % most);
      std::vector<std::atomic<int>> runs(count);
      run(pool, count, [&](int index, int of) {
        EXPECT_EQ(of, count);
        ++runs[index];
      });
      for (const auto& each : runs) ASSERT_EQ(each, 1) << count;
    }
  }
}

TEST(ThreadPool, SharesMayWaitForOneAnother) {
  ThreadPool pool(4);
  for (int count : {2, 3, 4}) {
    for (int job = 0; job < 100; ++job) {
      std::atomic<int> before = 0, between = 0;
      std::atomic<bool> is_right = true;
      run(pool, count, [&](int, int) {
        ++before;
        pool.barrier();
        if (before != count) is_right = false;
        ++between;
        pool.barrier();
        if (between != count) is_right = false;
      });
      ASSERT_TRUE(is_right) << count << " shares, job " << job;
    }
  }
}

TEST(ThreadPool, DoesNotWaitForAThreadThatIsBusyElsewhere) {
  // Thread 1 stays in its share until the caller has run all others.
  ThreadPool pool(2);
  std::promise<void> others;
  std::atomic<int> num_run = 0;
  constexpr int kCount = 8;
  const auto caller = std::this_thread::get_id();
  run(pool, kCount, [&](int, int) {
    if (++num_run == kCount) others.set_value();
    if (std::this_thread::get_id() != caller) others.get_future().wait();
  });
  EXPECT_EQ(num_run, kCount);
}

TEST(ThreadPool, KnowsWhereAThreadIs) {
  EXPECT_EQ(ThreadPool::here().pool, nullptr);
  ThreadPool pool(3);
  {
    const ThreadPool::Driver driver(pool);
    EXPECT_EQ(ThreadPool::here().pool, &pool);
    EXPECT_FALSE(ThreadPool::here().is_in_share);
    std::mutex mutex;
    std::set<int> indices;
    run(pool, 3, [&](int index, int) {
      const ThreadPool::Position& here = ThreadPool::here();
      const std::scoped_lock lock(mutex);
      indices.insert(here.index);
      EXPECT_EQ(here.index, index);
      EXPECT_EQ(here.count, 3);
      EXPECT_TRUE(here.is_in_share);
      EXPECT_EQ(here.pool, &pool);
    });
    EXPECT_EQ(indices, (std::set<int>{0, 1, 2}));
    EXPECT_FALSE(ThreadPool::here().is_in_share);
  }
  EXPECT_EQ(ThreadPool::here().pool, nullptr);
}

TEST(ThreadPool, EndsWhileItsThreadsWakeUp) {
  for (int i = 0; i < 300; ++i) {
    ThreadPool pool(3);
    if (i % 3 == 0) continue;
    run(pool, 3, [](int, int) {});
  }
}

/// Jobs that come one by one, when all threads sleep.
TEST(ThreadPool, WakesFromSleep) {
  ThreadPool pool(2);
  for (int job = 0; job < 20; ++job) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::atomic<int> num_run = 0;
    run(pool, 2, [&](int, int) {
      ++num_run;
      pool.barrier();  // nobody runs both
    });
    ASSERT_EQ(num_run, 2);
  }
}

TEST(ParallelFor, CoversTheRangeAtMultiples) {
  ThreadPool pool(3);
  const ThreadPool::Driver driver(pool);
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const std::int64_t n = random() % 5000, grain = 1 + random() % 700;
    const std::int64_t multiple = 1 << (random() % 5);
    std::vector<std::atomic<int>> seen(n);
    parallel_for(
        n, grain,
        [&](std::int64_t begin, std::int64_t end) {
          EXPECT_EQ(begin % multiple, 0);
          EXPECT_LT(begin, end);
          for (auto k = begin; k < end; ++k) ++seen[k];
        },
        multiple);
    for (const auto& each : seen) ASSERT_EQ(each, 1);
  }
}

TEST(ParallelFor, RunsAloneWithinAShareAndWithoutAThreadPool) {
  const auto caller = std::this_thread::get_id();
  std::atomic<int> num_parts = 0;
  const auto part = [&](std::int64_t, std::int64_t) { ++num_parts; };
  parallel_for(1 << 20, 1, part);
  EXPECT_EQ(num_parts, 1);
  ThreadPool pool(2);
  const ThreadPool::Driver driver(pool);
  num_parts = 0;
  run(pool, 2, [&](int, int) { parallel_for(1 << 20, 1, part); });
  EXPECT_EQ(num_parts, 2);
  EXPECT_EQ(std::this_thread::get_id(), caller);
}

TEST(ParallelFor, DividesNoMoreThanItIsWorth) {
  EXPECT_EQ(num_shares(1, 16, 8), 1);
  EXPECT_EQ(num_shares(17, 16, 8), 2);
  EXPECT_EQ(num_shares(16 * 7, 16, 8), 7);
  EXPECT_EQ(num_shares(16 * 15, 16, 8), 8);
  EXPECT_EQ(num_shares(16 * 16, 16, 8), 16);
  EXPECT_EQ(num_shares(16 * 1000, 16, 8), 32);
}

}  // namespace
}  // namespace traingraph::cpu
