// SPDX-License-Identifier: MIT
#import "metal/heap_buffer.h"

#include <algorithm>
#include <cstring>

#include "metal/assumptions.h"
#import "metal/guard.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

[[noreturn]] void fail_allocate(std::string_view label, std::string what,
                                std::string got) {
  throw DeviceError(ErrorInfo{.op = "allocate",
                              .node = std::string(label),
                              .what = std::move(what),
                              .expected = {},
                              .got = std::move(got),
                              .hint = "Compile for device \"cpu\"."});
}

}  // namespace

ObjcPtr<id<MTLBuffer>> HeapBuffer::part(std::size_t offset,
                                        std::size_t bytes) const {
  return adopt<id<MTLBuffer>>([heap_.get()
      newBufferWithLength:bytes
                  options:MTLResourceStorageModeShared
                   offset:offset]);
}

void HeapBuffer::note_write(std::size_t offset, std::size_t bytes) {
  std::scoped_lock lock(mutex_);
  writes_.note_write(offset, bytes);
}

std::uint64_t HeapBuffer::version(std::size_t offset, std::size_t bytes) const {
  std::scoped_lock lock(mutex_);
  return writes_.version(offset, bytes);
}

bool HeapBuffer::fill(const std::string& label) {
  id<MTLDevice> metal = device_.metal.get();
  // Metal has no empty buffers.
  const MTLSizeAndAlign size =
      [metal heapBufferSizeAndAlignWithLength:std::max<std::size_t>(bytes_, 1)
                                      options:MTLResourceStorageModeShared];
  if (size.size > [metal maxBufferLength]) return false;
  const auto descriptor = adopt([[MTLHeapDescriptor alloc] init]);
  [descriptor.get() setType:MTLHeapTypePlacement];
  [descriptor.get() setStorageMode:MTLStorageModeShared];
  [descriptor.get() setHazardTrackingMode:MTLHazardTrackingModeTracked];
  [descriptor.get() setSize:size.size];
  heap_ = adopt<id<MTLHeap>>([metal newHeapWithDescriptor:descriptor.get()]);
  if (!heap_.get()) return false;
  heap_bytes_ = [heap_.get() currentAllocatedSize];
  device_.heap_bytes += heap_bytes_;
  [heap_.get() setLabel:to_ns(label)];
  whole_ = part(0, size.size);
  if (!whole_.get()) return false;
  host_ = static_cast<std::byte*>([whole_.get() contents]);
  std::memset(host_, 0, size.size);
  return !kHeapIsContiguousForHost || find_second();
}

bool HeapBuffer::find_second() {
  if (bytes_ <= device_.limits.heap_alignment) return true;
  const auto second = part(device_.limits.heap_alignment, 1);
  is_contiguous_ =
      [second.get() contents] == host_ + device_.limits.heap_alignment;
  return second.get() != nil;
}

std::shared_ptr<HeapBuffer> HeapBuffer::make(const GpuDevice& device,
                                             std::size_t bytes,
                                             std::string_view label) {
  auto buffer = std::make_shared<HeapBuffer>(device, bytes);
  HeapBuffer* to_fill = buffer.get();
  const std::string name(label);
  const std::string* to_show = &name;
  bool is_filled = false;
  bool* result = &is_filled;
  const auto exception = run_guarded(^{
    *result = to_fill->fill(*to_show);
  });
  if (exception) fail_allocate(label, "Metal refused a heap", *exception);
  if (!is_filled) return nullptr;
  if (!buffer->is_contiguous_) {
    fail_allocate(label, "buffers of a Metal heap do not lie at their offsets",
                  "other addresses for the host");
  }
  return buffer;
}

}  // namespace traingraph::metal
