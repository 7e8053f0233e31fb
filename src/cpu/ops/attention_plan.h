// SPDX-License-Identifier: MIT
// How attention is cut. A task is one sample and head, in the forward op
// perhaps some of its queries only; it goes through tiles of queries and keys,
// whose scores stay in the cache. The cut depends on shapes, and so do the
// sums: not on threads, which take tasks as they come and have a workspace
// each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/checked.h"
#include "base/divide_up.h"
#include "cpu/dropout_words.h"
#include "cpu/lowering.h"
#include "cpu/panel_products.h"
#include "lowering/plans/attention_sizes.h"

namespace traingraph::cpu {

inline constexpr std::int64_t kQueryTile = 64;
/// Random numbers come in groups, and begin at whole ones.
inline constexpr std::int64_t kKeptRoom = 4 * kDropoutBlocks + 4;

inline std::int64_t num_query_tiles(const AttentionSizes& sizes) {
  return divide_up(sizes.queries, kQueryTile);
}

/// Counts floats that a worker needs, and then finds them in its workspace.
class Workspace {
 public:
  explicit Workspace(float* begin = nullptr) : begin_(begin) {}
  float* take(std::int64_t count) {
    float* const at = begin_ ? begin_ + size_ : nullptr;
    // Each part has whole cache lines.
    size_ = checked_add(size_, round_up(count, 16), "scratch");
    return at;
  }
  std::int64_t size() const { return size_; }

 private:
  float* begin_;
  std::int64_t size_ = 0;
};

/// Rows of scores lie in different sets of the cache.
constexpr std::int64_t score_row(std::int64_t key_tile) {
  return round_up(key_tile, kPanel) + kPanel;
}

/// The tiles of the forward op, and where its worker has what.
struct AttentionSpace {
  static constexpr std::int64_t kKeyTile = 512;

  AttentionSpace(const AttentionSizes& sizes, Workspace workspace)
      : row(score_row(std::min(kKeyTile, sizes.keys))),
        out_row(round_up(sizes.value_width, kPanel)),
        keys(workspace.take(round_up(sizes.keys, kPanel) * sizes.width)),
        values(workspace.take(sizes.keys * out_row)),
        queries(workspace.take(kQueryTile * sizes.width)),
        scores(workspace.take(kQueryTile * row)),
        kept(workspace.take(row + kKeptRoom)),
        out(workspace.take(kQueryTile * out_row)),
        size(workspace.size()) {}

  std::int64_t row, out_row;
  float *keys, *values;  // in panels; the keys transposed
  float *queries, *scores, *kept, *out;
  std::int64_t size;
};

/// The scratch space of the gradient.
struct AttentionGradientSpace {
  static constexpr std::int64_t kMaxKeysOfATile = 512, kKeyTile = 256;

  AttentionGradientSpace(const AttentionSizes& sizes, Workspace workspace)
      : key_tile(sizes.keys <= kMaxKeysOfATile ? sizes.keys : kKeyTile),
        row(score_row(key_tile)),
        width_row(round_up(sizes.width, kPanel)),
        value_row(round_up(sizes.value_width, kPanel)),
        keys_transposed(workspace.take(row * sizes.width)),
        values_transposed(workspace.take(row * sizes.value_width)),
        keys(workspace.take(key_tile * width_row)),
        queries(workspace.take(kQueryTile * sizes.width)),
        query_panels(workspace.take(kQueryTile * width_row)),
        gradients(workspace.take(kQueryTile * sizes.value_width)),
        gradient_panels(workspace.take(kQueryTile * value_row)),
        weights(workspace.take(kQueryTile * row)),
        score_gradients(workspace.take(kQueryTile * row)),
        kept(workspace.take(row + kKeptRoom)),
        offsets(workspace.take(sizes.queries)),
        dquery(workspace.take(round_up(sizes.queries, kRowStep) * width_row)),
        dkey(workspace.take(row * width_row)),
        dvalue(workspace.take(row * value_row)),
        size(workspace.size()) {}

  std::int64_t key_tile, row, width_row, value_row;
  float *keys_transposed, *values_transposed, *keys;  // in panels
  float *queries, *query_panels, *gradients, *gradient_panels;
  float *weights, *score_gradients, *kept, *offsets;
  float *dquery, *dkey, *dvalue;
  std::int64_t size;
};

}  // namespace traingraph::cpu
