// SPDX-License-Identifier: MIT
#import "metal/heap_buffer.h"

#include <cstring>

#include "metal/assumptions.h"
#import "metal/guard.h"

namespace traingraph::metal {
namespace {

/// Bytes between two storages of this heap for the host.
bool is_contiguous(const HeapBuffer& buffer, const GpuDevice& device) {
  const std::size_t offset = device.alignment;
  if (buffer.size_bytes() <= offset) return true;
  const auto part = buffer.part(offset, 1);
  return [part.get() contents] == buffer.host() + offset;
}

}  // namespace

ObjcPtr<id<MTLBuffer>> HeapBuffer::part(std::size_t offset,
                                        std::size_t bytes) const {
  return adopt<id<MTLBuffer>>([heap_.get()
      newBufferWithLength:bytes
                  options:MTLResourceStorageModeShared
                   offset:offset]);
}

std::shared_ptr<HeapBuffer> HeapBuffer::make(const GpuDevice& device,
                                             std::size_t bytes,
                                             std::string_view label) {
  auto buffer = std::make_shared<HeapBuffer>(device);
  HeapBuffer& made = *buffer;
  made.bytes_ = bytes;
  const std::string name(label);
  const std::string* text = &name;
  const GpuDevice* gpu = &device;
  bool is_made = false;
  bool* result = &is_made;
  HeapBuffer* to_fill = &made;
  run_guarded(^{
    id<MTLDevice> metal = gpu->metal.get();
    // Metal has no empty buffers.
    const MTLSizeAndAlign size =
        [metal heapBufferSizeAndAlignWithLength:std::max<std::size_t>(
                                                    to_fill->bytes_, 1)
                                        options:MTLResourceStorageModeShared];
    const std::size_t length = size.size;
    const auto descriptor = adopt([[MTLHeapDescriptor alloc] init]);
    [descriptor.get() setType:MTLHeapTypePlacement];
    [descriptor.get() setStorageMode:MTLStorageModeShared];
    [descriptor.get() setHazardTrackingMode:MTLHazardTrackingModeTracked];
    [descriptor.get() setSize:size.size];
    to_fill->heap_ =
        adopt<id<MTLHeap>>([metal newHeapWithDescriptor:descriptor.get()]);
    if (!to_fill->heap_.get()) return;
    to_fill->heap_bytes_ = [to_fill->heap_.get() currentAllocatedSize];
    gpu->heap_bytes += to_fill->heap_bytes_;
    [to_fill->heap_.get() setLabel:to_ns(*text)];
    to_fill->whole_ = to_fill->part(0, length);
    if (!to_fill->whole_.get()) return;
    to_fill->host_ = static_cast<std::byte*>([to_fill->whole_.get() contents]);
    std::memset(to_fill->host_, 0, length);
    *result = !kHeapIsContiguousForHost || is_contiguous(*to_fill, *gpu);
  });
  return is_made ? buffer : nullptr;
}

}  // namespace traingraph::metal
