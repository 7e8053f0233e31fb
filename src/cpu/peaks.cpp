// SPDX-License-Identifier: MIT
#include "cpu/peaks.h"

#include <vector>

#include "cpu/best_time.h"
#include "cpu/engine/engine.h"
#include "cpu/parallel.h"
#include "cpu/primitive_threads.h"

namespace traingraph::cpu {
namespace {

double measure_bandwidth() {
  constexpr std::int64_t kSize = 1 << 24;  // three times 64 MB: past caches
  std::vector<float> x(kSize, 1.0f), y(kSize, 2.0f), z(kSize);
  const double seconds = best_time([&] {
    parallel_for(kSize, kCheapGrain, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) z[i] = x[i] + 3.0f * y[i];
    });
  });
  return 3.0 * sizeof(float) * kSize / seconds;
}

}  // namespace

DevicePeaks measure_peaks(int num_threads) {
  ThreadPool pool(num_threads);
  const ThreadPool::Driver driver(pool);
  const PrimitiveThreads threads(num_threads);
  return {.flops = measure_flops(), .bandwidth = measure_bandwidth()};
}

}  // namespace traingraph::cpu
