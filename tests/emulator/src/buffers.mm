// SPDX-License-Identifier: MIT
// MTLBuffer: memory of its own, of the caller, or a part of a heap.
#include <cstring>
#include <vector>

#include "device_memory.h"
#include "faults.h"
#import "heaps.h"
#import "objects.h"
#import "retained.h"

namespace emulator {

using Deallocator = void (^)(void*, NSUInteger);

/// `host` differs from `device` when the storage is managed and the device has
/// memory of its own; it is null when the storage is private.
struct BufferState {
  std::shared_ptr<Memory> memory;
  std::vector<char> host_copy;
  char* device = nullptr;
  char* host = nullptr;
  NSUInteger length = 0;
  MTLResourceOptions options = 0;
  Retained<EmulatedHeap*> heap{nil};
  NSUInteger offset = 0;
  RetainedBlock<Deallocator> deallocator{nil};

  MTLStorageMode storage_mode() const {
    return MTLStorageMode((options & MTLResourceStorageModeMask) >>
                          MTLResourceStorageModeShift);
  }
  bool is_copied() const { return !host_copy.empty(); }
};

}  // namespace emulator

using emulator::BufferState;

@interface EmulatedBuffer : EmulatedObject <MTLBuffer> {
 @public
  BufferState* _state;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device state:(BufferState*)state;
@end

@implementation EmulatedBuffer
- (instancetype)initWithDevice:(id<MTLDevice>)device state:(BufferState*)state {
  self = [super initWithDevice:device];
  _state = state;
  return self;
}

- (void)dealloc {
  if (_state->heap.get()) {
    [_state->heap.get() freeBufferAt:_state->offset length:_state->length];
  }
  if (_state->deallocator.get()) {
    _state->deallocator.get()(_state->device, _state->length);
  }
  delete _state;
  [super dealloc];
}

- (NSUInteger)length {
  return _state->length;
}
- (void*)contents {
  return _state->host;
}
- (NSUInteger)allocatedSize {
  return _state->length;
}
- (id<MTLHeap>)heap {
  return _state->heap.get();
}
- (NSUInteger)heapOffset {
  return _state->offset;
}
- (MTLResourceOptions)resourceOptions {
  return _state->options;
}
- (MTLStorageMode)storageMode {
  return _state->storage_mode();
}
- (MTLCPUCacheMode)cpuCacheMode {
  return MTLCPUCacheMode(_state->options & MTLResourceCPUCacheModeMask);
}
- (MTLHazardTrackingMode)hazardTrackingMode {
  const auto mode = (_state->options & MTLResourceHazardTrackingModeMask) >>
                    MTLResourceHazardTrackingModeShift;
  if (mode != MTLHazardTrackingModeDefault) return MTLHazardTrackingMode(mode);
  return _state->heap.get() ? MTLHazardTrackingModeUntracked
                            : MTLHazardTrackingModeTracked;
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
  (void)state;
  return MTLPurgeableStateNonVolatile;
}

- (void)didModifyRange:(NSRange)range {
  if (_state->storage_mode() != MTLStorageModeManaged) {
    emulator::refuse("didModifyRange", @"the buffer's storage is not managed");
  }
  if (NSMaxRange(range) > _state->length) {
    emulator::refuse("didModifyRange", @"range %lu + %lu of %lu bytes",
                     (unsigned long)range.location, (unsigned long)range.length,
                     (unsigned long)_state->length);
  }
  if (!_state->is_copied()) return;
  std::memcpy(_state->device + range.location, _state->host + range.location,
              range.length);
}
@end

namespace emulator {
namespace {

bool is_valid_length(NSUInteger length) {
  return length > 0 && length <= max_buffer_length();
}

void require_storage(const char* what, MTLResourceOptions options) {
  if ((options & MTLResourceStorageModeMask) ==
      MTLResourceStorageModeMemoryless) {
    refuse(what, @"buffers cannot be memoryless");
  }
}

/// Where the host sees the device's bytes.
void set_host(BufferState& state) {
  state.host = state.device;
  if (state.storage_mode() == MTLStorageModePrivate) state.host = nullptr;
  const bool is_managed =
      state.storage_mode() == MTLStorageModeManaged && !has_unified_memory();
  const bool is_scattered = state.offset > 0 && scatters_heaps();
  if (!is_managed && !is_scattered) return;
  state.host_copy.assign(state.device, state.device + state.length);
  state.host = state.host_copy.data();
}

}  // namespace

id<MTLBuffer> make_buffer(id<MTLDevice> device, NSUInteger length,
                          MTLResourceOptions options, const void* bytes) {
  require_storage("newBufferWithLength", options);
  if (!is_valid_length(length)) return nil;
  auto memory = Memory::allocate(length, 0);
  if (!memory) return nil;
  auto state = std::make_unique<BufferState>();
  state->memory = memory;
  state->device = memory->data();
  state->length = length;
  state->options = options;
  if (bytes) std::memcpy(state->device, bytes, length);
  set_host(*state);
  return [[EmulatedBuffer alloc] initWithDevice:device state:state.release()];
}

id<MTLBuffer> make_buffer_no_copy(id<MTLDevice> device, void* pointer,
                                  NSUInteger length, MTLResourceOptions options,
                                  Deallocator deallocator) {
  const char* what = "newBufferWithBytesNoCopy";
  require_storage(what, options);
  if (reinterpret_cast<std::uintptr_t>(pointer) % kPageSize != 0 ||
      length % kPageSize != 0) {
    refuse(what, @"pointer and length must be multiples of the page size");
  }
  if (!pointer || length == 0) return nil;
  auto state = std::make_unique<BufferState>();
  state->device = static_cast<char*>(pointer);
  state->length = length;
  state->options = options;
  state->deallocator = RetainedBlock<Deallocator>(deallocator);
  if (state->storage_mode() == MTLStorageModePrivate) {
    refuse(what, @"the storage cannot be private");
  }
  set_host(*state);
  return [[EmulatedBuffer alloc] initWithDevice:device state:state.release()];
}

id<MTLBuffer> make_heap_buffer(id<MTLHeap> heap, char* bytes, NSUInteger offset,
                               NSUInteger length) {
  auto state = std::make_unique<BufferState>();
  state->heap = Retained<EmulatedHeap*>((EmulatedHeap*)heap);
  state->device = bytes + offset;
  state->length = length;
  state->offset = offset;
  state->options = [heap resourceOptions];
  set_host(*state);
  return [[EmulatedBuffer alloc] initWithDevice:[heap device]
                                          state:state.release()];
}

char* device_bytes(id<MTLBuffer> buffer) {
  return ((EmulatedBuffer*)buffer)->_state->device;
}

void synchronize_to_host(id<MTLResource> resource) {
  BufferState& state = *((EmulatedBuffer*)resource)->_state;
  if (state.is_copied()) {
    std::memcpy(state.host, state.device, state.length);
  }
}

}  // namespace emulator
