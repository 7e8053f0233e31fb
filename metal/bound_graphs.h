// SPDX-License-Identifier: MIT
// BoundGraphs: executables bound to device memory, ready to be encoded.
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
};

struct BoundGraph {
  struct MaskKernel {
    ObjcPtr<id<MTLBuffer>> state, mask;
    DropoutParams params;
  };
  struct Fill {
    ObjcPtr<id<MTLBuffer>> buffer;
    std::size_t offset = 0, bytes = 0;
  };

  const MetalUnitCode* code = nullptr;
  ObjcPtr<NSArray<MPSGraphTensorData*>*> inputs, results;
  std::vector<MaskKernel> masks;
  std::vector<BufferCopy> write_backs;
  std::vector<Fill> poison;
};

class BoundGraphs final : public BoundUnits {
 public:
  std::vector<BoundGraph> graphs;
};

BufferCopy buffer_copy(const Copy& copy);

/// Throws OutOfMemoryError when Metal gives no buffer, DeviceError when it
/// refuses one.
std::unique_ptr<BoundGraphs> bind_graphs(
    const LoweredProgram& program, std::span<const UnitId> units,
    std::span<const Location> locations,
    std::span<const std::vector<PoisonRange>> poison);

}  // namespace traingraph::metal
