// SPDX-License-Identifier: MIT
// Reductions of expressions over some axes of a shape: sums, means, extrema,
// losses. How they are launched depends on extents that do not follow the batch
// alone, so that other batch sizes have the same kernels.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cuda/ops/walk.h"

namespace traingraph::cuda {

/// The product of what does not follow the batch.
std::int64_t fixed_part(const Extents& sizes);

/// Threads of a Team (kernels/team.cuh) for rows of this length.
int team_threads(const Extent& length);
/// The same that takes one thread where rows are too short for a warp.
int team_threads_of_short(const Extent& length);
std::string team_text(int threads);
/// Threads and blocks for `count` teams.
unsigned team_block(int threads);
std::int64_t team_blocks(std::int64_t count, int threads);

struct Reduction {
  std::vector<std::string> headers;  // of what `element` calls
  std::string reducer;               // of kernels/reducers.cuh
  DataType total;                    // has the size of a total
  int totals = 1;                    // so many of them make one
  Extents sizes;
  std::vector<bool> is_reduced;  // by axis
  std::vector<Extents> strides;  // of the operands
  /// Are there loops in an element's text?
  bool is_costly = false;
  /// Writes lines; returns the total of one element, from where the operands
  /// have it and its number (text_of `r`) among those of its output.
  std::function<std::string(KernelWriter&, const std::vector<std::string>& at,
                            const std::string& r)>
      element;
  /// Writes what becomes of `total`, which is all that output `o` is of.
  std::function<void(KernelWriter&, const std::string& o,
                     const std::string& total)>
      finish;

  Extent outputs() const;
  Extent count() const;  // of elements of an output
};

/// Asks for scratch where outputs are cut into chunks.
std::vector<Launch> reduction_launches(UnitBuilder& unit,
                                       const Reduction& reduction);

}  // namespace traingraph::cuda
