// SPDX-License-Identifier: MIT
// The gradient of attention. With weights p = exp(scores - log_sum), and those
// that dropout left, d = kept p, for output y = d v with gradient g:
//   dvalue = d^T g
//   dscores = p (kept (g v^T) - offset),  offset = sum(g y) - dlog_sum
//   dquery = scale dscores k,  dkey = scale dscores^T q
// Up to kMaxKeysOfATile keys the offset is the sum of p (kept g v^T) over the
// row. With more there are several tiles and it is that of g y, whose y was
// rounded. Either way a query that sees one key has p = 1 and dscores exactly
// 0, however large q and k are: g y and g v^T add the same products in the same
// order, and dropout's factor is on v before. Scores are computed again, tile
// by tile, with the same bits as in the forward op.
#pragma once

#include <algorithm>
#include <cmath>

#include "cpu/ops/attention_tiles.h"
#include "cpu/vector_math.h"

namespace traingraph::cpu {

template <class T>
struct AttentionGradientSources : AttentionSources<T> {
  const T *gradient, *output;
  const float *log_sum, *log_sum_gradient, *log_sum_rest;  // the last two may
                                                           // be null
};

/// `dmask` may be null.
template <class T>
struct AttentionGradients {
  T *query, *key, *value;
  float* mask;
};

template <int kFloats, class T>
class AttentionBackward {
 public:
  AttentionBackward(const AttentionSizes& sizes,
                    const AttentionGradientSources<T>& in,
                    const AttentionGradients<T>& out, float* workspace)
      : sizes_(sizes), in_(in), out_(out), s_(sizes, Workspace(workspace)) {}

  /// `head` counts the heads of all samples.
  void run(std::int64_t head) {
    head_ = head;
    sample_ = head / sizes_.heads;
    if (has_one_tile()) {
      std::fill_n(s_.offsets, sizes_.queries, 0.0f);
    } else {
      find_offsets();
    }
    subtract_log_sum_gradient();
    if (in_.is_masked()) clear(s_.dquery, sizes_.queries, s_.width_row);
    const std::int64_t keys = sizes_.keys;
    for (std::int64_t first = 0; first < keys; first += s_.key_tile) {
      key_ = first;
      num_keys_ = std::min(s_.key_tile, keys - first);
      pack_keys();
      if (in_.is_masked()) {
        clear(s_.dkey, num_keys_, s_.width_row);
        clear(s_.dvalue, num_keys_, s_.value_row);
      }
      for (query_ = 0; query_ < sizes_.queries; query_ += kQueryTile) {
        num_queries_ = std::min(kQueryTile, sizes_.queries - query_);
        seen_ = find_visible(sizes_, in_, {sample_, head_, query_},
                             num_queries_, {key_, key_ + num_keys_});
        clear_mask_gradient();
        if (seen_.is_empty()) continue;
        pack_queries();
        differentiate_scores();
        add_products();
      }
      store_rows(s_.dkey, s_.width_row, num_keys_, sizes_.width, sizes_.scale,
                 rows(out_.key, keys, sizes_.width).from(key_));
      store_rows(s_.dvalue, s_.value_row, num_keys_, sizes_.value_width, 1,
                 rows(out_.value, keys, sizes_.value_width).from(key_));
    }
    store_rows(s_.dquery, s_.width_row, sizes_.queries, sizes_.width,
               sizes_.scale, rows(out_.query, sizes_.queries, sizes_.width));
  }

 private:
  template <class U>
  HeadRows<U> rows(U* tensor, std::int64_t count, std::int64_t width) const {
    return rows_of(tensor, sizes_, count, width, sample_, head_ % sizes_.heads);
  }

  static void clear(float* x, std::int64_t rows, std::int64_t row) {
    std::fill_n(x, rows * row, 0.0f);
  }

  /// Sets the mask's gradient to 0 for keys that are not seen.
  void clear_mask_gradient() {
    if (!out_.mask || seen_.count() == num_keys_) return;
    for (std::int64_t i = 0; i < num_queries_; ++i) {
      const ScoreRow row{sample_, head_, query_ + i};
      std::fill_n(out_.mask + row.first(sizes_) + key_, num_keys_, 0.0f);
    }
  }

  bool has_one_tile() const { return sizes_.keys <= s_.key_tile; }

  void find_offsets() {
    const std::int64_t width = sizes_.value_width;
    const auto gradient = rows(in_.gradient, sizes_.queries, width);
    const auto output = rows(in_.output, sizes_.queries, width);
    // Room for two panels, which no keys are in yet.
    float* const g = s_.values_transposed;
    float* const y = g + kPanel * width;
    for (std::int64_t i = 0; i < sizes_.queries; i += kPanel) {
      const std::int64_t count = std::min(kPanel, sizes_.queries - i);
      pack_transposed(gradient.from(i), count, width, g);
      pack_transposed(output.from(i), count, width, y);
      float sums[kPanel];
      multiply_columns<kFloats>(width, g, y, sums);
      std::copy_n(sums, count, s_.offsets + i);
    }
  }

  void subtract_log_sum_gradient() {
    if (!in_.log_sum_gradient) return;
    const float* dlog_sum = in_.log_sum_gradient + head_ * sizes_.queries;
    for (std::int64_t i = 0; i < sizes_.queries; ++i) {
      s_.offsets[i] -= dlog_sum[i];
    }
  }

  void pack_keys() {
    const auto key = rows(in_.key, sizes_.keys, sizes_.width).from(key_);
    const auto value =
        rows(in_.value, sizes_.keys, sizes_.value_width).from(key_);
    pack_transposed(key, num_keys_, sizes_.width, s_.keys_transposed);
    pack_transposed(value, num_keys_, sizes_.value_width, s_.values_transposed);
    if (in_.dropout) scale_values(in_.dropout.kept_scale());
    pack_panels(key, num_keys_, sizes_.width, s_.keys);
  }

  void scale_values(float scale) {
    float* values = s_.values_transposed;
    const std::int64_t count = round_up(num_keys_, kPanel) * sizes_.value_width;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) values[i] *= scale;
  }

  void pack_queries() {
    const auto query =
        rows(in_.query, sizes_.queries, sizes_.width).from(query_);
    const auto gradient =
        rows(in_.gradient, sizes_.queries, sizes_.value_width).from(query_);
    pack_rows(query, num_queries_, sizes_.width, s_.queries);
    pack_panels(query, num_queries_, sizes_.width, s_.query_panels);
    pack_rows(gradient, num_queries_, sizes_.value_width, s_.gradients);
    pack_panels(gradient, num_queries_, sizes_.value_width, s_.gradient_panels);
  }

  /// Fills `weights` with d and `score_gradients` with dscores, of the keys
  /// that are seen.
  void differentiate_scores() {
    const std::int64_t first = seen_.first - key_;
    multiply<kFloats>(
        {num_queries_, seen_.count(), sizes_.width},
        {s_.queries, sizes_.width, 1},
        {s_.keys_transposed + first * sizes_.width, kPanel * sizes_.width},
        s_.weights, s_.row, /*adds=*/false);
    multiply<kFloats>({num_queries_, seen_.count(), sizes_.value_width},
                      {s_.gradients, sizes_.value_width, 1},
                      {s_.values_transposed + first * sizes_.value_width,
                       kPanel * sizes_.value_width},
                      s_.score_gradients, s_.row, /*adds=*/false);
    for (std::int64_t i = 0; i < num_queries_; ++i) differentiate_row(i);
  }

  /// exp(largest - log_sum), `largest` being the row's in this tile. Of scores
  /// near log_sum the difference would be a few units in the last place of
  /// either, of those near `largest` it is exact or has few digits. 0 where the
  /// row sees no key.
  float factor_of(const ScoreRow& row, float largest) const {
    if (std::isinf(largest) && largest < 0) return 0;
    const std::int64_t at = head_ * sizes_.queries + row.query;
    const float rest = in_.log_sum_rest ? in_.log_sum_rest[at] : 0;
    const double x = static_cast<double>(largest) - in_.log_sum[at] - rest;
    if (x < -88) return 0;
    const auto near = static_cast<float>(x);
    return fast_exp_below(near) * (1 + static_cast<float>(x - near));
  }

  void differentiate_row(std::int64_t i) {
    const ScoreRow row{sample_, head_, query_ + i};
    float* p = s_.weights + i * s_.row;
    float* ds = s_.score_gradients + i * s_.row;
    const std::int64_t first = seen_.first, count = seen_.count();
    const float largest = finish_scores(sizes_, in_, row, first, count, p);
    const float base = base_of(largest), factor = factor_of(row, largest);
    float sum = 0;
    const float* kept = nullptr;
    if (in_.dropout) {
      kept = in_.dropout.draw(row.first(sizes_) + first, count, s_.kept);
#pragma omp simd reduction(+ : sum)
      for (std::int64_t k = 0; k < count; ++k) {
        p[k] = fast_exp_below(p[k] - base) * factor;
        ds[k] = kept[k] != 0 ? ds[k] : 0.0f;
        sum += p[k] * ds[k];
      }
    } else {
#pragma omp simd reduction(+ : sum)
      for (std::int64_t k = 0; k < count; ++k) {
        p[k] = fast_exp_below(p[k] - base) * factor;
        sum += p[k] * ds[k];
      }
    }
    const float offset =
        has_one_tile() ? sum + s_.offsets[row.query] : s_.offsets[row.query];
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) ds[k] = p[k] * (ds[k] - offset);
    if (kept) {
#pragma omp simd
      for (std::int64_t k = 0; k < count; ++k) p[k] *= kept[k];
    }
    if (!out_.mask) return;
    std::copy_n(ds, count, out_.mask + row.first(sizes_) + first);
  }

  void add_products() {
    const std::int64_t first = seen_.first - key_;
    multiply<kFloats>({seen_.count(), sizes_.value_width, num_queries_},
                      {s_.weights, 1, s_.row},
                      {s_.gradient_panels, num_queries_ * kPanel},
                      s_.dvalue + first * s_.value_row, s_.value_row,
                      /*adds=*/in_.is_masked() || query_ > 0);
    multiply<kFloats>({seen_.count(), sizes_.width, num_queries_},
                      {s_.score_gradients, 1, s_.row},
                      {s_.query_panels, num_queries_ * kPanel},
                      s_.dkey + first * s_.width_row, s_.width_row,
                      /*adds=*/in_.is_masked() || query_ > 0);
    multiply<kFloats>({num_queries_, sizes_.width, seen_.count()},
                      {s_.score_gradients, s_.row, 1},
                      {s_.keys + first * kPanel, num_keys_ * kPanel},
                      s_.dquery + query_ * s_.width_row, s_.width_row,
                      /*adds=*/in_.is_masked() || key_ > 0);
  }

  const AttentionSizes& sizes_;
  const AttentionGradientSources<T>& in_;
  const AttentionGradients<T>& out_;
  const AttentionGradientSpace s_;
  std::int64_t head_ = 0, sample_ = 0;
  std::int64_t key_ = 0, num_keys_ = 0, query_ = 0, num_queries_ = 0;
  KeyRange seen_ = {0, 0};  // of these keys, by these queries
};

}  // namespace traingraph::cpu
