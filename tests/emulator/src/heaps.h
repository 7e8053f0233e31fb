// SPDX-License-Identifier: MIT
// EmulatedHeap: one allocation, and which parts of it buffers use.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "device_memory.h"
#import "objects.h"

namespace emulator {

struct HeapState {
  std::shared_ptr<Memory> memory;
  NSUInteger size = 0;
  MTLResourceOptions options = 0;
  MTLHeapType type = MTLHeapTypeAutomatic;
  std::mutex mutex;
  // Offset to end. Buffers of a placement heap may overlap.
  std::multimap<NSUInteger, NSUInteger> used;

  NSUInteger used_size();
  /// First gap of that size; `size` when there is none.
  NSUInteger find_gap(NSUInteger wanted, NSUInteger alignment);
  NSUInteger largest_gap(NSUInteger alignment);
};

}  // namespace emulator

@interface EmulatedHeap : EmulatedObject <MTLHeap> {
  emulator::HeapState* _state;
}
- (instancetype)initWithDevice:(id<MTLDevice>)device
                    descriptor:(MTLHeapDescriptor*)descriptor
                        memory:(std::shared_ptr<emulator::Memory>)memory;
- (void)freeBufferAt:(NSUInteger)offset length:(NSUInteger)length;
@end
