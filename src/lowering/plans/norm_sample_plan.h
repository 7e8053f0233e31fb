// SPDX-License-Identifier: MIT
// How the normalizations of single samples are cut into tasks. Rows, whose
// elements share their statistics, are contiguous. Many rows: a task is some of
// them, read while they are in the cache. Few long ones: a task is a piece of a
// row, or a block of columns. The cut depends on shapes only, never on threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/divide_up.h"
#include "ops/norm_sample.h"

namespace traingraph {

struct SamplePlan {
  /// Elements whose sums are taken by themselves; they fit the innermost cache.
  static constexpr std::int64_t kPiece = 4096;
  static constexpr std::int64_t kEnoughRows = 64;

  explicit SamplePlan(const SampleView& v, bool has_element_parameters)
      : view(v), is_per_element(has_element_parameters) {}

  std::int64_t rows() const { return view.num_rows(); }
  std::int64_t length() const { return view.row_length(); }
  /// Do several tasks share a row?
  bool is_split() const {
    return rows() < kEnoughRows && length() > 2 * kPiece;
  }
  std::int64_t pieces_per_row() const { return divide_up(length(), kPiece); }

  // Of the gradient. Elements of a segment have one scale, unless each has its
  // own; a run is a piece of a segment.
  std::int64_t segments() const { return is_per_element ? 1 : view.width; }
  std::int64_t segment_length() const { return length() / segments(); }
  std::int64_t runs_per_segment() const {
    return divide_up(segment_length(), piece);
  }
  std::int64_t runs_per_row() const { return segments() * runs_per_segment(); }

  // Of the gradients of scale and shift by element, which are sums over rows:
  // within chunks of rows, and over these. Of long rows by columns.
  bool is_by_columns() const { return length() > kPiece; }
  std::int64_t rows_per_chunk() const {
    const std::int64_t least =
        std::clamp<std::int64_t>(8 * kPiece / length(), 1, kChunkRows);
    return std::max(least, divide_up(rows(), kEnoughRows));
  }
  std::int64_t num_chunks() const {
    return divide_up(rows(), rows_per_chunk());
  }

  SampleView view;
  bool is_per_element;
  std::int64_t piece = kPiece;  // of a segment; more where it is not contiguous

 private:
  static constexpr std::int64_t kChunkRows = 32;
};

}  // namespace traingraph
