// SPDX-License-Identifier: MIT
// Normalization by a neighbourhood: across channels, across pixels, and of
// local contrast.
#pragma once

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

struct LocalNormalization {
  double alpha = 1, beta = 5, delta = 1;
  /// Local contrast has these.
  double p0 = 1, pm = 0, ps = 1;
  std::int64_t kernel_width = 5, kernel_height = 5;
  /// Across channels.
  std::int64_t kernel_channels = 5;
};

Picture cross_channel(const LocalNormalization& n, const Picture& source);
Picture cross_channel_gradient(const LocalNormalization& n,
                               const Picture& gradient, const Picture& source);

Picture spatial(const LocalNormalization& n, const Picture& source);
Picture spatial_gradient(const LocalNormalization& n, const Picture& gradient,
                         const Picture& source);

Picture local_contrast(const LocalNormalization& n, const Picture& source);
Picture local_contrast_gradient(const LocalNormalization& n,
                                const Picture& gradient, const Picture& source);

}  // namespace emulator::mpsnn
