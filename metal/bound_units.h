// SPDX-License-Identifier: MIT
// MetalUnits: units bound to device memory, ready to be encoded.
#pragma once

#include <vector>

#import "metal/gpu_device.h"
#include "metal/heap_buffer.h"
#import "metal/unit_code.h"

namespace traingraph::metal {

/// Bytes from one place to another on the GPU.
struct BufferCopy {
  ObjcPtr<id<MTLBuffer>> from, to;
  std::size_t from_offset = 0, to_offset = 0, bytes = 0;
  HeapBuffer* written = nullptr;  // whose `to` is
};
/// Also notes the write.
void encode_copy(id<MTLBlitCommandEncoder> blit, const GpuLimits& limits,
                 const BufferCopy& copy);
BufferCopy buffer_copy(const UnitMemory& memory,
                       const MetalUnitCode::WriteBack& write);

struct BoundUnit {
  struct Fill {
    ObjcPtr<id<MTLBuffer>> buffer;
    std::size_t offset = 0, bytes = 0;
  };

  const MetalUnitCode* code = nullptr;
  std::vector<std::unique_ptr<BoundCode>> parts;
  std::vector<BufferCopy> write_backs;
  std::unique_ptr<BoundCode> in_place;  // may be null
  std::vector<Fill> poison;
};

class MetalUnits final : public BoundUnits {
 public:
  std::vector<BoundUnit> units;
};

BufferCopy buffer_copy(const Upload& copy);
BufferCopy buffer_copy(const Download& copy);

/// Throws OutOfMemoryError when Metal gives no buffer, DeviceError when it
/// refuses one.
std::unique_ptr<MetalUnits> bind_units(
    const LoweredProgram& program, std::span<const UnitId> units,
    std::span<const Location> locations,
    std::span<const std::vector<PoisonRange>> poison);

}  // namespace traingraph::metal
