// SPDX-License-Identifier: MIT
// MetalUnits: units bound to device memory, ready to be encoded.
#pragma once

#include <vector>

#import "metal/gpu_device.h"
#include "metal/heap_buffer.h"
#import "metal/unit_code.h"

namespace traingraph::metal {

/// A copy of bytes from one place to another on the GPU.
struct BufferCopy {
  ObjcPtr<id<MTLBuffer>> from, to;
  std::size_t from_offset = 0, to_offset = 0, bytes = 0;
  HeapBuffer* written = nullptr;  // whose `to` is
};
/// Encodes the copy and notes the write.
void encode_copy(id<MTLBlitCommandEncoder> blit, const GpuLimits& limits,
                 const BufferCopy& copy);
/// The host copies when the GPU does nothing with either place.
void copy_by_host(const BufferCopy& copy);
BufferCopy buffer_copy(const UnitMemory& memory,
                       const MetalUnitCode::WriteBack& write);

struct BoundUnit {
  struct Fill {
    ObjcPtr<id<MTLBuffer>> buffer;
    std::size_t offset = 0, bytes = 0;
  };

  const MetalUnitCode* code = nullptr;
  std::vector<std::unique_ptr<BoundCode>> parts;
  // These copies run after the unit.
  std::vector<BufferCopy> write_backs;
  std::unique_ptr<BoundCode> in_place;  // may be null
  // These copies run after all units.
  std::vector<BufferCopy> deferred_write_backs;
  std::unique_ptr<BoundCode> deferred_in_place;  // may be null
  std::vector<Fill> poison;
};

class MetalUnits final : public BoundUnits {
 public:
  using BoundUnits::BoundUnits;

  std::vector<BoundUnit> units;

  // Only the queue's thread uses this.
  bool was_encoded = false;
  /// MPSGraph was seen to commit a command buffer of it without saying so.
  bool commits_silently = false;
};

BufferCopy buffer_copy(const Upload& copy);
BufferCopy buffer_copy(const Copy& copy);
BufferCopy buffer_copy(const Download& copy);
template <class AnyCopy>  // Upload, Copy or Download
void encode_copies(MPSCommandBuffer* buffer, const GpuLimits& limits,
                   std::span<const AnyCopy> copies) {
  if (copies.empty()) return;
  id<MTLBlitCommandEncoder> blit = [buffer blitCommandEncoder];
  for (const AnyCopy& copy : copies) {
    encode_copy(blit, limits, buffer_copy(copy));
  }
  [blit endEncoding];
}

/// Is there anything that comes before the work?
inline bool has_supplies(const Submission& submission) {
  return !submission.uploads.empty() || !submission.copies.empty();
}
void encode_supplies(MPSCommandBuffer* buffer, const GpuLimits& limits,
                     const Submission& submission);

/// Throws OutOfMemoryError when Metal gives no buffer, DeviceError when it
/// refuses one.
std::unique_ptr<MetalUnits> bind_units(
    const LoweredProgram& program, std::span<const UnitId> units,
    std::span<const Location> locations,
    std::span<const std::vector<PoisonRange>> poison,
    std::span<const Mark> marks);

}  // namespace traingraph::metal
