// SPDX-License-Identifier: MIT
// The one kernel of our own: dropout's mask, the same bits as on the CPU.
// dropout_mask(random_state, mask, params) takes one thread per block of four
// elements; more threads do no harm.
#pragma once

#include <cstdint>

namespace traingraph::metal {

/// As the kernel declares it.
struct DropoutParams {
  std::uint32_t seed_lo = 0, seed_hi = 0;  // (0, 0): the state's seed
  std::uint32_t stream = 0;
  float rate = 0, scale = 1;  // kept elements are `scale`
  std::uint32_t count = 0;    // of elements
};

#define TRAINGRAPH_MSL(...) #__VA_ARGS__
inline constexpr char kDropoutSource[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
#include "metal/kernels/dropout.metal"
    "\n";
#undef TRAINGRAPH_MSL

}  // namespace traingraph::metal
