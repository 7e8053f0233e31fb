// SPDX-License-Identifier: MIT
#import "metal/heap_buffer.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "metal/assumptions.h"
#import "metal/guard.h"
#include "traingraph/error.h"

namespace traingraph::metal {
namespace {

[[noreturn]] void fail_allocate(std::string_view label, std::string what) {
  throw DeviceError(ErrorInfo{.op = "allocate",
                              .node = std::string(label),
                              .what = std::move(what),
                              .expected = {},
                              .got = {},
                              .hint = "Compile for device \"cpu\"."});
}

}  // namespace

HeapBuffer::~HeapBuffer() {
  @autoreleasepool {
    if (heap_.get()) device_.residency.remove(heap_.get());
  }
  device_.heap_bytes -= heap_bytes_;
}

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
  // Metal has no empty buffers, and copies are of whole words.
  const std::size_t length = std::max<std::size_t>((bytes_ + 3) / 4 * 4, 4);
  const MTLSizeAndAlign size =
      [metal heapBufferSizeAndAlignWithLength:length
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
  device_.residency.add(heap_.get());
  whole_ = part(0, length);
  if (!whole_.get()) return false;
  host_ = static_cast<std::byte*>([whole_.get() contents]);
  std::memset(host_, 0, length);
  return !kHeapIsContiguousForHost || find_second();
}

bool HeapBuffer::find_second() {
  if (bytes_ <= device_.limits.heap_alignment) return true;
  const auto second = part(device_.limits.heap_alignment, 1);
  is_contiguous_ =
      [second.get() contents] == host_ + device_.limits.heap_alignment;
  return second.get() != nil;
}

std::size_t heap_alignment(const GpuDevice& device, std::size_t bytes) {
  const MTLSizeAndAlign size = [device.metal.get()
      heapBufferSizeAndAlignWithLength:std::max<std::size_t>(bytes, 1)
                               options:MTLResourceStorageModeShared];
  std::size_t alignment = std::max<std::size_t>(
      device.limits.heap_alignment, std::bit_ceil<std::size_t>(size.align));
  // Longer than a buffer may be: it is refused when memory is asked for.
  if (bytes > device.limits.max_buffer_bytes) return alignment;
  const auto whole = [&] {
    return (bytes + alignment - 1) / alignment * alignment;
  };
  while (bytes > 0 && whole() < size.size) alignment *= 2;
  return alignment;
}

std::shared_ptr<HeapBuffer> HeapBuffer::try_make(const GpuDevice& device,
                                                 std::size_t bytes,
                                                 const std::string& label,
                                                 std::string& problem) {
  auto buffer = std::make_shared<HeapBuffer>(device, bytes);
  HeapBuffer* to_fill = buffer.get();
  const std::string* to_show = &label;
  bool is_filled = false;
  bool* result = &is_filled;
  const auto exception = run_guarded(^{
    *result = to_fill->fill(*to_show);
  });
  if (exception) problem = "Metal refused a heap: " + *exception;
  if (!is_filled) return nullptr;
  if (buffer->is_contiguous_) return buffer;
  problem = "buffers of a Metal heap do not lie at their offsets, but at other "
            "addresses for the host";
  return nullptr;
}

std::shared_ptr<HeapBuffer> HeapBuffer::make(const GpuDevice& device,
                                             std::size_t bytes,
                                             std::string_view label) {
  std::string problem;
  auto buffer = try_make(device, bytes, std::string(label), problem);
  if (!problem.empty()) fail_allocate(label, std::move(problem));
  return buffer;
}

}  // namespace traingraph::metal
