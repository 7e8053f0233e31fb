// SPDX-License-Identifier: MIT
// Dropout with a mask that may be shared along axes.
#pragma once

#include "mpsnn/filter_kernel.h"

namespace emulator::mpsnn {

/// Zero where a mask is shared along an axis, one where it is not.
struct MaskStrides {
  std::int64_t x = 1, y = 1, channels = 1;
};

/// Random numbers of our own: what Apple's are is not documented. One object
/// belongs to one kernel and goes on from encoding to encoding.
class MaskGenerator {
 public:
  explicit MaskGenerator(std::uint64_t seed) : state_(seed) {}

  /// Ones with the given probability, else zeros; of one image.
  Picture mask(const Extent& source, const MaskStrides& strides,
               double keep_probability);

 private:
  std::uint64_t next();

  std::uint64_t state_;
};

/// Sources and gradients are masked alike.
Picture apply_mask(const Picture& source, const Picture& mask,
                   const MaskStrides& strides, double keep_probability);

}  // namespace emulator::mpsnn
