// SPDX-License-Identifier: MIT
// How a reduction is cut into tasks. Neighbouring axes that are both reduced or
// both kept count as one; the innermost one is a row. A task is a range of
// pieces of one output (rows are reduced) or a range of rows of one block of
// columns (rows are kept); outputs too few to keep a machine busy are cut into
// several chunks. The cut depends on shapes only, never on threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "traingraph/types.h"

namespace traingraph {

/// A nest of loops over strided axes, outermost first.
struct LoopNest {
  Shape sizes, strides;

  std::int64_t count() const { return sizes.num_elements(); }
  std::int64_t offset(std::int64_t index) const {
    std::int64_t result = 0;
    for (int axis = sizes.rank() - 1; axis > 0; --axis) {
      result += index % sizes[axis] * strides[axis];
      index /= sizes[axis];
    }
    return sizes.empty() ? 0 : result + index * strides[0];
  }
};

struct ReduceTask {
  std::int64_t offset;       // of its first element's output in the input
  std::int64_t output;       // its first output
  std::int64_t num_columns;  // outputs side by side
  std::int64_t chunk;
  std::int64_t first, last;  // pieces, or rows
};

class ReducePlan {
 public:
  static constexpr std::int64_t kPieceLength = 4096;
  static constexpr std::int64_t kColumns = 256;

  /// No axes mean all of them.
  ReducePlan(const Shape& shape, const Shape& axes);

  std::int64_t num_tasks() const {
    return kept.count() * num_blocks * num_chunks;
  }
  ReduceTask task(std::int64_t index) const;

  LoopNest kept, reduced;  // without the rows
  bool reduces_rows = false;
  std::int64_t row_length = 1;
  std::int64_t pieces_per_row = 1;  // when rows are reduced
  std::int64_t num_blocks = 1;      // of columns, when rows are kept
  std::int64_t num_outputs = 1;
  std::int64_t num_reduced = 1;  // elements per output
  std::int64_t num_items = 1;    // pieces or rows per output
  std::int64_t num_chunks = 1;   // that these are cut into
  std::int64_t task_grain = 1;   // tasks worth a thread
};

}  // namespace traingraph
