// SPDX-License-Identifier: MIT
// OpenBLAS has a list of buffers; a call takes one that nobody has, or maps
// another. So the first step in which two threads multiply at a time would map
// memory, unless two threads have done so before. Here they do.
#include "cpu/cblas/blas_names.h"
#include "cpu/cblas/sgemm.h"

#ifdef TRAINGRAPH_OPENBLAS
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif
#endif

namespace traingraph::cpu {

#ifdef TRAINGRAPH_OPENBLAS
namespace {

/// Above the products for which OpenBLAS takes no buffer.
constexpr int kShort = 128;

/// No rehearsal begins after this time.
constexpr std::chrono::milliseconds kPatience(200);

/// To one of the processors that this process may use: else some systems keep
/// threads on one of them for longer than a product takes.
void move_to_processor(int index) {
#ifdef __linux__
  cpu_set_t all, own;
  if (sched_getaffinity(0, sizeof(all), &all) != 0) return;
  int rest = index % std::max(CPU_COUNT(&all), 1);
  CPU_ZERO(&own);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all) && rest-- == 0) CPU_SET(i, &own);
  }
  sched_setaffinity(0, sizeof(own), &own);
#else
  static_cast<void>(index);
#endif
}

/// `size` rows and columns, all ones.
void multiply_ones(int size, const std::vector<float>& ones, float* to) {
  TRAINGRAPH_BLAS(cblas_sgemm)
  (CblasRowMajor, CblasNoTrans, CblasNoTrans, size, size, size, 1.0f,
   ones.data(), size, ones.data(), size, 0.0f, to, size);
}

/// Products of `size` rows by all threads but the last, whose own is short.
/// Each begins when the one before has written something, and so has its
/// buffer. True if all had one at a time: none was over when the last one was.
bool rehearse(int num_threads, int size) {
  const std::vector<float> ones(static_cast<std::size_t>(size) * size, 1.0f);
  std::vector<std::vector<float>> results(
      num_threads, std::vector<float>(ones.size(), -1.0f));
  std::atomic<int> num_ready{0}, num_over{0};
  std::atomic<bool> was_refused{false};
  bool were_together = false;
  const auto work = [&](int index) {
    move_to_processor(index);
    ++num_ready;
    const auto is_early = [&] {
      if (index == 0) return num_ready < num_threads && !was_refused;
      // Written by the CBLAS; nothing else tells that it has its buffer.
      const volatile float& written = results[index - 1].front();
      return written < 0;
    };
    while (is_early()) std::this_thread::yield();
    const bool is_last = index == num_threads - 1;
    multiply_ones(is_last ? kShort : size, ones, results[index].data());
    if (is_last) were_together = num_over == 0;
    ++num_over;
  };
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < num_threads; ++i) threads.emplace_back(work, i);
  } catch (const std::system_error&) {
    was_refused = true;  // steps will map what they need
  }
  for (std::thread& thread : threads) thread.join();
  return were_together;
}

}  // namespace

void prepare_blas(int num_threads) {
  static std::mutex mutex;
  static int num_prepared = 0;
  const std::lock_guard lock(mutex);
  if (num_threads <= num_prepared) return;
  // Its own threads would be as many again as the thread pool's.
  TRAINGRAPH_BLAS(openblas_set_num_threads)(1);
  num_prepared = num_threads;
  // Waits grow from 2 to 100 ms: threads may be late where others compute, too.
  // A slow processor does not try for minutes: then steps map what they need.
  const auto begin = std::chrono::steady_clock::now();
  for (int size : {512, 512, 512, 1024, 1024, 2048}) {
    if (rehearse(num_threads, size)) return;
    if (std::chrono::steady_clock::now() - begin > kPatience) return;
  }
}
#else
void prepare_blas(int /*num_threads*/) {}
#endif

}  // namespace traingraph::cpu
