// SPDX-License-Identifier: MIT
// Operations that put elements elsewhere and compute nothing.
#pragma once

#include "../array.h"

namespace emulator {

/// Copies elements to another shape or type.
Kernel copy();

/// Axis i of the result is axis permutation[i] of the source.
Kernel transpose(std::vector<std::size_t> permutation);

/// Inputs one after the other along an axis; their other lengths are equal.
Kernel concatenate(std::size_t axis);
/// The results one after the other along an axis are the input.
Kernel split(std::size_t axis);

/// Every element is its own coordinate on an axis. No inputs.
Kernel coordinate(std::size_t axis);

}  // namespace emulator
