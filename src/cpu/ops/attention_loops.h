// SPDX-License-Identifier: MIT
// The forward op of attention: softmax and both products of a tile while it is
// in the cache. Where there are more keys than a tile has, the sums so far are
// scaled to the largest score so far.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/ops/attention_tiles.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {

template <class T>
struct AttentionResults {
  T* output;
  float *log_sum, *log_sum_rest;
};

/// Query tiles `first` to `last` of a head of all samples' ones.
struct AttentionTask {
  std::int64_t head, first, last;
};

template <int kFloats, class T>
class AttentionForward {
 public:
  AttentionForward(const AttentionSizes& sizes, const AttentionSources<T>& in,
                   const AttentionResults<T>& out, float* workspace)
      : sizes_(sizes), in_(in), out_(out), s_(sizes, Workspace(workspace)) {}

  void run(const AttentionTask& task) {
    const std::int64_t sample = task.head / sizes_.heads;
    const std::int64_t head = task.head % sizes_.heads;
    const auto rows = [&](auto* tensor, std::int64_t count,
                          std::int64_t width) {
      return rows_of(tensor, sizes_, count, width, sample, head);
    };
    pack_transposed(rows(in_.key, sizes_.keys, sizes_.width), sizes_.keys,
                    sizes_.width, s_.keys);
    pack_panels(rows(in_.value, sizes_.keys, sizes_.value_width), sizes_.keys,
                sizes_.value_width, s_.values);
    const auto queries = rows(in_.query, sizes_.queries, sizes_.width);
    const auto output = rows(out_.output, sizes_.queries, sizes_.value_width);
    for (std::int64_t tile = task.first; tile < task.last; ++tile) {
      const std::int64_t first = tile * kQueryTile;
      count_ = std::min(kQueryTile, sizes_.queries - first);
      pack_rows(queries.from(first), count_, sizes_.width, s_.queries);
      attend({sample, task.head, first});
      store({sample, task.head, first}, output.from(first));
    }
  }

 private:
  /// All keys for one tile of queries; `first` is its first row.
  void attend(const ScoreRow& first) {
    const LeftOperand queries{s_.queries, sizes_.width, 1};
    bool is_first = true;
    for (std::int64_t tile = 0; tile < sizes_.keys;
         tile += AttentionSpace::kKeyTile) {
      const KeyRange keys = find_visible(
          sizes_, in_, first, count_,
          {tile, std::min(tile + AttentionSpace::kKeyTile, sizes_.keys)});
      if (keys.is_empty()) continue;
      multiply<kFloats>(
          {count_, keys.count(), sizes_.width}, queries,
          {s_.keys + keys.first * sizes_.width, kPanel * sizes_.width},
          s_.scores, s_.row, /*adds=*/false);
      for (std::int64_t i = 0; i < count_; ++i) {
        weigh({first.sample, first.head, first.query + i}, i, keys, is_first);
      }
      multiply<kFloats>({count_, sizes_.value_width, keys.count()},
                        {s_.scores, s_.row, 1},
                        {s_.values + keys.first * kPanel, sizes_.keys * kPanel},
                        s_.out, s_.out_row, /*adds=*/!is_first);
      is_first = false;
    }
    if (is_first) see_nothing();
  }

  void see_nothing() {
    std::fill_n(largest_, count_, -std::numeric_limits<float>::infinity());
    std::fill_n(sum_, count_, 0.0);
    std::fill_n(s_.out, count_ * s_.out_row, 0.0f);
  }

  /// Row i of the tile: products become weights that are not yet divided by
  /// their sum.
  void weigh(const ScoreRow& row, std::int64_t i, const KeyRange& keys,
             bool is_first) {
    float* x = s_.scores + i * s_.row;
    const std::int64_t count = keys.count();
    const float largest = finish_scores(sizes_, in_, row, keys.first, count, x);
    if (is_first) {
      largest_[i] = largest;
      sum_[i] = 0;
    } else if (largest > largest_[i]) {
      rescale(i, largest);
    }
    const float base = base_of(largest_[i]);
    // Floats side by side, each a sum of few.
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t k = 0; k < count; ++k) {
      x[k] = fast_exp_below(x[k] - base);
      sum += x[k];
    }
    sum_[i] += sum;
    if (!in_.dropout) return;
    const float* kept =
        in_.dropout.draw(row.first(sizes_) + keys.first, count, s_.kept);
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) x[k] *= kept[k];
  }

  void rescale(std::int64_t i, float largest) {
    const float factor =
        fast_exp_below(largest_[i] - largest);  // 0 when there was none
    sum_[i] *= factor;
    float* out = s_.out + i * s_.out_row;
#pragma omp simd
    for (std::int64_t k = 0; k < s_.out_row; ++k) out[k] *= factor;
    largest_[i] = largest;
  }

  void store(const ScoreRow& first, HeadRows<T> output) {
    const std::int64_t row = first.head * sizes_.queries + first.query;
    float *log_sum = out_.log_sum + row, *rest = out_.log_sum_rest + row;
    for (std::int64_t i = 0; i < count_; ++i) {
      const double sum = sum_[i];
      const float scale = sum == 0 ? 0 : static_cast<float>(1 / sum);
      store_rows(s_.out + i * s_.out_row, s_.out_row, 1, sizes_.value_width,
                 scale, output.from(i));
      const double exact = base_of(largest_[i]) + std::log(sum);
      log_sum[i] = static_cast<float>(exact);
      rest[i] =
          std::isinf(log_sum[i]) ? 0 : static_cast<float>(exact - log_sum[i]);
    }
  }

  const AttentionSizes& sizes_;
  const AttentionSources<T>& in_;
  const AttentionResults<T>& out_;
  const AttentionSpace s_;
  std::int64_t count_ = 0;  // queries of the tile
  float largest_[kQueryTile];
  double sum_[kQueryTile];
};

}  // namespace traingraph::cpu
