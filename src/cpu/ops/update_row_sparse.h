// SPDX-License-Identifier: MIT
// The gradient of an embedding inside the update of its table: the sums of the
// rows that a step looked up, each once. In all other rows it is 0, and is
// never in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>

#include "cpu/lowering.h"

namespace traingraph::cpu {

/// Row number n of those that were looked up is `rows[n]`, and its gradient is
/// `width` floats from `sums + n * width` on.
struct RowSparseGradient {
  std::int64_t width;
  std::int64_t count = 0;
  std::int64_t* rows;
  float* sums;
  /// The number of each row of the table, where `rows` agrees.
  std::int32_t* number_of_row;

  /// The gradient of row `row`; null: it was not looked up.
  const float* find(std::int64_t row) const {
    const std::int32_t n = number_of_row[row];
    const bool is_found = n >= 0 && n < count && rows[n] == row;
    return is_found ? sums + n * width : nullptr;
  }

  /// Writes elements [first, last) of the whole gradient to `to`.
  void expand(std::int64_t first, std::int64_t last, float* to) const {
    std::fill(to, to + (last - first), 0.0f);
    for (std::int64_t row = first / width; row * width < last; ++row) {
      const float* const sum = find(row);
      if (!sum) continue;
      const std::int64_t begin = std::max(first, row * width);
      const std::int64_t end = std::min(last, (row + 1) * width);
      std::copy(sum + (begin - row * width), sum + (end - row * width),
                to + (begin - first));
    }
  }
};

/// Called once per binding, with the unit's addresses; what it makes computes
/// the gradient of a run, and allocates nothing.
using RowSparseFactory =
    std::function<std::function<RowSparseGradient()>(BindContext&)>;

/// Makes arguments of the unit of `update`: the inputs of `gradient`, which has
/// joined it, and memory for the rows. An update that `visits_all` rows has
/// numbers cleared, for which others would touch every row.
RowSparseFactory add_row_sparse_gradient(UnitBuilder& update,
                                         UnitBuilder& gradient,
                                         bool visits_all);

}  // namespace traingraph::cpu
