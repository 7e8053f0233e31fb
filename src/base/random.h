// SPDX-License-Identifier: MIT
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): a pure function from key and counter to random words, so that any
// element of any stream can be computed by any thread.
#pragma once

#include <array>
#include <cstdint>

namespace traingraph {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox(PhiloxBlock counter, std::uint64_t key) {
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ k0,
               static_cast<std::uint32_t>(p1),
               static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ k1,
               static_cast<std::uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

/// Uniform in [0, 1) with 24 random bits.
constexpr float to_unit_float(std::uint32_t word) {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

/// The dropout mask of element `index`: counter (index / 4, stream, step),
/// word index % 4. Every device uses this one function.
constexpr PhiloxBlock dropout_block(std::uint64_t seed, std::uint32_t stream,
                                    std::uint64_t step, std::uint64_t block) {
  return philox({static_cast<std::uint32_t>(block),
                 static_cast<std::uint32_t>(block >> 32) ^ stream,
                 static_cast<std::uint32_t>(step),
                 static_cast<std::uint32_t>(step >> 32) ^ 0x5bd1e995u},
                seed);
}

}  // namespace traingraph
