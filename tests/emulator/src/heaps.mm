// SPDX-License-Identifier: MIT
#import "heaps.h"

#include <set>

#include "emulator/control.h"
#include "faults.h"
#import "residency.h"

namespace emulator {

NSUInteger heap_alignment_of(NSUInteger length) {
  const bool is_long = length > kHeapAlignment && has_heap_rules_by_length();
  return is_long ? 4 * kHeapAlignment : kHeapAlignment;
}

NSUInteger heap_size_of(NSUInteger length) {
  const NSUInteger alignment = heap_alignment_of(length);
  return (length + alignment - 1) / alignment * alignment;
}

NSUInteger HeapState::used_size() {
  NSUInteger covered = 0, end = 0;
  for (auto [first, last] : used) {
    if (last <= end) continue;
    covered += last - std::max(first, end);
    end = last;
  }
  return covered;
}

NSUInteger HeapState::find_gap(NSUInteger wanted, NSUInteger alignment) {
  NSUInteger at = 0;
  for (auto [first, last] : used) {
    if (at + wanted <= first) return at;
    at = std::max(at, (last + alignment - 1) / alignment * alignment);
  }
  return at + wanted <= size ? at : size;
}

NSUInteger HeapState::largest_gap(NSUInteger alignment) {
  NSUInteger at = 0, largest = 0;
  for (auto [first, last] : used) {
    if (first > at) largest = std::max(largest, first - at);
    at = std::max(at, (last + alignment - 1) / alignment * alignment);
  }
  return size > at ? std::max(largest, size - at) : largest;
}

namespace {

void require_options(const char* what, const HeapState& heap,
                     MTLResourceOptions options) {
  const MTLResourceOptions modes =
      MTLResourceStorageModeMask | MTLResourceCPUCacheModeMask;
  if ((options & modes) != (heap.options & modes)) {
    refuse(what, @"options %lu are not those of the heap, %lu",
           (unsigned long)options, (unsigned long)heap.options);
  }
}

void require_length(const char* what, NSUInteger length) {
  if (length <= max_buffer_length()) return;
  refuse(what, @"%lu bytes are more than a buffer may have",
         (unsigned long)length);
}

}  // namespace

/// All heaps that are alive.
struct Heaps {
  std::mutex mutex;
  std::set<EmulatedHeap*> alive;
};

Heaps& heaps() {
  static Heaps* const heaps = new Heaps;
  return *heaps;
}

namespace {

std::vector<std::string> labels_of(bool (*is_wanted)(id<MTLHeap>)) {
  std::vector<std::string> labels;
  std::lock_guard lock(heaps().mutex);
  for (EmulatedHeap* heap : heaps().alive) {
    if (!is_wanted(heap)) continue;
    @autoreleasepool {
      const char* label = [[heap label] UTF8String];
      labels.push_back(label ? label : "");
    }
  }
  return labels;
}

}  // namespace

std::vector<std::string> heap_labels() {
  return labels_of([](id<MTLHeap>) { return true; });
}

std::vector<std::string> heaps_not_resident() {
  return labels_of([](id<MTLHeap> heap) { return !is_resident(heap); });
}

id<MTLHeap> make_heap(id<MTLDevice> device, MTLHeapDescriptor* descriptor) {
  const char* what = "newHeapWithDescriptor";
  if (!descriptor) refuse(what, @"the descriptor is nil");
  if ([descriptor size] == 0) refuse(what, @"the size is zero");
  if ([descriptor type] == MTLHeapTypeSparse) {
    refuse(what, @"sparse heaps are not emulated");
  }
  const MTLStorageMode mode = [descriptor storageMode];
  const bool is_allowed =
      mode == MTLStorageModePrivate ||
      (mode == MTLStorageModeShared && has_unified_memory());
  if (!is_allowed) {
    refuse(what, @"this device has no heaps with storage mode %lu",
           (unsigned long)mode);
  }
  if (!has_heaps()) return nil;
  // What a heap's buffers contain at first is not defined.
  auto memory = Memory::allocate([descriptor size], 0xff);
  if (!memory) return nil;
  return [[EmulatedHeap alloc] initWithDevice:device
                                   descriptor:descriptor
                                       memory:memory];
}

}  // namespace emulator

using emulator::kHeapAlignment;
using emulator::refuse;

@implementation EmulatedHeap
- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLHeapDescriptor*)descriptor
                        memory:(std::shared_ptr<emulator::Memory>)memory {
  self = [super initWithDevice:device];
  _state = new emulator::HeapState;
  _state->memory = memory;
  _state->size = [descriptor size];
  _state->options = [descriptor resourceOptions];
  _state->type = [descriptor type];
  std::lock_guard lock(emulator::heaps().mutex);
  emulator::heaps().alive.insert(self);
  return self;
}

- (void)dealloc {
  {
    std::lock_guard lock(emulator::heaps().mutex);
    emulator::heaps().alive.erase(self);
  }
  delete _state;
  [super dealloc];
}

- (NSUInteger)size {
  return _state->size;
}
- (MTLHeapType)type {
  return _state->type;
}
- (NSUInteger)currentAllocatedSize {
  return _state->size;
}
- (MTLResourceOptions)resourceOptions {
  return _state->options;
}
- (MTLStorageMode)storageMode {
  return MTLStorageMode((_state->options & MTLResourceStorageModeMask) >>
                        MTLResourceStorageModeShift);
}
- (MTLCPUCacheMode)cpuCacheMode {
  return MTLCPUCacheMode(_state->options & MTLResourceCPUCacheModeMask);
}
- (MTLHazardTrackingMode)hazardTrackingMode {
  const auto mode = (_state->options & MTLResourceHazardTrackingModeMask) >>
                    MTLResourceHazardTrackingModeShift;
  return mode ? MTLHazardTrackingMode(mode) : MTLHazardTrackingModeUntracked;
}
- (NSUInteger)usedSize {
  std::lock_guard lock(_state->mutex);
  return _state->used_size();
}
- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment {
  std::lock_guard lock(_state->mutex);
  return _state->largest_gap(std::max<NSUInteger>(alignment, 1));
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
  (void)state;
  return MTLPurgeableStateNonVolatile;
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                             options:(MTLResourceOptions)options {
  const char* what = "newBufferWithLength:options:";
  if (_state->type != MTLHeapTypeAutomatic) {
    refuse(what, @"the heap is a placement heap");
  }
  emulator::require_options(what, *_state, options);
  emulator::require_length(what, length);
  if (length == 0 || emulator::meets_allocation_fault()) return nil;
  NSUInteger offset;
  {
    std::lock_guard lock(_state->mutex);
    const NSUInteger size = emulator::heap_size_of(length);
    offset = _state->find_gap(size, kHeapAlignment);
    if (offset >= _state->size) return nil;
    _state->used.emplace(offset, offset + size);
  }
  return emulator::make_heap_buffer(self, _state->memory->data(), offset,
                                    length);
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length
                             options:(MTLResourceOptions)options
                              offset:(NSUInteger)offset {
  const char* what = "newBufferWithLength:options:offset:";
  if (_state->type != MTLHeapTypePlacement) {
    refuse(what, @"the heap is no placement heap");
  }
  emulator::require_options(what, *_state, options);
  emulator::require_length(what, length);
  if (length == 0) return nil;
  const NSUInteger alignment = emulator::heap_alignment_of(length);
  if (offset % alignment != 0) {
    refuse(what, @"offset %lu is not aligned to %lu", (unsigned long)offset,
           (unsigned long)alignment);
  }
  const NSUInteger size = emulator::heap_size_of(length);
  if (size < length || offset > _state->size || size > _state->size - offset) {
    refuse(what, @"%lu bytes at %lu exceed the heap's %lu", (unsigned long)size,
           (unsigned long)offset, (unsigned long)_state->size);
  }
  if (emulator::meets_allocation_fault()) return nil;
  {
    std::lock_guard lock(_state->mutex);
    _state->used.emplace(offset, offset + size);
  }
  return emulator::make_heap_buffer(self, _state->memory->data(), offset,
                                    length);
}

- (void)freeBufferAt:(NSUInteger)offset length:(NSUInteger)length {
  std::lock_guard lock(_state->mutex);
  const NSUInteger end = offset + emulator::heap_size_of(length);
  auto [first, last] = _state->used.equal_range(offset);
  for (; first != last; ++first) {
    if (first->second != end) continue;
    _state->used.erase(first);
    return;
  }
}
@end

@implementation MTLHeapDescriptor
@synthesize size = _size, resourceOptions = _resourceOptions, type = _type;

- (instancetype)init {
  self = [super init];
  _resourceOptions = MTLResourceStorageModePrivate;
  emulator::count_birth(self);
  return self;
}

- (void)dealloc {
  emulator::count_death(self);
  [super dealloc];
}

- (id)copyWithZone:(NSZone*)zone {
  MTLHeapDescriptor* copy = [[MTLHeapDescriptor allocWithZone:zone] init];
  copy->_size = _size;
  copy->_resourceOptions = _resourceOptions;
  copy->_type = _type;
  return copy;
}

- (MTLStorageMode)storageMode {
  return MTLStorageMode((_resourceOptions & MTLResourceStorageModeMask) >>
                        MTLResourceStorageModeShift);
}
- (void)setStorageMode:(MTLStorageMode)mode {
  _resourceOptions = (_resourceOptions & ~MTLResourceStorageModeMask) |
                     (mode << MTLResourceStorageModeShift);
}
- (MTLCPUCacheMode)cpuCacheMode {
  return MTLCPUCacheMode(_resourceOptions & MTLResourceCPUCacheModeMask);
}
- (void)setCpuCacheMode:(MTLCPUCacheMode)mode {
  _resourceOptions = (_resourceOptions & ~MTLResourceCPUCacheModeMask) | mode;
}
- (MTLHazardTrackingMode)hazardTrackingMode {
  return MTLHazardTrackingMode(
      (_resourceOptions & MTLResourceHazardTrackingModeMask) >>
      MTLResourceHazardTrackingModeShift);
}
- (void)setHazardTrackingMode:(MTLHazardTrackingMode)mode {
  _resourceOptions = (_resourceOptions & ~MTLResourceHazardTrackingModeMask) |
                     (mode << MTLResourceHazardTrackingModeShift);
}
@end
