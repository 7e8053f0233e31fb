// SPDX-License-Identifier: MIT
#include "metal/gpu_limits.h"

#include <algorithm>

namespace traingraph::metal {

double GpuLimits::estimated_ms(double flops, double bytes) const {
  return 1e3 * std::max(flops / flops_per_second, bytes / bytes_per_second);
}

namespace {

/// macOS 26: programs that were built for an older system may be told 16.
constexpr MacOs kMacOs26{16, 0};
/// The divisor of max_buffer_bytes, which is more than half of the memory.
constexpr std::size_t kPartAhead = 8;

}  // namespace

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
  limits.writes_reshapes = system.macos >= kMacOs26;
  // M5 came with macOS 26: nobody has said that it is right there.
  limits.writes_turned_bfloat16 = system.apple_family >= 10;
  limits.writes_weights = system.macos >= MacOs{15, 0};
  if (system.macos >= MacOs{15, 2}) limits.min_gather_columns = 1;
  if (system.max_buffer_bytes > 0) {
    limits.max_bytes_ahead = system.max_buffer_bytes / kPartAhead;
  }
  return limits;
}

}  // namespace traingraph::metal
