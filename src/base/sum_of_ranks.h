// SPDX-License-Identifier: MIT
// Sums over ranks whose values this process sees, in the order of ranks:
// ((x0 + x1) + x2) + ...
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace traingraph {

/// Floats of a line of the cache.
inline constexpr std::size_t kLineFloats = 16;

/// Calls store(i, sum) for lines of values [begin, end) of all ranks, then for
/// what is left one by one; `sum` is an array. Registers hold it, so that each
/// line goes from cache to cache once.
template <class Store>
void sum_of_ranks(std::span<std::byte* const> of_ranks, std::size_t begin,
                  std::size_t end, const Store& store) {
  const auto sum_at = [&]<std::size_t kCount>(std::size_t at) {
    const auto values_of = [&](std::size_t rank) {
      return reinterpret_cast<const float*>(of_ranks[rank]) + at;
    };
    std::array<float, kCount> sum;
    std::copy_n(values_of(0), kCount, sum.begin());
    for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
      const float* const values = values_of(rank);
      for (std::size_t i = 0; i < kCount; ++i) sum[i] += values[i];
    }
    store(at, sum);
  };
  std::size_t at = begin;
  for (; at + kLineFloats <= end; at += kLineFloats) {
    sum_at.template operator()<kLineFloats>(at);
  }
  for (; at < end; ++at) sum_at.template operator()<1>(at);
}

}  // namespace traingraph
