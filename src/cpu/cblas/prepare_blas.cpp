// SPDX-License-Identifier: MIT
// OpenBLAS has a list of buffers; a call takes one that nobody has, or maps
// another. So the first step in which two threads multiply at a time would map
// memory, unless two threads have done so before. Here they do.
#include "cpu/cblas/blas_names.h"
#include "cpu/cblas/sgemm.h"

#ifdef TRAINGRAPH_OPENBLAS
#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>
#endif

namespace traingraph::cpu {

#ifdef TRAINGRAPH_OPENBLAS
namespace {

/// Above the products for which OpenBLAS takes no buffer.
constexpr int kShort = 128;

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
  std::atomic<int> num_over{0};
  bool were_together = false;
  const auto work = [&](int index) {
    if (index > 0) {
      const volatile float& written = results[index - 1].front();
      while (written < 0) std::this_thread::yield();
    }
    const bool is_last = index == num_threads - 1;
    multiply_ones(is_last ? kShort : size, ones, results[index].data());
    if (is_last) were_together = num_over == 0;
    ++num_over;
  };
  std::vector<std::thread> threads;
  try {
    for (int i = 0; i < num_threads; ++i) threads.emplace_back(work, i);
  } catch (const std::system_error&) {
    // Nobody waits for a later one; steps will map what they need.
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
  // Its own threads would be as many again as the team's.
  TRAINGRAPH_BLAS(openblas_set_num_threads)(1);
  num_prepared = num_threads;
  constexpr int kMostRows = 2048;  // a tenth of a second
  for (int size = 512; size <= kMostRows; size *= 2) {
    if (rehearse(num_threads, size)) return;
  }
}
#else
void prepare_blas(int /*num_threads*/) {}
#endif

}  // namespace traingraph::cpu
