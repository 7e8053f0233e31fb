// SPDX-License-Identifier: MIT
// Upsampling and scaling.
#pragma once

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

/// Every element of the result is a weighted sum of samples along one axis.
struct Tap {
  std::int64_t sample = 0;
  double weight = 1;
};
using AxisTaps = std::vector<std::vector<Tap>>;

/// Each sample `factor` times.
AxisTaps nearest_taps(std::int64_t source, std::int64_t factor);
/// Bilinear. Aligned corners: at i * (source - 1) / (result - 1). Otherwise
/// pixels are areas: at (i + 1/2) * source / result - 1/2. Apple does not say
/// where the latter samples lie.
AxisTaps linear_taps(std::int64_t source, std::int64_t result,
                     bool aligns_corners);
/// Samples at ((i + 1/2) - translation) / scale - 1/2.
AxisTaps transformed_taps(std::int64_t source, std::int64_t result,
                          double scale, double translation);

Picture resample(const Picture& source, const AxisTaps& rows,
                 const AxisTaps& columns);
Picture resample_gradient(const Picture& gradient, const Extent& source,
                          const AxisTaps& rows, const AxisTaps& columns);

}  // namespace emulator::mpsnn
