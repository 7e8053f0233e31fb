// SPDX-License-Identifier: MIT
// Dropout with the same bits as on the CPU: as a mask for the executable that
// follows, or wholly by a kernel. One thread per block of four elements.
#pragma once

#include <cstdint>

#include "metal/kernels/kernels.h"
#include "traingraph/op_attrs.h"

namespace traingraph::metal {

/// The kernels declare the same struct.
struct DropoutParams {
  std::uint32_t seed_lo = 0, seed_hi = 0;  // (0, 0): the state's seed
  std::uint32_t stream = 0;
  float rate = 0, scale = 1;  // what is kept is multiplied by `scale`
  std::uint32_t count = 0;    // of elements
};

/// Seed and step, two words each.
inline constexpr std::size_t kRandomStateBytes = 16;

/// What is kept is multiplied by this.
float kept_scale(const DropoutAttrs& attrs);

DropoutParams dropout_params(const DropoutAttrs& attrs, std::int64_t count);

/// `kernel` is one of the two of dropout.
KernelLaunch launch_dropout(Kernel kernel, const DropoutAttrs& attrs,
                            std::int64_t count);

#define TRAINGRAPH_MSL(...) #__VA_ARGS__
inline constexpr char kDropoutSource[] =
    "#include <metal_stdlib>\n"
    "using namespace metal;\n"
#include "metal/kernels/dropout.metal"
    "\n";
#undef TRAINGRAPH_MSL

}  // namespace traingraph::metal
