// SPDX-License-Identifier: MIT
#import "metal/gpu_system.h"

namespace traingraph::metal {
namespace {

/// The newest of the versions that limits_of() tells apart.
MacOs macos_version() {
  if (@available(macOS 26.0, *)) return {26, 0};
  if (@available(macOS 16.0, *)) return {16, 0};
  if (@available(macOS 15.2, *)) return {15, 2};
  if (@available(macOS 15.1, *)) return {15, 1};
  if (@available(macOS 15.0, *)) return {15, 0};
  if (@available(macOS 14.4, *)) return {14, 4};
  if (@available(macOS 14.0, *)) return {14, 0};
  return {13, 0};
}

/// M3 and later, M5 and later; not every SDK that this compiles with names
/// them.
constexpr auto kApple9 = static_cast<MTLGPUFamily>(1009);
constexpr auto kApple10 = static_cast<MTLGPUFamily>(1010);

int apple_family(id<MTLDevice> device) {
  if ([device supportsFamily:kApple10]) return 10;
  if ([device supportsFamily:kApple9]) return 9;
  return [device supportsFamily:MTLGPUFamilyApple8] ? 8 : 7;
}

}  // namespace

GpuSystem system_of(id<MTLDevice> device) {
  const MTLSizeAndAlign size =
      [device heapBufferSizeAndAlignWithLength:1
                                       options:MTLResourceStorageModeShared];
  return {.macos = macos_version(),
          .apple_family = apple_family(device),
          .max_buffer_bytes = [device maxBufferLength],
          .heap_alignment = size.align};
}

}  // namespace traingraph::metal
