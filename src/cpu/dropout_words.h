// SPDX-License-Identifier: MIT
// The random words of dropout (base/random.h), several blocks side by side: a
// fourth of the time that one after the other takes.
#pragma once

#include <cstdint>

namespace traingraph::cpu {

/// What the masks of one execution follow from.
struct DropoutStream {
  std::uint64_t seed = 0, step = 0;
  std::uint32_t stream = 0;

  /// `words` is the random state of the execution. Seed 0 is the state's.
  static DropoutStream of(std::int64_t seed, std::int64_t stream,
                          const std::uint32_t* words) {
    const auto two = [](const std::uint32_t* w) {
      return w[0] | std::uint64_t{w[1]} << 32;
    };
    return {seed != 0 ? static_cast<std::uint64_t>(seed) : two(words),
            two(words + 2), static_cast<std::uint32_t>(stream)};
  }
};

inline constexpr int kDropoutBlocks = 16;

/// kept[4 i + k] = `scale` where word k of dropout_block() number `first` + i
/// is not below `rate`, else 0, for i < kDropoutBlocks.
inline void draw_kept(const DropoutStream& from, std::uint64_t first,
                      float rate, float scale, float* kept) {
  constexpr int kBlocks = kDropoutBlocks;
  std::uint32_t word[4][kBlocks];
  for (int i = 0; i < kBlocks; ++i) {
    const std::uint64_t block = first + static_cast<std::uint64_t>(i);
    word[0][i] = static_cast<std::uint32_t>(block);
    word[1][i] = static_cast<std::uint32_t>(block >> 32) ^ from.stream;
    word[2][i] = static_cast<std::uint32_t>(from.step);
    word[3][i] = static_cast<std::uint32_t>(from.step >> 32) ^ 0x5bd1e995u;
  }
  auto key0 = static_cast<std::uint32_t>(from.seed);
  auto key1 = static_cast<std::uint32_t>(from.seed >> 32);
  for (int round = 0; round < 10; ++round) {
#pragma omp simd
    for (int i = 0; i < kBlocks; ++i) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * word[0][i];
      const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * word[2][i];
      word[0][i] = static_cast<std::uint32_t>(p1 >> 32) ^ word[1][i] ^ key0;
      word[2][i] = static_cast<std::uint32_t>(p0 >> 32) ^ word[3][i] ^ key1;
      word[1][i] = static_cast<std::uint32_t>(p1);
      word[3][i] = static_cast<std::uint32_t>(p0);
    }
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  float factor[4][kBlocks];
  for (int k = 0; k < 4; ++k) {
#pragma omp simd
    for (int i = 0; i < kBlocks; ++i) {
      // This is to_unit_float(), signed, which vectors convert faster.
      const auto bits = static_cast<std::int32_t>(word[k][i] >> 8);
      factor[k][i] = static_cast<float>(bits) * 0x1p-24f >= rate ? scale : 0;
    }
  }
#pragma omp simd
  for (int i = 0; i < kBlocks; ++i) {
    kept[4 * i] = factor[0][i];
    kept[4 * i + 1] = factor[1][i];
    kept[4 * i + 2] = factor[2][i];
    kept[4 * i + 3] = factor[3][i];
  }
}

}  // namespace traingraph::cpu
