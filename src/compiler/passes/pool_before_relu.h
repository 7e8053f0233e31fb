// SPDX-License-Identifier: MIT
// Moves ReLU from before a max pooling to behind it: fewer elements, and
// ReLU's gradient keeps the small result alive instead of the large one.
// Values and gradients stay the same: ReLU is monotonic, and where a window's
// largest sample is not positive, its gradient is 0 either way.
//
//   before: r = relu(x);          y, state = max_pool(r)
//   after:  r, state = max_pool(x);          y = relu(r)
#pragma once

#include <span>

#include "graph/program.h"

namespace traingraph {

/// Runs before gradients are appended. Where r is in `named` or read elsewhere,
/// the two stay as they are. `named` may contain kNoValue.
void pool_before_relu(Program& program, std::span<const ValueId> named);

}  // namespace traingraph
