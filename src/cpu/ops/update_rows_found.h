// SPDX-License-Identifier: MIT
// The rows of an embedding that a step looks up, each once, and the sums of
// their tokens' gradients in the order of the tokens.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/ops/gather_embedding_loops.h"

namespace traingraph::cpu {

/// Which rows there are: the n-th one found is rows[n], and token k is of the
/// one with number number_of_token[k]; -1 for padding, which has no gradient.
struct RowsFound {
  std::int32_t* number_of_row;  // only meant where rows[] agrees
  std::int32_t* number_of_token;
  std::int64_t* rows;
  std::int32_t* times;
  std::int32_t* first_token = nullptr;  // of each row; -1: of padding
  std::int32_t count = 0;

  template <class I>
  void find(const EmbeddingPlan& plan, const I* at, bool finds_padding) {
    count = 0;
    for (std::int64_t k = 0; k < plan.num_tokens; ++k) {
      const std::int64_t row = at[k];
      const bool is_padding = row == plan.padding_index;
      number_of_token[k] = -1;
      if (is_padding && !finds_padding) continue;
      // Memory that nobody has cleared: that would touch every row.
      std::int32_t number = number_of_row[row];
      if (number < 0 || number >= count || rows[number] != row) {
        number = count++;
        number_of_row[row] = number;
        rows[number] = row;
        times[number] = 0;
        if (first_token) {
          first_token[number] = is_padding ? -1 : static_cast<std::int32_t>(k);
        }
      }
      ++times[number];
      if (!is_padding) number_of_token[k] = number;
    }
  }

  /// Is the gradient of row number `n` that of one token? Then it needs no sum.
  bool is_single(std::int64_t n) const {
    return first_token && times[n] == 1 && first_token[n] >= 0;
  }

  /// By how often row number `n` was looked up.
  void divide(const EmbeddingPlan& plan, std::int64_t n, float* sum) const {
    if (times[n] < 2) return;
    const auto divisor = static_cast<float>(times[n]);
    for (std::int64_t i = 0; i < plan.width; ++i) sum[i] /= divisor;
  }
};

/// Adds up the gradients of each row's tokens, but of single ones.
template <class T>
void add_tokens_of(const EmbeddingPlan& plan, const RowsFound& found,
                   const T* gradient, float* sums) {
  const std::int64_t width = plan.width;
  const std::int64_t grain =
      std::max<std::int64_t>(1, kCheapGrain / plan.num_tokens);
  parallel_for(width, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int32_t n = 0; n < found.count; ++n) {
      if (found.is_single(n)) continue;
      std::fill(sums + n * width + begin, sums + n * width + end, 0.0f);
    }
    for (std::int64_t k = 0; k < plan.num_tokens; ++k) {
      const std::int32_t n = found.number_of_token[k];
      if (n < 0 || found.is_single(n)) continue;
      const T* from = gradient + k * width;
      float* to = sums + n * width;
      for (std::int64_t i = begin; i < end; ++i) {
        to[i] += static_cast<float>(from[i]);
      }
    }
  });
}

}  // namespace traingraph::cpu
