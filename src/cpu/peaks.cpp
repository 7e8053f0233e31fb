// SPDX-License-Identifier: MIT
#include "cpu/peaks.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "cpu/dnnl_support.h"
#include "cpu/parallel.h"
#include "cpu/primitive_threads.h"

namespace traingraph::cpu {
namespace {

/// The best of several calls, seconds; the first one warms up.
template <class F>
double best_time(F&& f) {
  constexpr int kRepeats = 6;
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRepeats; ++i) {
    const auto start = Clock::now();
    f();
    const std::chrono::duration<double> seconds = Clock::now() - start;
    if (i > 0) best = std::min(best, seconds.count());
  }
  return best;
}

double measure_flops() {
  constexpr std::int64_t kSize = 1024;
  const auto matrix = plain_desc({kSize, kSize}, DataType::Float32);
  const dnnl::matmul::primitive_desc description(engine(), matrix, matrix,
                                                 matrix);
  const dnnl::matmul product(description);
  dnnl::memory x(matrix, engine()), y(matrix, engine()), z(matrix, engine());
  for (dnnl::memory* memory : {&x, &y}) {
    auto* data = static_cast<float*>(memory->get_data_handle());
    std::fill_n(data, kSize * kSize, 0.5f);
  }
  dnnl::stream stream(engine());
  const double seconds = best_time([&] {
    product.execute(
        stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, y}, {DNNL_ARG_DST, z}});
    stream.wait();
  });
  return 2.0 * kSize * kSize * kSize / seconds;
}

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
  Team team(num_threads);
  const Team::Driver driver(team);
  const PrimitiveThreads threads(num_threads);
  return {.flops = measure_flops(), .bandwidth = measure_bandwidth()};
}

}  // namespace traingraph::cpu
