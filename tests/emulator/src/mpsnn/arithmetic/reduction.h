// SPDX-License-Identifier: MIT
// Reductions of one picture along rows, columns, channels or all pixels.
#pragma once

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

/// Rows: one column is left. Columns: one row is left.
enum class ReducedAxis { kRow, kColumn, kFeatureChannels, kSpatial };
enum class ReduceOp { kMin, kMax, kSum, kMean, kArgumentMin, kArgumentMax };

/// What is read of a source.
struct Clip {
  std::int64_t x = 0, y = 0, width = 0, height = 0;
};
Clip clip_within(const Clip& clip, const Extent& source);

struct Reduce {
  ReducedAxis axis = ReducedAxis::kRow;
  ReduceOp op = ReduceOp::kSum;
  double weight = 1;
};

Extent reduced_extent(const Reduce& reduce, const Extent& source,
                      const Clip& clip);
Picture reduce(const Reduce& operation, const Picture& source,
               const Clip& clip);
Picture spatial_mean_gradient(const Picture& gradient, const Extent& source,
                              const Clip& clip);

}  // namespace emulator::mpsnn
