// SPDX-License-Identifier: MIT
// Blits of any size: large ones in pieces (GpuLimits::max_blit_bytes).
#pragma once

#import "metal/apple.h"
#include "metal/gpu_limits.h"

namespace traingraph::metal {

struct BlitPlace {
  id<MTLBuffer> buffer;
  std::size_t offset;
};

void blit_copy(id<MTLBlitCommandEncoder> blit, const GpuLimits& limits,
               BlitPlace from, BlitPlace to, std::size_t bytes);
void blit_fill(id<MTLBlitCommandEncoder> blit, const GpuLimits& limits,
               BlitPlace to, std::size_t bytes, std::uint8_t value);

}  // namespace traingraph::metal
