// SPDX-License-Identifier: MIT
#include "graph/platform.h"

#include <mutex>
#include <optional>
#include <random>

#include "traingraph/tensor.h"

namespace traingraph {
namespace {

struct PlatformState {
  std::mutex mutex;
  std::optional<std::int64_t> seed;
  std::optional<std::uint64_t> entropy;
  std::uint64_t next_block = 0;
};

constinit PlatformState g_platform;
constinit thread_local std::uint64_t t_num_reserved = 0;

// The caller holds the mutex.
std::uint64_t current_seed() {
  if (g_platform.seed) return static_cast<std::uint64_t>(*g_platform.seed);
  if (!g_platform.entropy) {
    std::random_device device;
    const std::uint64_t high = device();
    g_platform.entropy = high << 32 | device();
  }
  return *g_platform.entropy;
}

}  // namespace

std::uint64_t platform_seed() {
  const std::lock_guard lock(g_platform.mutex);
  return current_seed();
}

RandomRange reserve_random_blocks(std::uint64_t num_blocks) {
  const std::lock_guard lock(g_platform.mutex);
  const RandomRange range{current_seed(), g_platform.next_block};
  g_platform.next_block += num_blocks;
  t_num_reserved += num_blocks;
  return range;
}

RandomMark random_mark() {
  const std::lock_guard lock(g_platform.mutex);
  return {g_platform.next_block, t_num_reserved};
}

void return_random_blocks(const RandomMark& mark) {
  const std::lock_guard lock(g_platform.mutex);
  const std::uint64_t own = t_num_reserved - mark.num_reserved;
  if (g_platform.next_block == mark.next_block + own) {
    g_platform.next_block = mark.next_block;
  }
}

void Platform::set_rng_seed(std::int64_t seed) {
  const std::lock_guard lock(g_platform.mutex);
  g_platform.seed = seed;
  g_platform.next_block = 0;
}

std::optional<std::int64_t> Platform::rng_seed() {
  const std::lock_guard lock(g_platform.mutex);
  return g_platform.seed;
}

}  // namespace traingraph
