// SPDX-License-Identifier: MIT
// Pooling over windows that may hang over the picture's edges.
#pragma once

#include "picture.h"

namespace emulator::mpsnn {

enum class PoolType { kMax, kAverage, kL2Norm };

struct Pooling {
  PoolType type = PoolType::kMax;
  Window window;
  /// Edge mode Zero: samples outside are zeros. Clamp: windows are clipped.
  Placement placement;
};

Picture pool(const Pooling& pooling, const Picture& source);

/// The gradient of the source; of a maximum, to the first largest sample.
Picture pool_gradient(const Pooling& pooling, const Picture& gradient,
                      const Picture& source);

}  // namespace emulator::mpsnn
