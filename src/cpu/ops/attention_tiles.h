// SPDX-License-Identifier: MIT
// What forward and gradient of attention do to a tile: bring operands to the
// layouts of panel_products.h, and make scores of products.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/ops/attention_plan.h"

namespace traingraph::cpu {

/// Rows of one head: `step` elements from one to the next.
template <class T>
struct HeadRows {
  T* data;
  std::int64_t step;

  T* row(std::int64_t index) const { return data + index * step; }
  HeadRows from(std::int64_t index) const { return {row(index), step}; }
};

/// Head `head` of sample `sample` in a tensor (N, rows, heads * width).
template <class T>
HeadRows<T> rows_of(T* tensor, const AttentionSizes& sizes, std::int64_t rows,
                    std::int64_t width, std::int64_t sample,
                    std::int64_t head) {
  const std::int64_t step = sizes.heads * width;
  return {tensor + sample * rows * step + head * width, step};
}

/// (count, width) as it is, filled up with rows of zeros.
template <class T>
void pack_rows(HeadRows<const T> x, std::int64_t count, std::int64_t width,
               float* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T* from = x.row(i);
    float* row = to + i * width;
#pragma omp simd
    for (std::int64_t k = 0; k < width; ++k) row[k] = from[k];
  }
  std::fill(to + count * width, to + round_up(count, kRowStep) * width, 0.0f);
}

/// (count, width) in panels of columns, the last one filled up with zeros.
template <class T>
void pack_panels(HeadRows<const T> x, std::int64_t count, std::int64_t width,
                 float* to) {
  for (std::int64_t j = 0; j < width; j += kPanel, to += count * kPanel) {
    const std::int64_t columns = std::min(kPanel, width - j);
    for (std::int64_t i = 0; i < count; ++i) {
      const T* from = x.row(i) + j;
      float* row = to + i * kPanel;
      if (columns == kPanel) {
#pragma omp simd
        for (std::int64_t k = 0; k < kPanel; ++k) row[k] = from[k];
      } else {
        for (std::int64_t k = 0; k < kPanel; ++k) {
          row[k] = k < columns ? static_cast<float>(from[k]) : 0.0f;
        }
      }
    }
  }
}

/// The transpose of (count, width) in panels, the last one filled up with
/// zeros.
template <class T>
void pack_transposed(HeadRows<const T> x, std::int64_t count,
                     std::int64_t width, float* to) {
  for (std::int64_t i = 0; i < count; i += kPanel, to += kPanel * width) {
    pack_transposed_panel(x.row(i), x.step, std::min(kPanel, count - i), width,
                          to);
  }
}

/// (count, width) times `scale` from rows of floats `row` apart.
template <class T>
void store_rows(const float* from, std::int64_t row, std::int64_t count,
                std::int64_t width, float scale, HeadRows<T> to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float* x = from + i * row;
    T* y = to.row(i);
#pragma omp simd
    for (std::int64_t k = 0; k < width; ++k) y[k] = x[k] * scale;
  }
}

/// Which weights are dropped.
struct WeightDropout {
  formulas::DropoutStream stream = {};
  float rate = 0;

  explicit operator bool() const { return rate != 0; }
  float kept_scale() const { return 1 / (1 - rate); }

  static WeightDropout of(const AttentionAttrs& attrs,
                          const formulas::RandomState* state) {
    if (attrs.dropout == 0) return {};
    return {formulas::dropout_stream(static_cast<std::uint64_t>(attrs.seed),
                                     static_cast<std::uint32_t>(attrs.stream),
                                     *state),
            attrs.dropout};
  }

  /// 0 or 1 / (1 - rate) for `count` weights from number `first` on, somewhere
  /// in `space`, which has room for kKeptRoom more.
  const float* draw(std::int64_t first, std::int64_t count,
                    float* space) const {
    const std::int64_t skipped = first % 4;
    for (std::int64_t i = 0; i < skipped + count; i += 4 * kDropoutBlocks) {
      draw_kept(stream, static_cast<std::uint64_t>((first - skipped + i) / 4),
                rate, kept_scale(), space + i);
    }
    return space + skipped;
  }
};

/// Addresses of what both ops read.
template <class T>
struct AttentionSources {
  const T *query, *key, *value;
  const std::uint8_t* key_mask = nullptr;   // Boolean, per sample
  const std::uint8_t* hard_mask = nullptr;  // the attention mask: Boolean
  const T* soft_mask = nullptr;             // or float
  bool has_mask_per_head = false;
  WeightDropout dropout = {};

  bool is_masked() const { return key_mask || hard_mask || soft_mask; }
};

/// One row of scores: where it is in the masks.
struct ScoreRow {
  std::int64_t sample, head, query;  // head: of all samples' ones

  /// The number of its first weight.
  std::int64_t first(const AttentionSizes& sizes) const {
    return (head * sizes.queries + query) * sizes.keys;
  }
};

/// Keys [first, last) of a tile.
struct KeyRange {
  std::int64_t first, last;
  bool is_empty() const { return first >= last; }
  std::int64_t count() const { return last - first; }
};

/// Can one of the `queries` from `row` on see one of the keys?
template <class T>
bool sees_any(const AttentionSizes& sizes, const AttentionSources<T>& in,
              const ScoreRow& row, std::int64_t queries, KeyRange keys) {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  const std::int64_t head = in.has_mask_per_head ? row.head : 0;
  const std::uint8_t *hard = in.hard_mask, *key = in.key_mask;
  const T* soft = in.soft_mask;
  if (key) key += row.sample * sizes.keys;
  const auto look = [&](std::int64_t num_rows, auto is_seen) {
    for (std::int64_t i = 0; i < num_rows; ++i) {
      const std::int64_t offset =
          (head * sizes.queries + row.query + i) * sizes.keys;
      int sees = 0;
#pragma omp simd reduction(| : sees)
      for (std::int64_t k = keys.first; k < keys.last; ++k) {
        sees |= is_seen(offset + k, k) ? 1 : 0;
      }
      if (sees != 0) return true;
    }
    return false;
  };
  // The mask of keys alone hides as much from each query.
  const bool key_shows = !key || look(1, [=](std::int64_t, std::int64_t k) {
    return key[k] == 0;
  });
  if (!key_shows) return false;
  if (hard) {
    return look(queries,
                [=](std::int64_t i, std::int64_t) { return hard[i] == 0; });
  }
  if (soft) {
    return look(queries, [=](std::int64_t i, std::int64_t) {
      return static_cast<float>(soft[i]) != kMasked;
    });
  }
  return true;
}

/// The keys of a tile that its queries can see, in whole panels: what the masks
/// hide at either end from all of them has weight 0, and is not computed. Sums
/// keep their order, and so their bits.
template <class T>
KeyRange find_visible(const AttentionSizes& sizes,
                      const AttentionSources<T>& in, const ScoreRow& row,
                      std::int64_t queries, KeyRange keys) {
  if (!in.is_masked()) return keys;
  const auto hides = [&](std::int64_t panel) {
    const std::int64_t end = std::min(panel + kPanel, keys.last);
    return !sees_any(sizes, in, row, queries, {panel, end});
  };
  KeyRange seen = keys;
  while (!seen.is_empty() && hides(seen.first)) seen.first += kPanel;
  while (!seen.is_empty()) {
    // Panels begin at the tile's first key.
    const std::int64_t last =
        keys.first + (seen.last - 1 - keys.first) / kPanel * kPanel;
    if (!hides(last)) break;
    seen.last = last;
  }
  return seen;
}

/// Makes scores of the products of a query and `count` keys from `first_key`
/// on; returns the largest.
template <class T>
float finish_scores(const AttentionSizes& sizes, const AttentionSources<T>& in,
                    const ScoreRow& row, std::int64_t first_key,
                    std::int64_t count, float* scores) {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  float largest = kMasked;
  if (!in.soft_mask && !in.hard_mask && !in.key_mask) {
#pragma omp simd reduction(max : largest)
    for (std::int64_t k = 0; k < count; ++k) {
      const float score = scores[k] * sizes.scale;
      scores[k] = score;
      largest = score > largest ? score : largest;
    }
    return largest;
  }
  const std::int64_t head = in.has_mask_per_head ? row.head : 0;
  const std::int64_t offset =
      (head * sizes.queries + row.query) * sizes.keys + first_key;
  if (in.soft_mask) {
    const T* mask = in.soft_mask + offset;
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) {
      scores[k] = scores[k] * sizes.scale + mask[k];
    }
  } else {
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) scores[k] *= sizes.scale;
  }
  const auto hide = [=](const std::uint8_t* mask) {
#pragma omp simd
    for (std::int64_t k = 0; k < count; ++k) {
      scores[k] = mask[k] != 0 ? kMasked : scores[k];
    }
  };
  if (in.hard_mask) hide(in.hard_mask + offset);
  if (in.key_mask) hide(in.key_mask + row.sample * sizes.keys + first_key);
#pragma omp simd reduction(max : largest)
  for (std::int64_t k = 0; k < count; ++k) {
    largest = scores[k] > largest ? scores[k] : largest;
  }
  return largest;
}

/// What is taken from the scores before the exponential. A row that sees no key
/// has no largest score; its exponentials are 0 then, unless it has a NaN.
inline float base_of(float largest) {
  return largest == -std::numeric_limits<float>::infinity() ? 0 : largest;
}

}  // namespace traingraph::cpu
