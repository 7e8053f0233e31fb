// SPDX-License-Identifier: MIT
// Orthonormal vectors, for initializers.
#pragma once

#include <cstddef>
#include <span>

namespace traingraph {

/// Makes `count` vectors of equal length, one after the other and no longer
/// than they are many, orthonormal in their order: each keeps what is at right
/// angles to those before it. Vectors of normal values become uniform among all
/// directions.
void orthonormalize(std::span<double> vectors, std::size_t count);

}  // namespace traingraph
