// SPDX-License-Identifier: MIT
#include "metal/gpu_limits.h"

#include <algorithm>

namespace traingraph::metal {

double GpuLimits::estimated_ms(double flops, double bytes) const {
  return 1e3 * std::max(flops / flops_per_second, bytes / bytes_per_second);
}

GpuLimits limits_of(const GpuSystem& system) {
  GpuLimits limits;
  limits.max_buffer_bytes = system.max_buffer_bytes;
  limits.heap_alignment = std::max<std::size_t>(system.heap_alignment, 64);
  limits.has_bfloat16 = system.macos >= MacOs{14, 0};
  // On M1 and M2 always (pytorch#195163), elsewhere in early systems
  // (pytorch#116769, #111634).
  if (system.apple_family >= 9 && system.macos >= MacOs{14, 4}) {
    limits.max_matmul_extent = limits.max_elements;
  }
  if (system.macos >= MacOs{14, 4}) {
    limits.max_matmul_rows = limits.max_elements;
  }
  if (system.macos >= MacOs{15, 1}) {
    limits.max_convolution_extent = limits.max_elements;
  }
  // Wrong again in 27.0, hence right in no range that could be relied on.
  limits.writes_broadcasts = system.macos >= MacOs{15, 0};
  return limits;
}

}  // namespace traingraph::metal
