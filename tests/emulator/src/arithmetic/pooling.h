// SPDX-License-Identifier: MIT
// Maximum and L2-norm pooling over four dimensions. (Average pooling is a
// linear map of every axis, see linear.h.)
#pragma once

#include <array>

#include "linear.h"

namespace emulator {

using Windows = std::array<Window, 4>;

/// The first of equal elements, in row-major order, is the maximum; padding
/// never is.
Kernel max_pool(const Windows& windows);
/// Inputs: incoming gradient, source. All of it goes to the maximum.
Kernel max_pool_gradient(const Windows& windows);

Kernel l2_norm_pool(const Windows& windows);
/// Inputs: incoming gradient, source. 0 where the norm is 0.
Kernel l2_norm_pool_gradient(const Windows& windows);

}  // namespace emulator
