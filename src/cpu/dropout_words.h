// SPDX-License-Identifier: MIT
// The random words of dropout (formulas/random.h), several blocks side by side:
// a fourth of the time that one after the other takes.
#pragma once

#include <cstdint>

#include "formulas/random.h"

namespace traingraph::cpu {

inline constexpr int kDropoutBlocks = 16;

/// kept[4 i + k] = `scale` where word k of dropout_block() number `first` + i
/// is kept, else 0, for i < kDropoutBlocks.
inline void draw_kept(const formulas::DropoutStream& from, std::uint64_t first,
                      float rate, float scale, float* kept) {
  constexpr int kBlocks = kDropoutBlocks;
  std::uint32_t word[4][kBlocks];
  const auto set = [&](int i, const formulas::PhiloxBlock& block) {
    for (int k = 0; k < 4; ++k) word[k][i] = block.words[k];
  };
  for (int i = 0; i < kBlocks; ++i) {
    set(i,
        formulas::dropout_counter(from, first + static_cast<std::uint64_t>(i)));
  }
  formulas::PhiloxKey key = formulas::philox_key(from.seed);
  for (int round = 0; round < formulas::kPhiloxRounds; ++round) {
#pragma omp simd
    for (int i = 0; i < kBlocks; ++i) {
      set(i, formulas::philox_round(
                 {{word[0][i], word[1][i], word[2][i], word[3][i]}}, key));
    }
    key = key.next();
  }
  float factor[4][kBlocks];
  for (int k = 0; k < 4; ++k) {
#pragma omp simd
    for (int i = 0; i < kBlocks; ++i) {
      factor[k][i] = formulas::is_kept(word[k][i], rate) ? scale : 0;
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
