// SPDX-License-Identifier: MIT
// Running statistics, and sums of the gradients of images: what MPSNN leaves to
// the data sources of normalizations.
#pragma once

#include <cstdint>

#include "metal/kernels/kernels.h"

namespace traingraph::metal {

/// The kernels declare the same structs.
struct MoveParams {
  float momentum = 1, scale = 1;
  std::uint32_t count = 0;
};
struct SumParams {
  std::uint32_t num_rows = 0, count = 0;
};

/// after = momentum * before + (1 - momentum) * scale * batch
KernelLaunch launch_move_statistics(const MoveParams& params);
KernelLaunch launch_sum_rows(const SumParams& params);

}  // namespace traingraph::metal
