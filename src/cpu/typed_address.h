// SPDX-License-Identifier: MIT
// Addresses as the kernels want them.
#pragma once

#include <cstddef>

namespace traingraph::cpu {

template <class T>
T* typed(std::byte* address) {
  return reinterpret_cast<T*>(address);
}

inline float* floats(std::byte* address) { return typed<float>(address); }

}  // namespace traingraph::cpu
