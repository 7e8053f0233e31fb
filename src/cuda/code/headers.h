// SPDX-License-Identifier: MIT
// What kernels include: src/cuda/kernels and src/formulas, as text.
#pragma once

#include <span>

namespace traingraph::cuda {

struct Header {
  const char* name;  // as it is included: "cuda/kernels/map.cuh"
  const char* text;
};
std::span<const Header> kernel_headers();

}  // namespace traingraph::cuda
