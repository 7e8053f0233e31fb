// SPDX-License-Identifier: MIT
// The order of what may run in any order. One seed gives one order: it is
// TRAINGRAPH_CUDA_EMULATOR_SEED, and said with every fault.
#pragma once

#include <cstdint>

namespace cuda_emulator {

/// splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t bits = state_ += 0x9e3779b97f4a7c15u;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
    return bits ^ bits >> 31;
  }
  /// In [0, count).
  std::uint32_t below(std::size_t count) {
    return static_cast<std::uint32_t>((next() >> 32) * count >> 32);
  }

 private:
  std::uint64_t state_;
};

}  // namespace cuda_emulator
